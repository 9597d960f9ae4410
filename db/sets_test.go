package db_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/db/core"
	"sluice/db/dbtest"
	"sluice/flow"
	"sluice/flow/value"
)

// many runs f n times concurrently, so that on PostgreSQL the writes share sets.
func many(n int, f func(i int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { f(i) })
	}
	all.Wait()
}

// TestSets_write_the_same_as_single_writes compares the rows of runs whose writes
// came one at a time with those of runs whose writes came together.
func TestSets_write_the_same_as_single_writes(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		states := []flow.RunState{flow.RunSucceeded, flow.RunFailed, flow.RunCanceled}
		life := func(i int, together bool) (runID flow.RunID) {
			s, err := w.tryStart(func(n *flow.NewRun) {
				n.Run.Metadata = value.FromMap(map[string]any{"text": fmt.Sprintf("%d \\ \" ' {NULL},\n\u2028 é", i)})
				n.Run.Draft, n.Run.KeyID = i%2 == 0, ""
				if i%3 == 0 {
					n.Webhook = &flow.NewDelivery{URL: "https://example.com/hook"}
				}
				if i%4 == 0 {
					n.Steps = []flow.Step{step("given")}
				}
			})
			w.must(err)
			r := w.take(s.Run.ID)
			r.Seq, r.Writes = 7, 1
			w.must(w.WriteRun(w.ctx, flow.RunWrite{Run: r, Steps: []flow.Step{step("a"), step("b")}, Progressed: i%2 == 1, Busy: i%3 == 1}))
			r.Writes = 2
			w.must(w.finish(r, states[i%3], step("b"), spent("c", 5)))
			return r.ID
		}
		const n = 24
		single, sets := make([]flow.RunID, n), make([]flow.RunID, n)
		for i := range n {
			single[i] = life(i, false)
		}
		many(n, func(i int) { sets[i] = life(i, true) })
		for i := range n {
			if a, b := w.rowsOf(single[i]), w.rowsOf(sets[i]); a != b {
				t.Errorf("run %d\nalone:    %s\ntogether: %s", i, a, b)
			}
		}
		w.wantStorage()
	})
}

// TestSets_contain_starts checks that starts are executed in a set. A set that fails is
// repeated one by one, which would hide a broken statement and lose the speed of sets.
func TestSets_contain_starts(t *testing.T) {
	t.Parallel()
	var repeated <-chan struct{}
	s := dbtest.Postgres(t, func(cfg *core.Config) { repeated = watch(cfg, "repeated one by one") })
	w := newFixture(t, s, &clock{now: time.Now()})
	many(8, func(int) {
		_, err := w.tryStart()
		w.must(err)
	})
	if n := len(repeated); n > 0 {
		t.Errorf("%d sets of starts failed", n)
	}
}

// TestSets_contain_ends_of_children checks that the ends of child runs are executed in a set, which
// starts the next items, and that each item is run once.
func TestSets_contain_ends_of_children(t *testing.T) {
	t.Parallel()
	var repeated <-chan struct{}
	s := dbtest.Postgres(t, func(cfg *core.Config) { repeated = watch(cfg, "repeated one by one") })
	w := newFixture(t, s, &clock{now: time.Now()})
	const total, atOnce = 60, 20
	run := w.ask()
	w.letWait(run)
	step := flow.CallingStep{RunID: run.ID, Path: "ask"}
	w.must(w.BeginChildren(w.ctx, &flow.Children{
		WorkspaceID: ws, Caller: step, RootRunID: run.ID, Depth: 1, FlowID: w.flow.ID, DocumentHash: run.DocumentHash, Concurrency: atOnce, KeepErrors: true,
	}, flow.ChildTemplate{Save: true, TimeoutMicros: time.Hour.Microseconds(), Nodes: 1}))
	items := make([]flow.ChildItem, total)
	for i := range items {
		if items[i] = (flow.ChildItem{Item: i, Inputs: value.FromMap(map[string]any{"n": i})}); i%10 == 3 {
			items[i].Error = flow.Errorf(flow.CodeInputInvalid, "It cannot start.")
		}
	}
	w.must(w.AddChildItems(w.ctx, step, items))
	_, err := w.StartChildren(w.ctx, step, total, total/10, 0)
	w.must(err)
	for ended := 0; ended < total-total/10; {
		list, err := w.ReadChildren(w.ctx, ws, step, 0, total)
		w.must(err)
		list = slices.DeleteFunc(list, func(r flow.ChildResult) bool { return r.State.Ended() })
		many(len(list), func(i int) { w.must(w.finish(w.take(list[i].RunID), flow.RunSucceeded)) })
		ended += len(list)
	}
	wantEqual(t, "counted", w.counted(step), fmt.Sprint(0, 0, total-total/10, total/10))
	list, err := w.ReadChildren(w.ctx, ws, step, 0, total)
	w.must(err)
	wantEqual(t, "results", len(list), total)
	for i, r := range list {
		wantEqual(t, "item", r.Item, i)
	}
	if n := len(repeated); n > 0 {
		t.Errorf("%d sets of ends failed", n)
	}
	w.wantStorage()
}

