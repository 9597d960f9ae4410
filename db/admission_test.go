package db_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"sluice/db"
	"sluice/db/core"
	"sluice/flow"
)

func capacity(n int) func(*core.Config) { return func(c *core.Config) { c.Capacity = n } }

func byKey(key string) func(*flow.NewRun) {
	return func(n *flow.NewRun) { n.Run.KeyID = key }
}

// admitted returns the keys of the runs that were handed out, in order.
func (w *fixture) admitted(names map[flow.RunID]string) string {
	var list []string
	for _, id := range w.queue.ids(flow.JobRun) {
		list = append(list, names[flow.RunID(id)])
	}
	return strings.Join(list, " ")
}

func TestAdmission_respects_the_capacity(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		names := map[flow.RunID]string{}
		var runs []*flow.Run
		for i := range 5 {
			r := w.start()
			names[r.ID] = fmt.Sprint(i)
			runs = append(runs, r)
		}
		wantEqual(t, "at first", w.admitted(names), "0 1")
		wantEqual(t, "queued attempt", w.find(runs[2].ID).Attempt, 0)
		w.must(w.finish(w.take(runs[1].ID), flow.RunSucceeded))
		wantEqual(t, "after an end", w.admitted(names), "0 1 2")
		w.wait(w.take(runs[0].ID), w.clock.Now())
		wantEqual(t, "after a wait", w.admitted(names), "0 1 2 3")
		d, err := w.QueueStats(w.ctx)
		w.must(err)
		wantEqual(t, "depth", d, db.QueueStats{Queued: 1, Admitted: 2, Waiting: 1})
	}, capacity(2))
}

func TestAdmission_is_round_robin(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		w.must(w.CreateWorkspace(w.ctx, flow.Workspace{ID: "ws_two", Name: "Two"}))
		other := w.newFlow("ws_two")
		names := map[flow.RunID]string{}
		run := w.start()
		for _, name := range []string{"a1", "a2", "a3", "b1", "b2"} {
			names[w.start(byKey("key_"+name[:1])).ID] = name
		}
		for _, name := range []string{"z1", "z2"} {
			r := w.start(byKey("key_z"), func(n *flow.NewRun) { n.Run.WorkspaceID, n.Run.FlowID = "ws_two", other.ID })
			names[r.ID] = name
		}
		for range names {
			w.must(w.finish(w.take(run.ID), flow.RunSucceeded))
			ids := w.queue.ids(flow.JobRun)
			run = &flow.Run{ID: flow.RunID(ids[len(ids)-1])}
		}
		// Round-robin by workspace, then by key within one; the oldest run of a key first.
		wantEqual(t, "order", strings.TrimSpace(w.admitted(names)), "a1 z1 b1 z2 a2 b2 a3")
	}, capacity(1))
}

// TestAdmitRuns_is_round_robin admits many runs at once, with as many keys as one read
// of the front of the queue returns, and with more.
func TestAdmitRuns_is_round_robin(t *testing.T) {
	for _, keys := range []int{3, 130} {
		t.Run(fmt.Sprint(keys), func(t *testing.T) {
			setup(t, func(t *testing.T, w *fixture) {
				w.must(w.Heartbeat(w.ctx, "one", 1))
				names := map[flow.RunID]string{}
				w.start()
				var want []string
				for round := range 2 {
					for key := range keys {
						name := fmt.Sprintf("%03d.%d", key, round)
						names[w.start(byKey(fmt.Sprintf("key_%03d", key))).ID] = name
						want = append(want, name)
					}
				}
				w.must(w.Heartbeat(w.ctx, "one", keys+3))
				n, err := w.AdmitRuns(w.ctx, 1000)
				w.must(err)
				wantEqual(t, "admitted", n, keys+2)
				wantEqual(t, "order", strings.TrimSpace(w.admitted(names)), strings.Join(want[:keys+2], " "))
			})
		})
	}
}

func TestAdmission_limits_of_flow_and_workspace(t *testing.T) {
	limits := map[string]func(w *fixture) error{
		"flow": func(w *fixture) error {
			return w.SetFlowLimits(w.ctx, ws, w.flow.ID, flow.Limits{MaxRunning: 1, MaxQueued: 2})
		},
		"workspace": func(w *fixture) error { return w.SetWorkspaceLimits(w.ctx, ws, 1, 2) },
	}
	for name, limit := range limits {
		t.Run(name, func(t *testing.T) {
			setup(t, func(t *testing.T, w *fixture) {
				w.must(limit(w))
				r := []*flow.Run{w.start(), w.start(), w.start()}
				wantEqual(t, "admitted", len(w.queue.ids(flow.JobRun)), 1)
				_, err := w.tryStart()
				wantCode(t, err, flow.CodeQueueFull)
				w.must(w.finish(w.take(r[0].ID), flow.RunSucceeded))
				wantEqual(t, "next", w.queue.count(r[1].ID), 1)
				wantEqual(t, "not the one after", w.queue.count(r[2].ID), 0)
				w.start() // there is room in the queue again
			})
		})
	}
}

