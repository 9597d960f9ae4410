package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"sluice/flow"
)

// StartRun accepts a run: its version is found, its inputs are checked, and it
// is written down together with its job before this returns. With Start.Wait
// the answer is held until the run has ended.
func (r *Runner) StartRun(ctx context.Context, s flow.Start) (flow.Started, error) {
	started, err := r.start(ctx, s)
	r.observeRejection(err)
	return started, err
}

// refused counts a start that did not become a run.
func (r *Runner) observeRejection(err error) {
	if e, ok := errors.AsType[*flow.Error](err); ok {
		r.cfg.Observe(Observation{Refused: e.Code})
	}
}

func (r *Runner) start(ctx context.Context, s flow.Start) (flow.Started, error) {
	if err := r.checkAccepting(); err != nil {
		return flow.Started{}, err
	}
	if started, found, err := r.replay(ctx, s); found || err != nil {
		return started, err
	}
	for {
		started, err := r.startLatest(ctx, s)
		if !errors.Is(err, flow.ErrFlowOutdated) || ctx.Err() != nil {
			return started, err
		}
	}
}

func (r *Runner) startLatest(ctx context.Context, s flow.Start) (flow.Started, error) {
	run := r.newRun(s)
	var n flow.NewRun
	c, err := r.resolveDocument(ctx, s, &run, &n)
	if err != nil {
		return flow.Started{}, err
	}
	if err := r.addPinnedSteps(ctx, s, &run, &n, c.graph); err != nil {
		return flow.Started{}, err
	}
	files, err := r.setInputs(ctx, s, &run, requiredInputs(c, n.Steps), s.Given, "")
	if err != nil && n.Live { // what was wrong with the inputs may have been the remembered version
		err = cmp.Or(r.store.CheckLiveVersion(ctx, s.WorkspaceID, s.FlowID, run.Version), err)
	}
	if err != nil {
		return flow.Started{}, err
	}
	n.Files = append(n.Files, files...)
	return r.createRun(ctx, s, run, n, c)
}

// takeInputs checks what was given and makes it the inputs of the run. It
// returns the IDs of the files in them; problems are below a pointer.
func (r *Runner) setInputs(ctx context.Context, s flow.Start, run *flow.Run, inputs []flow.Input, given map[string]any, below string) (files []string, err error) {
	values, problems := flow.CheckInputs(inputs, given, s.Coerce)
	if files, problems, err = r.resolveFiles(ctx, s, inputs, values, problems); err != nil {
		return nil, fmt.Errorf("look up the files of the inputs: %w", err)
	}
	if len(problems) > 0 {
		for i := range problems {
			problems[i].Pointer = below + problems[i].Pointer
		}
		return nil, &flow.Error{Code: flow.CodeInputInvalid, Message: inputsErrorMessage(problems), Fields: problems}
	}
	run.Inputs = values
	return files, nil
}

// replay answers a repeated request with the run that the first one started,
// whatever became of the flow since.
func (r *Runner) replay(ctx context.Context, s flow.Start) (started flow.Started, found bool, err error) {
	if s.IdempotencyKey == "" {
		return started, false, nil
	}
	run, err := r.store.FindStarted(ctx, s.WorkspaceID, s.IdempotencyKey, s.Fingerprint)
	if err != nil || run == nil {
		return started, false, err
	}
	started = flow.Started{Run: run, Replayed: true}
	if s.Wait > 0 {
		started.Run, err = r.AwaitRun(ctx, run.WorkspaceID, run.FlowID, run.ID, s.Wait)
	}
	return started, true, err
}

func drainingError() error {
	return &flow.Error{Code: flow.CodeDraining, Message: "This instance is shutting down. Try again in a moment.", Retryable: true, After: time.Second}
}

func inputsErrorMessage(problems []flow.Problem) string {
	if len(problems) == 1 {
		return "An input is not right: " + problems[0].Detail + "."
	}
	return fmt.Sprintf("%d inputs are not right; errors lists each of them.", len(problems))
}

func (r *Runner) newRun(s flow.Start) flow.Run {
	run := flow.Run{
		ID: r.ids.New(flow.PrefixRun), WorkspaceID: s.WorkspaceID, FlowID: s.FlowID,
		State: flow.RunQueued, Trigger: s.Trigger, UserID: s.UserID, Metadata: s.Options.Metadata,
		Timeout: s.Options.Timeout, Save: !s.Options.Discard, CreatedAt: r.now(), Seq: 1, RunSeq: 1,
	}
	if s.Key != nil {
		run.KeyID = s.Key.ID
	}
	if run.Timeout <= 0 {
		run.Timeout = flow.RunTimeout
	}
	return run
}

// choose finds the document to run: the live version, a numbered one, or the
// draft as it is now, whose text must be stored with the run.
func (r *Runner) resolveDocument(ctx context.Context, s flow.Start, run *flow.Run, n *flow.NewRun) (c *compiledDocument, err error) {
	if !s.Options.Draft && s.Trial == nil && s.Options.Version == 0 {
		live, ok, err := r.store.RecentLiveVersion(ctx, s.WorkspaceID, s.FlowID)
		if err != nil {
			return nil, err
		}
		if ok {
			run.Version, run.DocumentHash, n.Live = live.Number, live.DocumentHash, true
			return r.documents.find(ctx, s.WorkspaceID, run.DocumentHash)
		}
	}
	f, err := r.store.FindFlow(ctx, s.WorkspaceID, s.FlowID)
	if err != nil {
		return nil, err
	}
	switch {
	case !f.ArchivedAt.IsZero(): // as everywhere: it is not there any more, its runs are
		return nil, flow.Errorf(flow.CodeNotFound, "There is no such flow.")
	case s.Options.Draft || s.Trial != nil:
		n.Document, c, err = r.useDraft(s, f, run)
		return c, err
	case s.Options.Version != 0 && s.Options.Version != f.LiveVersion:
		v, err := r.store.FindVersion(ctx, s.WorkspaceID, s.FlowID, s.Options.Version)
		if errors.Is(err, &flow.Error{Code: flow.CodeNotFound}) {
			return nil, optionError(flow.Pointer(flow.ReservedInput, "version"), "unknown", fmt.Sprintf("this flow has no version %d", s.Options.Version))
		} else if err != nil {
			return nil, err
		}
		run.Version, run.DocumentHash = v.Number, v.DocumentHash
	case f.LiveVersion == 0:
		return nil, flow.Errorf(flow.CodeNotPublished, "This flow has no published version. Publish it, then start it again.")
	default:
		run.Version, run.DocumentHash = f.LiveVersion, f.LiveHash
	}
	return r.documents.find(ctx, s.WorkspaceID, run.DocumentHash)
}

