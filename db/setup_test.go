package db_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/db"
	"sluice/db/core"
	"sluice/db/dbtest"
	"sluice/flow"
	"sluice/flow/value"
)

// ws is the workspace of most tests.
const ws = flow.DefaultWorkspace

// fixture is a store with a fixed clock, a queue that records jobs, and one published
// flow.
type fixture struct {
	*db.Store
	t     *testing.T
	ctx   context.Context
	clock *clock
	queue *queue
	flow  *flow.Flow
}

// setup runs the test on both databases.
func setup(t *testing.T, test func(t *testing.T, w *fixture), set ...func(*core.Config)) {
	t.Helper()
	t.Parallel()
	c := &clock{now: time.Date(2026, 3, 14, 15, 9, 26, 535_000_000, time.UTC)}
	for name, open := range openers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &clock{now: c.now}
			s := open(t, append([]func(*core.Config){func(cfg *core.Config) { cfg.Now = c.Now }}, set...)...)
			test(t, newFixture(t, s, c))
		})
	}
}

var openers = map[string]func(testing.TB, ...func(*core.Config)) *db.Store{"sqlite": dbtest.SQLite, "postgres": dbtest.Postgres}

func newFixture(t *testing.T, s *db.Store, c *clock) *fixture {
	t.Helper()
	w := &fixture{Store: s, t: t, ctx: t.Context(), clock: c, queue: &queue{}}
	s.UseQueue(w.queue)
	w.flow = w.newFlow(ws)
	return w
}

func (w *fixture) newFlow(ws flow.WorkspaceID) *flow.Flow {
	w.t.Helper()
	f := &flow.Flow{WorkspaceID: ws, Name: "Answer", Draft: []byte(`{"schema":"sluice.flow/v1"}`)}
	w.must(w.CreateFlow(w.ctx, f))
	return f
}

func (w *fixture) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// start starts a run of the fixture's flow, changed by change.
func (w *fixture) start(change ...func(*flow.NewRun)) *flow.Run {
	w.t.Helper()
	w.clock.move(time.Millisecond) // identifiers are in order from one to the next
	s, err := w.tryStart(change...)
	w.must(err)
	return s.Run
}

func (w *fixture) tryStart(change ...func(*flow.NewRun)) (flow.Started, error) {
	n := flow.NewRun{Prices: true, Run: flow.Run{
		WorkspaceID: ws, FlowID: w.flow.ID, FlowSlug: w.flow.Slug, Version: 1, DocumentHash: "abc", Trigger: flow.TriggerAPI, KeyID: "key_a",
		Inputs: value.FromMap(map[string]any{"ticket": "help"}), Metadata: value.FromMap(map[string]any{"n": "1"}), Save: true, Timeout: time.Hour,
		Progress: flow.Progress{Total: 3},
	}}
	for _, f := range change {
		f(&n)
	}
	return w.StartRun(w.ctx, n)
}

// take loads the run of the newest job, like a worker.
func (w *fixture) take(runID flow.RunID) *flow.Run {
	w.t.Helper()
	j, ok := w.queue.last(string(runID))
	if !ok {
		w.t.Fatalf("there is no job for %s", runID)
	}
	r, _, err := w.LoadRun(w.ctx, runID, j.Attempt)
	w.must(err)
	r.State = flow.RunRunning
	if r.StartedAt.IsZero() {
		r.StartedAt = w.clock.Now()
	}
	return r
}

// finish ends a run that take returned.
func (w *fixture) finish(r *flow.Run, state flow.RunState, steps ...flow.Step) error {
	r.State, r.EndedAt = state, w.clock.Now()
	r.Outputs = value.FromMap(map[string]any{"answer": "42"})
	if state == flow.RunFailed {
		r.Error = flow.Errorf(flow.CodeHTTPFailed, "It said secret things.")
	}
	return w.WriteRun(w.ctx, flow.RunWrite{Run: r, Steps: steps, End: true, Durable: true})
}

// startAndFinish takes a run from start to end.
func (w *fixture) startAndFinish(change ...func(*flow.NewRun)) *flow.Run {
	w.t.Helper()
	r := w.take(w.start(change...).ID)
	w.must(w.finish(r, flow.RunSucceeded, step("a"), step("b")))
	return r
}

// wait makes a run that take returned wait until a time.
func (w *fixture) wait(r *flow.Run, until time.Time) {
	w.t.Helper()
	r.State, r.WaitingSince = flow.RunWaiting, w.clock.Now()
	w.must(w.WriteRun(w.ctx, flow.RunWrite{Run: r, WakeAt: until, Durable: true}))
}

func (w *fixture) find(runID flow.RunID) *flow.Run {
	w.t.Helper()
	r, err := w.FindRun(w.ctx, ws, "", runID)
	w.must(err)
	return r
}

func step(path string) flow.Step {
	return flow.Step{
		Path: path, Node: path, Kind: "template", State: flow.StepSucceeded, Attempt: 1,
		Input: map[string]any{"text": "in"}, Outputs: map[string]any{"text": "out"},
	}
}

func wantCode(t *testing.T, err error, code flow.Code) {
	t.Helper()
	if !errors.Is(err, &flow.Error{Code: code}) {
		t.Fatalf("got error %v, want %s", err, code)
	}
}

func wantEqual[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Fatalf("%s: got %v, want %v", what, got, want)
	}
}

// clock returns a fixed time until it is moved.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) move(d time.Duration) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	return c.now
}

// queue records jobs. Jobs of a transaction that is not committed are never woken.
type queue struct {
	mu   sync.Mutex
	jobs []flow.Job
	fail error
	free atomic.Int64
	in   func(tx any, jobs []flow.Job) error
}

func (q *queue) InsertTx(_ context.Context, tx any, jobs []flow.Job) error {
	q.mu.Lock()
	fail, in := q.fail, q.in
	q.mu.Unlock()
	if in != nil {
		return in(tx, jobs)
	}
	return fail
}

func (q *queue) Wake(jobs []flow.Job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.jobs = append(q.jobs, jobs...)
}

// Take reserves a free worker. Tests set the number of workers, which is 0 by default.
func (q *queue) Take(int) bool {
	if q.free.Add(-1) >= 0 {
		return true
	}
	q.free.Add(1)
	return false
}

func (q *queue) Return(n int)         { q.free.Add(int64(n)) }
func (q *queue) Work(jobs []flow.Job) { q.Wake(jobs) }

func (q *queue) WakeDeliveries() {}

// handDue creates jobs for due deliveries, as a Runner does after each commit.
func (w *fixture) handDue() {
	w.t.Helper()
	_, _, err := w.DueDeliveries(w.ctx, w.clock.Now(), 100)
	w.must(err)
}

// handed returns the deliveries that got a job, one for each job, after those
// that are due got theirs.
func (w *fixture) handed() []string {
	w.t.Helper()
	w.handDue()
	return w.queue.ids(flow.JobDelivery)
}

// last returns the newest job for a run or delivery.
func (q *queue) last(id string) (flow.Job, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := len(q.jobs) - 1; i >= 0; i-- {
		if q.jobs[i].ID == id {
			return q.jobs[i], true
		}
	}
	return flow.Job{}, false
}

func (q *queue) count(id flow.RunID) (n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, j := range q.jobs {
		if j.ID == string(id) {
			n++
		}
	}
	return n
}

func (q *queue) ids(kind string) (list []string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, j := range q.jobs {
		if j.Kind == kind {
			list = append(list, j.ID)
		}
	}
	return list
}
