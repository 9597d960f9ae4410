package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sluice/flow"
	"sluice/flow/caller"
	"sluice/flow/contract"
	"sluice/flow/document"
	"sluice/flow/trace"
)

// StartRun starts a run: it resolves the document, checks the inputs and commits
// the run together with its job. With Start.Wait it then waits for the run to end.
func (r *Runner) StartRun(ctx context.Context, s flow.Start) (flow.Started, error) {
	return r.acceptOnce(ctx, s, func() (flow.Started, error) {
		for {
			started, err := r.startNew(ctx, s)
			if !errors.Is(err, flow.ErrFlowOutdated) || ctx.Err() != nil {
				return started, err
			}
		}
	})
}

// acceptOnce calls start, unless this instance accepts no runs or the request
// repeats an earlier one. It counts rejections.
func (r *Runner) acceptOnce(ctx context.Context, s flow.Start, start func() (flow.Started, error)) (started flow.Started, err error) {
	defer func() {
		if e, ok := errors.AsType[*flow.Error](err); ok {
			r.cfg.Observe(Observation{Rejected: e.Code})
		}
	}()
	if err := r.checkAccepting(); err != nil {
		return flow.Started{}, err
	}
	if started, found, err := r.replay(ctx, s); found || err != nil {
		return started, err
	}
	if err := checkDepth(caller.Depth(ctx)); err != nil {
		return flow.Started{}, err
	}
	return start()
}

// replay answers a repeated request, one with the same idempotency key and
// fingerprint, with the run that the first one started. The flow's current state
// does not matter.
func (r *Runner) replay(ctx context.Context, s flow.Start) (started flow.Started, found bool, err error) {
	if s.IdempotencyKey == "" {
		return started, false, nil
	}
	run, err := r.store.FindStarted(ctx, s.WorkspaceID, s.IdempotencyKey, s.Fingerprint)
	if errors.Is(err, &flow.Error{Code: flow.CodeIdempotencyMismatch}) { // a run with secret inputs, whose fingerprint is keyed
		run, err = r.store.FindStarted(ctx, s.WorkspaceID, s.IdempotencyKey, flow.KeyedFingerprint(r.cfg.HashKey, s.Fingerprint))
	}
	if err != nil || run == nil {
		return started, false, err
	}
	started, err = r.awaitReplayed(ctx, run, s.Wait)
	return started, true, err
}

// awaitReplayed waits for the end of a run that an earlier request started.
func (r *Runner) awaitReplayed(ctx context.Context, run *flow.Run, wait time.Duration) (started flow.Started, err error) {
	if wait > 0 {
		run, err = r.AwaitRun(ctx, run.WorkspaceID, run.FlowID, run.ID, wait)
	}
	return flow.Started{Run: run, Replayed: true}, err
}

// startNew makes one attempt at a start. It returns flow.ErrFlowOutdated if the
// cached live version was no longer live at the commit.
func (r *Runner) startNew(ctx context.Context, s flow.Start) (flow.Started, error) {
	n := r.newRun(ctx, s)
	if err := checkLimitCost(ctx, r, &n.Run); err != nil {
		return flow.Started{}, err
	}
	c, err := r.resolveDocument(ctx, s, n)
	if err != nil {
		return flow.Started{}, err
	}
	if err := r.addPinnedSteps(ctx, s, n, c.graph); err != nil {
		return flow.Started{}, err
	}
	if err := addContext(ctx, r, s, n, c.graph); err != nil {
		return flow.Started{}, err
	}
	err = r.setInputs(ctx, s, n, requiredInputs(c, n.Steps), s.Given, "")
	if err != nil && n.Live { // the inputs may be right for the new live version
		err = cmp.Or(r.store.CheckLiveVersion(ctx, s.WorkspaceID, s.FlowID, n.Run.Version), err)
	}
	if err != nil {
		return flow.Started{}, err
	}
	return r.createRun(ctx, s, n, c)
}