func optionError(pointer, code, detail string) error {
	return &flow.Error{Code: flow.CodeInputInvalid, Message: "An option is not right: " + detail + ".", Fields: []flow.Problem{{Pointer: pointer, Code: code, Detail: detail}}}
}

// accept writes the run down. Who waits for its end is registered first, so
// that an end right after the commit is not missed.
func (r *Runner) createRun(ctx context.Context, s flow.Start, run flow.Run, n flow.NewRun, c *compiledDocument) (flow.Started, error) {
	run.Progress.Total = c.graph.Len()
	n.Run, n.IdempotencyKey, n.Fingerprint = run, s.IdempotencyKey, s.Fingerprint
	n.Key = s.Key
	if w := s.Options.Webhook; w != nil {
		n.Webhook = &flow.NewDelivery{URL: w.URL, Secret: w.Secret}
	}
	var w *watcher
	if s.Wait > 0 {
		w = r.broker.watch(run.ID)
		defer r.broker.removeWatcher(run.ID, w)
	}
	started, err := r.store.StartRun(ctx, n)
	if err != nil || s.Wait <= 0 {
		return started, fileErasedError(err, n.Files)
	}
	if started.Replayed {
		started.Run, err = r.AwaitRun(ctx, started.Run.WorkspaceID, started.Run.FlowID, started.Run.ID, s.Wait)
		return started, err
	}
	started.Run, err = r.await(ctx, w, started.Run, s.Wait)
	return started, err
}

// Rerun starts a new run of another run's document, which takes over the
// results that still hold.
func (r *Runner) Rerun(ctx context.Context, s flow.Rerun) (flow.Started, error) {
	started, err := r.startRerun(ctx, s)
	r.observeRejection(err)
	return started, err
}

func (r *Runner) startRerun(ctx context.Context, s flow.Rerun) (flow.Started, error) {
	if err := r.checkAccepting(); err != nil {
		return flow.Started{}, err
	}
	if started, found, err := r.replay(ctx, s.Start); found || err != nil {
		return started, err
	}
	parent, err := r.store.FindRun(ctx, s.WorkspaceID, s.FlowID, s.ParentRunID)
	if err != nil {
		return flow.Started{}, err
	}
	if parent.Erased != "" {
		return flow.Started{}, flow.Errorf(parent.Erased, "The content of this run is gone, so it cannot be run again. Start a new run.")
	}
	if !parent.State.Ended() {
		return flow.Started{}, flow.Errorf(flow.CodeRunNotEnded, "The run has not ended. Wait for its end or cancel it, then run it again.")
	}
	run := r.newRerun(s, parent)
	n, c, err := r.resolveRerunDocument(ctx, s, parent, &run)
	if err != nil {
		return flow.Started{}, err
	}
	if s.From != "" && !c.graph.Has(s.From) {
		return flow.Started{}, optionError("/from", "unknown", fmt.Sprintf("this run has no node %q", s.From))
	}
	inputs := requiredInputs(c, n.Steps)
	given := maps.Clone(parent.Inputs)
	if s.Given != nil {
		given = s.Given
	} else if s.Trial != nil {
		given = dropUnknown(inputs, given)
	}
	files, err := r.setInputs(ctx, s.Start, &run, inputs, given, flow.Pointer("inputs"))
	if err != nil {
		return flow.Started{}, err
	}
	n.Files = append(n.Files, files...)
	return r.createRun(ctx, s.Start, run, n, c)
}

// rerun is the new run, still without document and inputs: it has the parent's
// metadata and time limit. Its webhook is not inherited.
func (r *Runner) newRerun(s flow.Rerun, parent *flow.Run) flow.Run {
	run := r.newRun(s.Start)
	run.ParentRunID, run.RerunFrom = parent.ID, s.From
	run.Metadata, run.Timeout, run.Save = parent.Metadata, parent.Timeout, parent.Save
	return run
}

// documentOf finds what a rerun runs: the parent's document, or in the builder
// the draft.
func (r *Runner) resolveRerunDocument(ctx context.Context, s flow.Rerun, parent, run *flow.Run) (n flow.NewRun, c *compiledDocument, err error) {
	if s.Trial == nil {
		run.Trigger, run.Version, run.Draft, run.DocumentHash = flow.TriggerRerun, parent.Version, parent.Draft, parent.DocumentHash
		c, err = r.documents.find(ctx, s.WorkspaceID, parent.DocumentHash)
		return n, c, err
	}
	f, err := r.store.FindFlow(ctx, s.WorkspaceID, s.FlowID)
	if err != nil {
		return n, nil, err
	}
	if n.Document, c, err = r.useDraft(s.Start, f, run); err != nil {
		return n, nil, err
	}
	return n, c, r.addPinnedSteps(ctx, s.Start, run, &n, c.graph)
}