// rowsOf returns all rows of a run, without the values that differ between equal runs.
func (w *fixture) rowsOf(runID flow.RunID) string {
	w.t.Helper()
	run, err := w.FindRun(w.ctx, ws, "", runID)
	w.must(err)
	steps, err := w.FindSteps(w.ctx, ws, runID)
	w.must(err)
	deliveries, err := w.ListDeliveriesOfRun(w.ctx, ws, runID)
	w.must(err)
	for i := range deliveries {
		d := &deliveries[i]
		d.ID, d.Position, d.Body, d.CreatedAt, d.NextAt = "", "", nil, time.Time{}, time.Time{}
	}
	text, err := json.Marshal([]any{run, steps, deliveries})
	w.must(err)
	return strings.ReplaceAll(string(text), string(runID), "run")
}

func TestSets_refuse_only_one_member(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		other := w.newFlow(ws)
		w.must(w.SetFlowLimits(w.ctx, ws, other.ID, flow.Limits{MaxRunning: 3, MaxQueued: 4}))
		var mu sync.Mutex
		started, refused := map[int64]int{}, 0
		many(60, func(i int) {
			s, err := w.tryStart(func(n *flow.NewRun) {
				if i%2 == 0 {
					n.Run.FlowID = other.ID
				}
				n.IdempotencyKey, n.Fingerprint = fmt.Sprint("start ", i), "same"
			})
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				started[int64(i%2)]++
				_ = s
			case i%2 == 0 && errors.Is(err, &flow.Error{Code: flow.CodeQueueFull}):
				refused++
				if held, err := w.FindStarted(w.ctx, ws, fmt.Sprint("start ", i), "same"); held != nil || err != nil {
					t.Errorf("a refused start keeps its idempotency key: %v", err)
				}
			default:
				t.Errorf("start %d: %v", i, err)
			}
		})
		wantEqual(t, "runs of the flow with limits", started[0], 7)
		wantEqual(t, "its refusals", refused, 23)
		wantEqual(t, "runs of the other flow", started[1], 30)
		w.wantStorage()
	})
}

func TestSets_start_once_for_equal_requests(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		var mu sync.Mutex
		ids, replayed := map[flow.RunID]bool{}, 0
		many(30, func(i int) {
			s, err := w.tryStart(func(n *flow.NewRun) { n.IdempotencyKey, n.Fingerprint = fmt.Sprint("key ", i%3), "same" })
			w.must(err)
			mu.Lock()
			defer mu.Unlock()
			ids[s.Run.ID] = true
			if s.Replayed {
				replayed++
			}
		})
		wantEqual(t, "runs", len(ids), 3)
		wantEqual(t, "repeated answers", replayed, 27)
		w.wantStorage()
	})
}

// TestSets_respect_the_limit_of_a_key checks that the limit of open runs also holds for
// starts in one set and in two processes.
func TestSets_respect_the_limit_of_a_key(t *testing.T) {
	onTwoStores(t, func(t *testing.T, here, there *fixture) {
		there.flow = here.flow
		k := &flow.Key{ID: "key_few", WorkspaceID: ws, Name: "few", Prefix: "slu_few", Hash: "few", Concurrency: 5, CreatedAt: time.Now()}
		here.must(here.CreateKey(here.ctx, k))
		var mu sync.Mutex
		started := 0
		many(60, func(i int) {
			w := here
			if i%2 == 0 {
				w = there
			}
			_, err := w.tryStart(func(n *flow.NewRun) { n.Key, n.Run.KeyID = k, k.ID })
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				started++
			case !errors.Is(err, &flow.Error{Code: flow.CodeConcurrencyLimited}):
				t.Errorf("start %d: %v", i, err)
			}
		})
		wantEqual(t, "started", started, 5)
	})
}

// TestSets_give_a_run_to_one_worker gives starts to the free workers in memory
// and the others to the queue.
func TestSets_give_a_run_to_one_worker(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		w.must(w.Heartbeat(w.ctx, "me", 100))
		w.queue.free.Store(7)
		ids := make([]flow.RunID, 20)
		many(len(ids), func(i int) {
			s, err := w.tryStart()
			w.must(err)
			ids[i] = s.Run.ID
		})
		for _, id := range ids {
			wantEqual(t, "jobs of "+string(id), w.queue.count(id), 1)
		}
		wantEqual(t, "free workers", w.queue.free.Load(), 0)
		fresh := 0
		w.queue.mu.Lock()
		for _, j := range w.queue.jobs {
			fresh += int(map[bool]int{true: 1}[j.Run != nil])
		}
		w.queue.mu.Unlock()
		wantEqual(t, "jobs with their run", fresh, len(ids))
	})
}