// newRun returns a run that still lacks its document and inputs.
func (r *Runner) newRun(ctx context.Context, s flow.Start) *flow.NewRun {
	run := flow.Run{
		ID: r.ids.NewRun(), WorkspaceID: s.WorkspaceID, FlowID: s.FlowID,
		State: flow.RunQueued, Trigger: s.Trigger, UserID: s.UserID, Metadata: s.Options.Metadata, ChildVersions: s.Options.Children,
		Timeout: s.Options.Timeout, Save: !s.Options.Discard, CreatedAt: r.now(), Seq: 1, RunSeq: 1, Depth: caller.Depth(ctx),
		Traceparent: trace.ParentOf(ctx),
	}
	if slices.Contains(flow.UntrustedTriggers, s.Trigger) {
		run.Untrusted = flow.UntrustedInputs
	}
	if s.Key != nil {
		run.KeyID = s.Key.ID
	}
	if o := s.Occurrence; o != nil {
		run.TriggerID, run.TriggerName, run.ScheduledAt, run.EventKey = o.TriggerID, o.TriggerName, o.ScheduledAt, o.Key
	}
	if run.Timeout <= 0 {
		run.Timeout = flow.RunTimeout
	}
	limitCost(&run, s.Options.MaxUSD)
	n := &flow.NewRun{Run: run, IdempotencyKey: s.IdempotencyKey, Fingerprint: s.Fingerprint, Key: s.Key, Occurrence: s.Occurrence}
	if s.Work != nil {
		n.Test, n.Free = s.Work.Test, s.Work.Free
	}
	if w := s.Options.Webhook; w != nil {
		n.Webhook = &flow.NewDelivery{URL: w.URL, Secret: w.Secret}
	}
	return n
}

// limitCost sets what a root run may cost; 0 means any amount.
func limitCost(run *flow.Run, most flow.NanoUSD) {
	if run.MaxUSD = most; most > 0 {
		run.Budgets = []flow.RunBudgetID{flow.BudgetOfRun(run.ID)}
	}
}

// checkLimitCost returns an error if a run has a limit in dollars and an instance does not know that.
func checkLimitCost(ctx context.Context, r *Runner, run *flow.Run) error {
	if run.MaxUSD == 0 {
		return nil
	}
	can, err := r.store.AllCan(ctx, flow.FeatureRunBudgets)
	if err == nil && !can {
		err = flow.Errorf(flow.CodeUpgradeInProgress, "An instance of an earlier release is running, which does not know max_usd. Try again when all instances have been upgraded.")
	}
	return err
}

// resolveDocument finds the document to run and sets it in the new run: the live
// version, a numbered version, or the current draft.
func (r *Runner) resolveDocument(ctx context.Context, s flow.Start, n *flow.NewRun) (*compiledDocument, error) {
	if s.Work != nil {
		return useWork(ctx, r, s, n)
	}
	if !s.Options.Draft && s.TestRun == nil && s.Options.Version == 0 {
		live, cached, err := r.store.RecentLiveVersion(ctx, s.WorkspaceID, s.FlowID)
		if err != nil {
			return nil, err
		}
		if cached {
			n.Run.Version, n.Run.DocumentHash, n.Run.FlowSlug, n.Live = live.Number, live.DocumentHash, live.Slug, true
			return r.documents.find(ctx, s.WorkspaceID, live.DocumentHash)
		}
	}
	f, err := r.store.FindFlow(ctx, s.WorkspaceID, s.FlowID)
	if err != nil {
		return nil, err
	}
	n.Run.FlowSlug = f.Slug
	switch {
	case !f.ArchivedAt.IsZero(): // an archived flow can be found only through its runs
		return nil, flow.Errorf(flow.CodeNotFound, "There is no such flow.")
	case s.Options.Draft || s.TestRun != nil:
		return r.useDraft(s, f, n)
	case s.Options.Version != 0 && s.Options.Version != f.LiveVersion:
		v, err := r.store.FindVersion(ctx, s.WorkspaceID, s.FlowID, s.Options.Version)
		if flow.IsNotFound(err) {
			return nil, optionError(flow.Pointer(contract.ReservedInput, "version"), "unknown", fmt.Sprintf("this flow has no version %d", s.Options.Version))
		}
		if err != nil {
			return nil, err
		}
		n.Run.Version, n.Run.DocumentHash = v.Number, v.DocumentHash
	case f.LiveVersion == 0:
		return nil, flow.Errorf(flow.CodeNotPublished, "This flow has no published version. Publish it, then start it again.")
	default:
		n.Run.Version, n.Run.DocumentHash = f.LiveVersion, f.LiveHash
	}
	return r.documents.find(ctx, s.WorkspaceID, n.Run.DocumentHash)
}

// useWork sets the internal document of a work run in the new run.
func useWork(ctx context.Context, r *Runner, s flow.Start, n *flow.NewRun) (*compiledDocument, error) {
	f, err := r.store.FindFlow(ctx, s.WorkspaceID, s.FlowID)
	if err != nil {
		return nil, err
	}
	n.Document, n.Run.FlowSlug, n.Run.Version, n.Run.DocumentHash = s.Work.Document, f.Slug, s.Work.Version, flow.DocumentHash(s.Work.Document)
	return r.documents.compileStored(s.Work.Document)
}

