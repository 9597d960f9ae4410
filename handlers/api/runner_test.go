package api

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/document"
	"sluice/flow/engine"
)

// runner is a Runner that executes runs with the real engine, in memory.
type runner struct {
	store    *memory
	kinds    *flow.Registry
	ids      flow.IDs
	draining atomic.Bool
	shared   bool // other instances execute its runs
	running  sync.WaitGroup
	reads    atomic.Int64 // of text

	mu       sync.Mutex
	keys     map[string]idempotent // by workspace and Idempotency-Key
	cancels  map[flow.RunID]context.CancelFunc
	watchers map[flow.RunID][]*watcher
	output   map[flow.RunID]map[string]flow.Delta // text of steps so far, by run and path
	starts   []flow.Start                         // as they came
	refuse   error                                // error of the next starts
}

type idempotent struct {
	fingerprint string
	runID       flow.RunID
}

func newRunner(store *memory, kinds *flow.Registry) *runner {
	return &runner{
		store: store, kinds: kinds, ids: flow.NewIDs(), keys: map[string]idempotent{},
		cancels: map[flow.RunID]context.CancelFunc{}, watchers: map[flow.RunID][]*watcher{}, output: map[flow.RunID]map[string]flow.Delta{},
	}
}

func (r *runner) Draining() bool { return r.draining.Load() }

func (r *runner) Accepts() bool { return r.shared || !r.Draining() }

func (r *runner) StartRun(ctx context.Context, s flow.Start) (flow.Started, error) {
	if started, err := r.before(ctx, s); err != nil || started.Replayed {
		return started, err
	}
	f, err := r.store.FindFlow(ctx, s.WorkspaceID, s.FlowID)
	if err != nil {
		return flow.Started{}, err
	}
	run := flow.Run{Version: f.LiveVersion, DocumentHash: f.LiveHash, Draft: s.Options.Draft, Metadata: s.Options.Metadata}
	switch {
	case s.Options.Draft:
		run.Version, run.DocumentHash = 0, flow.DocumentHash(f.Draft)
		r.store.mu.Lock()
		r.store.documents[run.DocumentHash] = f.Draft
		r.store.mu.Unlock()
	case s.Options.Version != 0:
		v, err := r.store.FindVersion(ctx, s.WorkspaceID, s.FlowID, s.Options.Version)
		if err != nil {
			return flow.Started{}, &flow.Error{Code: flow.CodeInputInvalid, Message: "No such version.", Fields: []flow.Problem{{Pointer: "/run_options/version", Code: "unknown", Detail: "this flow has no such version"}}}
		}
		run.Version, run.DocumentHash = v.Number, v.DocumentHash
	case f.LiveVersion == 0:
		return flow.Started{}, flow.Errorf(flow.CodeNotPublished, "This flow has no published version.")
	}
	return r.accept(ctx, s, run, s.Given, "")
}

func (r *runner) Rerun(ctx context.Context, s flow.Rerun) (flow.Started, error) {
	if started, err := r.before(ctx, s.Start); err != nil || started.Replayed {
		return started, err
	}
	parent, err := r.store.FindRun(ctx, s.WorkspaceID, s.FlowID, s.ParentRunID)
	if err != nil {
		return flow.Started{}, err
	}
	if parent.Erased != "" {
		return flow.Started{}, flow.Errorf(parent.Erased, "The content is gone.")
	}
	if !parent.State.Ended() {
		return flow.Started{}, flow.Errorf(flow.CodeRunNotEnded, "The run has not ended.")
	}
	run := flow.Run{Version: parent.Version, DocumentHash: parent.DocumentHash, Draft: parent.Draft, Metadata: parent.Metadata, ParentRunID: parent.ID, RerunFrom: s.From}
	s.Trigger = flow.TriggerRerun
	given := s.Given
	if given == nil {
		given = parent.Inputs
	}
	return r.accept(ctx, s.Start, run, given, "/inputs")
}

// before returns the run of a known idempotency key, or the error that the test has set.
func (r *runner) before(ctx context.Context, s flow.Start) (flow.Started, error) {
	r.mu.Lock()
	r.starts = append(r.starts, s)
	known, ok := r.keys[string(s.WorkspaceID+"/")+s.IdempotencyKey]
	refuse := r.refuse
	r.mu.Unlock()
	switch {
	case refuse != nil:
		return flow.Started{}, refuse
	case s.IdempotencyKey == "" || !ok:
		return flow.Started{}, nil
	case known.fingerprint != s.Fingerprint:
		return flow.Started{}, flow.Errorf(flow.CodeIdempotencyMismatch, "This Idempotency-Key was used for another request.")
	}
	run, err := r.AwaitRun(ctx, s.WorkspaceID, "", known.runID, s.Wait)
	return flow.Started{Run: run, Replayed: true}, err
}

func (r *runner) accept(ctx context.Context, s flow.Start, run flow.Run, given *flow.Object, at string) (flow.Started, error) {
	data, err := r.store.FindDocument(ctx, s.WorkspaceID, run.DocumentHash)
	if err != nil {
		return flow.Started{}, err
	}
	d, _ := document.ParseDocument(data)
	g, err := engine.Compile(d, r.kinds)
	if err != nil {
		return flow.Started{}, err
	}
	values, problems := contract.Check(contract.Inputs(d, r.kinds), given, s.Coerce)
	if len(problems) > 0 {
		for i := range problems {
			problems[i].Pointer = at + problems[i].Pointer
		}
		return flow.Started{}, &flow.Error{Code: flow.CodeInputInvalid, Message: "The inputs are invalid.", Fields: problems}
	}
	run.ID, run.WorkspaceID, run.FlowID = r.ids.NewRun(), s.WorkspaceID, s.FlowID
	run.State, run.Trigger, run.Inputs, run.CreatedAt = flow.RunQueued, s.Trigger, values, time.Now().UTC()
	run.Save, run.Seq, run.RunSeq, run.Progress.Total = !s.Options.Discard, 1, 1, g.Len()
	if run.Timeout = s.Options.Timeout; run.Timeout == 0 {
		run.Timeout = flow.RunTimeout
	}
	if s.Key != nil {
		run.KeyID = s.Key.ID
	}
	r.store.write(flow.RunWrite{Run: &run})
	r.execute(s, g, run)
	now, err := r.AwaitRun(ctx, run.WorkspaceID, run.FlowID, run.ID, s.Wait)
	if s.Wait == 0 {
		now = &run
	}
	return flow.Started{Run: now}, err
}

