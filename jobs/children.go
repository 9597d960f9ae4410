package jobs

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/document"
	"sluice/flow/sorting"
)

const (
	// childPage is how many items are stored or read at once.
	childPage = 500
	// childCancels is how many children are canceled at the same time.
	childCancels = 16
)

// childRuns starts and reads the child runs of one step.
type childRuns struct {
	r         *Runner
	run       *flow.Run // of the step
	step      flow.CallingStep
	reuseFrom flow.RunID   // see flow.In.ReuseFrom
	untrusted bool         // see flow.ChildTemplate
	budget    flow.NanoUSD // see flow.In.Budget
	isCase    bool         // the children are runs of the cases of a test
	tool      string       // see flow.In
}

// childRunsOf implements engine.Engine.Children.
func (r *Runner) childRunsOf(run *flow.Run, in *flow.In) flow.ChildRuns {
	return &childRuns{r, run, flow.CallingStep{RunID: in.RunID, Path: in.Path, Round: in.Failures}, in.ReuseFrom, len(in.Untrusted) > 0 || run.Trigger == flow.TriggerBatch, in.Budget, false, in.Tool}
}

// ChildUsage returns what the child runs of a run have used so far.
func (r *Runner) ChildUsage(ctx context.Context, run *flow.Run) (flow.Usage, error) {
	if d, err := r.documents.find(ctx, run.WorkspaceID, run.DocumentHash); err != nil || !d.starts {
		return flow.Usage{}, nil // what cannot be compiled has not run either
	}
	list, err := r.store.ListChildren(ctx, run.WorkspaceID, run.ID)
	return flow.ChildUsage(list), err
}

// wakeCaller tells the worker of a caller in this process that its children are decided.
// Without it, the step continues once the run has nothing else to do.
func (r *Runner) wakeCaller(ctx context.Context, run *flow.Run) {
	if run.Caller == nil {
		return
	}
	r.mu.Lock()
	caller := r.active[run.Caller.RunID]
	r.mu.Unlock()
	if caller == nil {
		return
	}
	if c, err := r.store.FindChildren(ctx, *run.Caller); err != nil || c == nil || !c.Decided() {
		return
	}
	select {
	case caller.wake <- struct{}{}:
	default: // it has not looked yet
	}
}

// Start implements flow.ChildRuns. It can be repeated after a crash: what was recorded
// first stays, so that all items run the same document.
func (c *childRuns) Start(ctx context.Context, req flow.ChildRequest) (*flow.Children, error) {
	if len(req.Items) > flow.MaxChildItems {
		return nil, flow.Errorf(flow.CodeInputInvalid, "The list has %d items; the limit is %d.", len(req.Items), flow.MaxChildItems)
	}
	children, err := c.r.store.FindChildren(ctx, c.step)
	if err != nil {
		return nil, err
	}
	if children != nil && children.Total >= 0 {
		if !children.Decided() { // woken by its timer
			if children, err = c.r.store.RecountChildren(ctx, c.step); err != nil {
				return nil, err
			}
		}
		return c.see(ctx, children)
	}
	c.isCase = req.Case != nil
	skip := req.MaySkip && c.run.SkipFailed
	req.KeepErrors = req.KeepErrors || skip
	old, err := c.earlier(ctx)
	if err != nil {
		return nil, err
	}
	if old != nil && old.Caller.RunID == c.step.RunID && !old.Ended() { // the last attempt was cut
		if err := c.stop(ctx, old.Caller); err != nil {
			return nil, err
		}
	}
	if children == nil {
		if children, err = c.begin(ctx, req, old); err != nil {
			return nil, err
		}
	}
	d, err := c.r.documents.find(ctx, c.run.WorkspaceID, children.DocumentHash)
	if err != nil {
		return nil, err
	}
	if old != nil && c.run.ChildVersions == flow.ChildrenLive && old.Caller.RunID != c.step.RunID && d.starts {
		old = nil // flows further below may have changed
	}
	if old != nil && (old.FlowID != children.FlowID || old.DocumentHash != children.DocumentHash || c.reuseFrom == "" && !c.isCase && old.Caller.RunID != c.step.RunID) {
		old = nil
	}
	total, failed, reused := 0, 0, 0
	var invalid invalidRows
	for page, err := range pages(req) {
		if err != nil {
			return nil, err
		}
		if total+len(page) > flow.MaxChildItems {
			return nil, flow.Errorf(flow.CodeInputInvalid, "There are more than %d rows. Split the file.", flow.MaxChildItems)
		}
		items, err := c.prepare(ctx, d.inputs, page, req.Rows != nil && !c.isCase, total, old, skip)
		if err != nil {
			return nil, err
		}
		total += len(page)
		for i := range items {
			if items[i].Error != nil {
				failed++
				invalid.add(page[i].Number, items[i].Item, items[i].Error)
			} else if items[i].Reused != "" {
				reused++
			}
		}
		if req.AllRows && failed > 0 {
			continue // nothing will start
		}
		if err := c.r.store.AddChildItems(ctx, c.step, items); err != nil {
			return nil, fmt.Errorf("store the items of %s:%s: %w", c.step.RunID, c.step.Path, err)
		}
	}
	if req.AllRows && failed > 0 {
		return nil, invalid.err()
	}
	if children, err = c.r.store.StartChildren(ctx, c.step, total, failed, reused); err != nil {
		return nil, fmt.Errorf("start the children of %s:%s: %w", c.step.RunID, c.step.Path, err)
	}
	return c.see(ctx, children)
}