// optionError rejects an option of a start; pointer is a JSON Pointer into the
// request.
func optionError(pointer, code, detail string) error {
	return &flow.Error{Code: flow.CodeInputInvalid, Message: "Invalid option: " + detail + ".", Fields: []flow.Problem{{Pointer: pointer, Code: code, Detail: detail}}}
}

// setInputs checks the given inputs and sets them and their files in the new run.
// Problems are reported with the prefix before their JSON Pointer.
func (r *Runner) setInputs(ctx context.Context, s flow.Start, n *flow.NewRun, inputs []contract.Input, given *flow.Object, prefix string) error {
	values, problems := contract.Check(inputs, given, s.Coerce)
	files, problems, err := r.resolveFiles(ctx, s, inputs, values, problems)
	if err != nil {
		return fmt.Errorf("look up the files of the inputs: %w", err)
	}
	if len(problems) > 0 {
		message := inputsErrorMessage(problems)
		for i := range problems {
			problems[i].Pointer = prefix + problems[i].Pointer
		}
		return &flow.Error{Code: flow.CodeInputInvalid, Message: message, Fields: problems}
	}
	r.takeSecrets(n, inputs, values)
	n.Run.Inputs, n.Files = values, append(n.Files, files...)
	return nil
}

// takeSecrets moves the texts of secret inputs from the values to the new run, where
// they are encrypted, and leaves references in their place.
func (r *Runner) takeSecrets(n *flow.NewRun, inputs []contract.Input, values *flow.Object) {
	for i := range inputs {
		text, ok := values.Get(inputs[i].Name).(string)
		if !inputs[i].Secret || !ok {
			continue
		}
		if n.Secrets == nil {
			n.Secrets = map[string]string{}
			n.Fingerprint = flow.KeyedFingerprint(r.cfg.HashKey, n.Fingerprint)
		}
		name := inputs[i].Name
		n.Secrets[name] = text
		values.Set(name, flow.SecretInputRef(name, flow.SecretDigest(r.cfg.HashKey, n.Run.WorkspaceID, name, text)))
	}
}

// inputsErrorMessage returns the message of an error about inputs: the problem, or how many
// there are. Error.Fields has all of them.
func inputsErrorMessage(problems []flow.Problem) string {
	if len(problems) == 1 {
		return "Invalid input: " + contract.Reasons(problems) + "."
	}
	return fmt.Sprintf("%d inputs are invalid; see errors.", len(problems))
}

// createRun commits the run and, with Start.Wait, waits for its end. The watcher is
// added before the commit, so that an end right after it is not missed.
func (r *Runner) createRun(ctx context.Context, s flow.Start, n *flow.NewRun, c *compiledDocument) (flow.Started, error) {
	n.Run.Progress.Total = c.graph.Len()
	var w *watcher
	if s.Wait > 0 {
		w = r.broker.watch(n.Run.ID)
		defer r.broker.removeWatcher(n.Run.ID, w)
	}
	if c.limited.Load() || n.NeedsPrices() {
		if err := findUnpriced(ctx, r, n, c); err != nil {
			return flow.Started{}, err
		}
	}
	started, err := r.store.StartRun(ctx, *n)
	if errors.Is(err, flow.ErrPricesWanted) { // of the flow, whose limits only the transaction reads
		c.limited.Store(true)
		if err := findUnpriced(ctx, r, n, c); err != nil {
			return flow.Started{}, err
		}
		started, err = r.store.StartRun(ctx, *n)
	}
	if err != nil || s.Wait <= 0 {
		return started, fileErasedError(err, n.Files)
	}
	if started.Replayed { // the same request was committed meanwhile
		return r.awaitReplayed(ctx, started.Run, s.Wait)
	}
	if s.Stored != nil {
		s.Stored()
	}
	waiting := *started.Run
	waiting.Inputs, n.Run.Inputs = nil, nil // they may be large, and the worker has them
	started.Run, err = r.await(ctx, w, &waiting, s.Wait)
	return started, err
}

// findUnpriced sets which models of the run have no price.
func findUnpriced(ctx context.Context, r *Runner, n *flow.NewRun, c *compiledDocument) (err error) {
	n.Unpriced, err = document.Unpriced(ctx, document.Charges(c.graph.Document, r.cfg.Kinds), r.cfg.Prices, n.Run.WorkspaceID)
	n.Prices = err == nil
	return err
}