// execute runs the engine until the run has ended.
func (r *runner) execute(s flow.Start, g *engine.Graph, run flow.Run) {
	canceled, cancel := context.WithCancel(context.Background())
	r.mu.Lock()
	if s.IdempotencyKey != "" {
		r.keys[string(s.WorkspaceID+"/")+s.IdempotencyKey] = idempotent{s.Fingerprint, run.ID}
	}
	r.cancels[run.ID] = cancel
	r.mu.Unlock()
	e := &engine.Engine{Journal: r, Emit: r.emit, Now: time.Now, Report: func(error) {}}
	r.running.Go(func() {
		if _, err := e.Execute(context.Background(), engine.NewPlan(g, &run, nil, nil), engine.Signals{Cancel: canceled.Done()}); err != nil {
			panic(err)
		}
	})
}

// WriteRun is the engine's journal.
func (r *runner) WriteRun(_ context.Context, w flow.RunWrite) error {
	if w.End {
		w.Run.ExpiresAt = w.Run.EndedAt.Add(30 * 24 * time.Hour)
	}
	r.store.write(w)
	r.mu.Lock()
	defer r.mu.Unlock()
	if w.End {
		delete(r.output, w.Run.ID)
	}
	for _, watcher := range r.watchers[w.Run.ID] {
		notify(watcher.changes)
	}
	return nil
}

func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (r *runner) CancelRun(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, runID flow.RunID) (*flow.Run, error) {
	r.mu.Lock()
	r.cancels[runID]()
	r.mu.Unlock()
	return r.AwaitRun(ctx, ws, flowID, runID, time.Minute)
}

func (r *runner) SignalStop(flow.RunID) {}

func (r *runner) FindSubStep(context.Context, *flow.Run, string) (*flow.SubStep, error) {
	return nil, flow.Errorf(flow.CodeNotFound, "There is no such step.")
}

func (r *runner) AwaitRun(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, runID flow.RunID, limit time.Duration) (*flow.Run, error) {
	watch := r.WatchRun(runID)
	defer watch.Stop()
	late := time.After(limit)
	for {
		run, err := r.store.FindRun(ctx, ws, flowID, runID)
		if err != nil || run.State.Ended() || limit <= 0 {
			return run, err
		}
		select {
		case <-watch.Changes:
		case <-late:
			return run, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// watcher receives all earlier text, then text as it is emitted.
type watcher struct {
	changes, texts chan struct{}
	pending        []flow.Delta // guarded by the runner
}

// emit receives text of running steps from the engine.
func (r *runner) emit(runID flow.RunID, path string, attempt int, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.output[runID] == nil {
		r.output[runID] = map[string]flow.Delta{}
	}
	d := flow.Delta{Path: path, Attempt: attempt, Text: text}
	all := r.output[runID][path]
	if d.Reset = all.Attempt != 0 && all.Attempt != attempt; d.Reset {
		all.Text = ""
	}
	r.output[runID][path] = flow.Delta{Path: path, Attempt: attempt, Text: all.Text + text, Reset: true}
	for _, w := range r.watchers[runID] {
		w.pending = append(w.pending, d)
		notify(w.texts)
	}
}

func (r *runner) WatchRun(runID flow.RunID) flow.Watch { return r.WatchText(runID) }

func (r *runner) WatchText(runID flow.RunID) flow.Watch {
	w := &watcher{changes: make(chan struct{}, 1), texts: make(chan struct{}, 1)}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.watchers[runID] = append(r.watchers[runID], w)
	for _, d := range r.output[runID] {
		w.pending = append(w.pending, d)
		notify(w.texts)
	}
	return flow.Watch{Changes: w.changes, Texts: w.texts, Read: func(ready func(string, int) bool) []flow.Delta { return r.readTexts(w, ready) }, Sync: func(context.Context, *flow.Run, []flow.Step) {}, Stop: func() { r.leave(runID, w) }}
}

func (r *runner) readTexts(w *watcher, ready func(path string, attempt int) bool) (list []flow.Delta) {
	r.reads.Add(1)
	r.mu.Lock()
	defer r.mu.Unlock()
	var later []flow.Delta
	for _, d := range w.pending {
		if ready(d.Path, d.Attempt) {
			list = append(list, d)
		} else {
			later = append(later, d)
		}
	}
	w.pending = later
	return list
}

func (r *runner) leave(runID flow.RunID, w *watcher) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.watchers[runID] = slices.DeleteFunc(r.watchers[runID], func(other *watcher) bool { return other == w })
}

// stop cancels all runs.
func (r *runner) stop() {
	r.mu.Lock()
	for _, cancel := range r.cancels {
		cancel()
	}
	r.mu.Unlock()
	r.running.Wait()
}

func (r *runner) lastStart() flow.Start {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.starts[len(r.starts)-1]
}

func (r *runner) ChildUsage(context.Context, *flow.Run) (flow.Usage, error) { return flow.Usage{}, nil }