// earlier returns the children of the step in the run that this one repeats, or those of
// the step's last failed attempt, whose document is used again. It is nil without any.
func (c *childRuns) earlier(ctx context.Context) (found *flow.Children, err error) {
	for _, runID := range []flow.RunID{c.run.ParentRunID, c.step.RunID} {
		if runID == "" {
			continue
		}
		list, err := c.r.store.ListChildren(ctx, c.run.WorkspaceID, runID)
		if err != nil {
			return nil, err
		}
		for i := range list {
			if s := list[i].Caller; s.Path == c.step.Path && (runID != c.step.RunID || s.Round < c.step.Round) {
				found = &list[i]
			}
		}
	}
	return found, nil
}

// begin decides which document the children run, and records it.
func (c *childRuns) begin(ctx context.Context, req flow.ChildRequest, old *flow.Children) (*flow.Children, error) {
	if err := c.checkReach(ctx); err != nil {
		return nil, err
	}
	f, err := c.findFlow(ctx, req)
	if err != nil {
		return nil, err
	}
	children := &flow.Children{
		WorkspaceID: c.run.WorkspaceID, Caller: c.step, RootRunID: c.run.ID, Depth: 1, FlowID: f.ID, Total: -1,
		Concurrency: min(max(req.Concurrency, 1), flow.MaxChildConcurrency), KeepErrors: req.KeepErrors, MaxFailed: req.MaxFailed,
	}
	if req.Document != nil {
		children.Document, children.DocumentHash = req.Document, flow.DocumentHash(req.Document)
	} else if err := c.findDocument(ctx, f, req.Version, old, children); err != nil {
		return nil, err
	}
	if c.run.Caller != nil {
		above, err := c.r.store.FindChildren(ctx, *c.run.Caller)
		if err != nil {
			return nil, err
		}
		if above != nil {
			children.RootRunID, children.Depth = above.RootRunID, above.Depth+1
		}
	}
	children.Depth = max(children.Depth, c.run.Depth+1)
	if err := checkDepth(children.Depth); err != nil {
		return nil, err
	}
	d, err := c.compiled(ctx, children)
	if err != nil {
		return nil, err
	}
	template := flow.ChildTemplate{
		Version: children.Version, Draft: c.run.ChildVersions == flow.ChildrenDraft, FlowsAbove: flowsAbove(c.run, children.FlowID), Budgets: c.budgets(), StepBudget: c.budget, KeyID: c.run.KeyID, UserID: c.run.UserID, Metadata: c.run.Metadata, Save: c.run.Save,
		TimeoutMicros: flow.RunTimeout.Microseconds(), Nodes: d.graph.Len(), MaxFailed: req.MaxFailed, Untrusted: c.untrusted, Batch: c.run.Trigger == flow.TriggerBatch, Case: c.caseOf(req),
		Traceparent: childTraceparent(c.r, c.run, c.step.Path),
	}
	if err := c.r.store.BeginChildren(ctx, children, template); err != nil {
		return nil, fmt.Errorf("begin the children of %s:%s: %w", c.step.RunID, c.step.Path, err)
	}
	return children, nil
}

// compiled returns the document that children are about to run. A draft is compiled from
// Children.Document, because it may not be stored yet.
func (c *childRuns) compiled(ctx context.Context, children *flow.Children) (*compiledDocument, error) {
	if children.Document != nil {
		return c.r.documents.compileStored(children.Document) // a draft was checked before
	}
	return c.r.documents.find(ctx, c.run.WorkspaceID, children.DocumentHash)
}

// budgets returns the budgets that the child runs count against.
func (c *childRuns) budgets() []flow.RunBudgetID {
	if c.budget > 0 {
		return append(slices.Clone(c.run.Budgets), flow.BudgetOfStep(c.run.ID, c.step.Path))
	}
	return c.run.Budgets
}