func TestAdmission_skips_a_flow_at_its_limit(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		w.must(w.SetFlowLimits(w.ctx, ws, w.flow.ID, flow.Limits{MaxRunning: 1}))
		other := w.newFlow(ws)
		of := func(n *flow.NewRun) { n.Run.FlowID = other.ID }
		limited, free := w.start(), w.start(of)
		held, queued := w.start(), w.start(of)
		w.must(w.finish(w.take(free.ID), flow.RunSucceeded))
		wantEqual(t, "the other flow", w.queue.count(queued.ID), 1)
		wantEqual(t, "the limited flow", w.queue.count(held.ID), 0)
		w.must(w.finish(w.take(limited.ID), flow.RunSucceeded))
		wantEqual(t, "the limited flow, later", w.queue.count(held.ID), 1)
	}, capacity(2))
}

func TestAdmission_limits_open_runs_of_a_key(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		two := func(n *flow.NewRun) { n.Key = &flow.Key{ID: n.Run.KeyID, Concurrency: 2} }
		first := w.start(two)
		w.start(two)
		_, err := w.tryStart(two)
		wantCode(t, err, flow.CodeConcurrencyLimited)
		w.start(byKey("key_other"), two)
		w.wait(w.take(first.ID), w.clock.Now())
		_, err = w.tryStart(two)
		wantCode(t, err, flow.CodeConcurrencyLimited) // a waiting run has not ended
	})
}

func TestAdmission_concurrent_starts(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		w.must(w.SetFlowLimits(w.ctx, ws, w.flow.ID, flow.Limits{MaxRunning: 3}))
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				if _, err := w.tryStart(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		wantEqual(t, "admitted", len(w.queue.ids(flow.JobRun)), 3)
		for n := range 20 {
			id := flow.RunID(w.queue.ids(flow.JobRun)[n])
			w.must(w.finish(w.take(id), flow.RunSucceeded))
		}
		ids := w.queue.ids(flow.JobRun)
		slices.Sort(ids)
		wantEqual(t, "each once", len(slices.Compact(ids)), 20)
		d, err := w.QueueStats(w.ctx)
		w.must(err)
		wantEqual(t, "depth", d, db.QueueStats{})
	})
}

func TestAdmission_concurrent_ends_and_starts(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 5 {
					if _, err := w.tryStart(); err != nil {
						t.Error(err)
					}
				}
			})
		}
		work := make(chan struct{})
		go func() { wg.Wait(); close(work) }()
		done := 0
		for started := false; !started || done < 40; {
			select {
			case <-work:
				started = true
			default:
			}
			if ids := w.queue.ids(flow.JobRun); len(ids) > done {
				w.must(w.finish(w.take(flow.RunID(ids[done])), flow.RunSucceeded))
				done++
			} else if started {
				_, err := w.AdmitRuns(w.ctx, 10) // what a race may have left, the scheduler takes
				w.must(err)
			}
		}
		wantEqual(t, "jobs", len(w.queue.ids(flow.JobRun)), 40)
	}, capacity(2))
}

func TestAdmitRuns_admits_runs_of_a_process_without_a_queue(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		w.UseQueue(nil)
		a, b := w.start(), w.start()
		wantEqual(t, "attempt", w.find(a.ID).Attempt, 0)
		w.UseQueue(w.queue)
		n, err := w.AdmitRuns(w.ctx, 10)
		w.must(err)
		wantEqual(t, "admitted", n, 2)
		wantEqual(t, "jobs", w.queue.count(a.ID)+w.queue.count(b.ID), 2)
		n, err = w.AdmitRuns(w.ctx, 10)
		w.must(err)
		wantEqual(t, "again", n, 0)
	})
}

func TestAdmission_capacity_of_all_instances(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		w.must(w.Heartbeat(w.ctx, "one", 2))
		want := 2
		if w.IsPostgres() { // there instances add up
			w.must(w.Heartbeat(w.ctx, "two", 1))
			want = 3
		}
		for range 5 {
			w.start()
		}
		wantEqual(t, "admitted", len(w.queue.ids(flow.JobRun)), want)
	})
}