// flowsAbove returns the flows above the child runs of a run, without their own flow.
func flowsAbove(run *flow.Run, own flow.FlowID) (list []flow.FlowID) {
	for _, id := range append(slices.Clone(run.FlowsAbove), run.FlowID) {
		if id != own && !slices.Contains(list, id) {
			list = append(list, id)
		}
	}
	return list
}

// findFlow finds a flow by ID or slug. An archived one is found only by a run of its own, such as a batch, which
// finishes.
func (c *childRuns) findFlow(ctx context.Context, req flow.ChildRequest) (*flow.Flow, error) {
	ref := req.Flow
	id := flow.FlowID(ref)
	if document.ValidSlug(ref) {
		found, err := c.r.store.FindFlowID(ctx, c.run.WorkspaceID, ref)
		if err != nil && !flow.IsNotFound(err) {
			return nil, err
		}
		id = found
	}
	f, err := c.r.store.FindFlow(ctx, c.run.WorkspaceID, id)
	switch {
	case flow.IsNotFound(err) || err == nil && !f.ArchivedAt.IsZero() && req.Document == nil && f.ID != c.run.FlowID:
		return nil, flow.Errorf(flow.CodeInputInvalid, "This workspace has no flow %q. Choose another in the node.", ref)
	case err != nil:
		return nil, err
	}
	return f, nil
}

// findDocument finds the version that the children run: the one of an earlier attempt or
// of the run that is repeated (unless that asks for the live ones), or else the draft if
// the run asks for drafts, the one that the node names, or the live one.
func (c *childRuns) findDocument(ctx context.Context, f *flow.Flow, version int64, old, children *flow.Children) error {
	hash, err := c.r.tests.replaced(ctx, c.run, f.ID)
	if err != nil {
		return err
	}
	switch {
	case hash != "" && version == 0:
		if children.DocumentHash = hash; hash == f.LiveHash {
			children.Version = f.LiveVersion
		}
	case old != nil && old.FlowID == f.ID && !(c.run.ChildVersions == flow.ChildrenLive && old.Caller.RunID != c.step.RunID):
		children.Version, children.DocumentHash = old.Version, old.DocumentHash
	case c.run.ChildVersions == flow.ChildrenDraft:
		if _, err := c.r.documents.compile(f.Draft); err != nil {
			return flow.Errorf(flow.CodeInputInvalid, "The draft of %s has problems that keep it from running. Fix them in the builder, or run without drafts of other flows.", f.Name)
		}
		children.Document, children.DocumentHash = f.Draft, flow.DocumentHash(f.Draft)
	case version != 0:
		v, err := c.r.store.FindVersion(ctx, c.run.WorkspaceID, f.ID, version)
		if flow.IsNotFound(err) {
			return flow.Errorf(flow.CodeInputInvalid, "The flow %s has no version %d.", f.Name, version)
		}
		if err != nil {
			return err
		}
		children.Version, children.DocumentHash = v.Number, v.DocumentHash
	case f.LiveVersion == 0:
		return flow.Errorf(flow.CodeNotPublished, "The flow %s has no published version. Publish it, then run this again.", f.Name)
	default:
		children.Version, children.DocumentHash = f.LiveVersion, f.LiveHash
	}
	return nil
}

// prepare checks the inputs of items, and finds results of the same inputs in old, the
// children of the run that is repeated. With skip, items that failed there stay failed. Values may be texts, as in
// forms.
func (c *childRuns) prepare(ctx context.Context, inputs []contract.Input, given []flow.ChildRow, texts bool, from int, old *flow.Children, skip bool) ([]flow.ChildItem, error) {
	results := map[int]flow.ChildResult{}
	if old != nil {
		list, err := c.r.store.ReadChildren(ctx, c.run.WorkspaceID, old.Caller, from, from+len(given))
		if err != nil {
			return nil, err
		}
		for _, r := range list {
			results[r.Item] = r
		}
	}
	items := make([]flow.ChildItem, len(given))
	for i := range given {
		item := &items[i]
		item.Item = from + i
		if item.Inputs, item.Error = given[i].Inputs, given[i].Error; item.Error == nil {
			var err error
			if item.Inputs, item.Error, err = c.checkInputs(ctx, inputs, given[i].Inputs, texts); err != nil {
				return nil, err
			}
		}
		r, ok := results[item.Item]
		if !ok || item.Error != nil || !flow.EqualValues(r.Inputs, item.Inputs) {
			continue
		}
		switch {
		case r.State == flow.RunSucceeded:
			item.Reused = r.RunID
		case skip && r.State == flow.RunFailed:
			item.Error = r.Error
		}
	}
	return items, nil
}

// checkInputs returns the inputs of a child run, or why they are wrong. Values may be texts, as in forms.
func (c *childRuns) checkInputs(ctx context.Context, inputs []contract.Input, given *flow.Object, texts bool) (*flow.Object, *flow.Error, error) {
	for i := range inputs {
		switch name := inputs[i].Name; {
		case !inputs[i].Secret || !given.Has(name):
		case c.isCase:
			given.Set(name, caseSecret)
		default:
			return given, flow.Errorf(flow.CodeInputInvalid, "The input %q is secret, so another flow cannot set it.", name), nil
		}
	}
	values, problems := contract.Check(inputs, given, texts)
	_, problems, err := c.r.resolveFiles(ctx, flow.Start{WorkspaceID: c.run.WorkspaceID}, inputs, values, problems)
	if err != nil {
		return nil, nil, fmt.Errorf("look up the files of an item: %w", err)
	}
	if len(problems) > 0 {
		return given, &flow.Error{Code: flow.CodeInputInvalid, Message: "Invalid input: " + contract.Reasons(problems) + "."}, nil
	}
	if c.isCase {
		hideSecrets(inputs, values)
	}
	return values, nil, nil
}

// see records that the step knows of the end of its children, so that it is not woken
// for it again.
func (c *childRuns) see(ctx context.Context, children *flow.Children) (*flow.Children, error) {
	if !children.Decided() {
		return children, nil
	}
	if err := c.r.store.MarkChildrenRead(ctx, c.step); err != nil {
		return nil, fmt.Errorf("see the children of %s:%s: %w", c.step.RunID, c.step.Path, err)
	}
	return children, nil
}

// Read implements flow.ChildRuns.
func (c *childRuns) Read(ctx context.Context, each func(*flow.ChildResult) error) error {
	children, err := c.r.store.FindChildren(ctx, c.step)
	if err != nil || children == nil {
		return err
	}
	for from := 0; from < children.Total; from += childPage {
		page, err := c.r.store.ReadChildren(ctx, c.run.WorkspaceID, c.step, from, min(from+childPage, children.Total))
		if err != nil {
			return err
		}
		if err := c.linkFiles(ctx, page); err != nil {
			return err
		}
		for i := range page {
			if err := each(&page[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// linkFiles links the files of results to the run as well, so that they are kept as long
// as it is, also when a result is that of an older run.
func (c *childRuns) linkFiles(ctx context.Context, page []flow.ChildResult) error {
	var ids []string
	for i := range page {
		ids = append(ids, flow.FileIDs(page[i].Outputs)...)
	}
	if len(ids) == 0 {
		return nil
	}
	sorting.Strings(ids)
	err := c.r.store.LinkFiles(ctx, c.run.WorkspaceID, c.run.ID, slices.Compact(ids)...)
	if flow.IsNotFound(err) {
		return nil // one was erased meanwhile; what opens it says so
	}
	return err
}

// Stop implements flow.ChildRuns.
func (c *childRuns) Stop(ctx context.Context) error {
	children, err := c.r.store.FindChildren(ctx, c.step)
	if err != nil || children == nil || children.Ended() {
		return err
	}
	return c.stop(ctx, c.step)
}

// stop keeps the pending items of one round of a step from starting, and cancels its open
// child runs. It does not wait for their ends: that would hold the worker that the last of
// them may need.
func (c *childRuns) stop(ctx context.Context, step flow.CallingStep) error {
	open, err := c.r.store.StopChildren(ctx, step)
	if err != nil {
		return fmt.Errorf("stop the children of %s:%s: %w", step.RunID, step.Path, err)
	}
	var canceling errgroup.Group
	canceling.SetLimit(childCancels)
	for _, child := range open {
		canceling.Go(func() error {
			_, err := c.r.store.RequestCancel(ctx, c.run.WorkspaceID, child.FlowID, child.RunID)
			signalCancel(c.r, child.RunID)
			return err
		})
	}
	if err := canceling.Wait(); err != nil {
		return fmt.Errorf("cancel the children of %s:%s: %w", step.RunID, step.Path, err)
	}
	return nil
}

// drainChildren reports whether child runs of a run still run. The run ends after them, so
// that its cost is final. Steps with running children are counted again, in case the end of
// a child was not counted.
func (r *Runner) drainChildren(ctx context.Context, run *flow.Run) (running bool, err error) {
	list, err := r.store.ListChildren(ctx, run.WorkspaceID, run.ID)
	if err != nil {
		return false, err
	}
	for i := range list {
		if list[i].Running == 0 {
			continue
		}
		c, err := r.store.RecountChildren(ctx, list[i].Caller)
		if err != nil {
			return false, err
		}
		running = running || c.Running > 0
	}
	return running, nil
}
