package db_test

import (
	"errors"
	"testing"
	"time"

	"sluice/db/dbconn"
	"sluice/flow"
)

func (w *fixture) cancel(r *flow.Run) *flow.Run {
	w.t.Helper()
	got, err := w.RequestCancel(w.ctx, ws, r.FlowID, r.ID)
	w.must(err)
	return got
}

func TestRequestCancel_of_a_running_run(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		w.must(w.Heartbeat(w.ctx, "me", 5))
		r := w.take(w.start().ID)
		w.start() // not asked to cancel
		for range 2 {
			wantEqual(t, "requested", w.cancel(r).CancelRequested, true)
		}
		wantEqual(t, "jobs", w.queue.count(r.ID), 1)
		ids, err := w.CancelRequested(w.ctx, "me")
		w.must(err)
		if len(ids) != 1 || ids[0] != r.ID {
			t.Fatalf("asked to cancel: %v", ids)
		}
		w.must(w.WriteRun(w.ctx, flow.RunWrite{Run: r}))
		wantEqual(t, "requested after a write", w.find(r.ID).CancelRequested, true)
		w.must(w.finish(r, flow.RunCanceled))
		wantEqual(t, "state", w.cancel(r).State, flow.RunCanceled)
		ids, err = w.CancelRequested(w.ctx, "me")
		w.must(err)
		wantEqual(t, "left", len(ids), 0)
	})
}

// TestRequestCancel_before_the_end has a worker that did not notice the cancellation: it must
// not end the run in another way. The row of the run is written alone and in a set.
func TestRequestCancel_before_the_end(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		for _, sized := range []bool{false, true} {
			for _, state := range []flow.RunState{flow.RunSucceeded, flow.RunFailed} {
				r := w.take(w.start().ID)
				if sized {
					r.Sizes, r.Writes = map[string]int64{}, 1
				}
				w.cancel(r)
				end := *r
				if err := w.finish(&end, state); !errors.Is(err, flow.ErrCancelRequested) {
					t.Fatalf("%s, %v: %v", state, sized, err)
				}
				wantEqual(t, "state", w.find(r.ID).State.Ended(), false)
				w.must(w.finish(r, flow.RunCanceled))
				if err := w.finish(&end, state); sized != (err == nil) && !errors.Is(err, dbconn.ErrFenced) {
					t.Errorf("another end: %v", err)
				}
				wantEqual(t, "state", w.find(r.ID).State, flow.RunCanceled)
			}
		}
	})
}

func TestRequestCancel_of_a_queued_run(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		w.start()
		r := w.start()
		w.cancel(r)
		got := w.take(r.ID)
		wantEqual(t, "attempt", got.Attempt, 1)
		wantEqual(t, "requested", got.CancelRequested, true)
		w.cancel(r)
		wantEqual(t, "jobs", w.queue.count(r.ID), 1)
		d, err := w.QueueStats(w.ctx)
		w.must(err)
		wantEqual(t, "left in the queue", d.Queued, 0)
	}, capacity(1))
}

func TestRequestCancel_of_a_waiting_run(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		r := w.take(w.start().ID)
		w.wait(r, w.clock.Now().Add(time.Hour))
		w.cancel(r)
		wantEqual(t, "attempt", w.take(r.ID).Attempt, 2)
		n, next, err := w.DueWakes(w.ctx, w.clock.Now().Add(2*time.Hour), 10)
		w.must(err)
		wantEqual(t, "wakes", n, 0)
		wantEqual(t, "next", next, time.Time{})
	})
}

func TestRequestCancel_just_before_it_waits(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		r := w.take(w.start().ID)
		w.cancel(r)
		w.wait(r, w.clock.Now().Add(time.Hour))
		wantEqual(t, "attempt", w.take(r.ID).Attempt, 2)
	})
}

func TestRequestCancel_without_a_queue(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		w.start()
		queued := w.start()
		w.UseQueue(nil)
		w.cancel(queued)
		w.UseQueue(w.queue)
		n, _, err := w.DueWakes(w.ctx, w.clock.Now(), 10)
		w.must(err)
		wantEqual(t, "woken", n, 1)
		wantEqual(t, "requested", w.take(queued.ID).CancelRequested, true)
		d, err := w.QueueStats(w.ctx)
		w.must(err)
		wantEqual(t, "left in the queue", d.Queued, 0)
	}, capacity(1))
}

func TestRequestCancel_of_another_workspace_is_not_found(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		r := w.start()
		_, err := w.RequestCancel(w.ctx, "ws_other", r.FlowID, r.ID)
		wantCode(t, err, flow.CodeNotFound)
		wantEqual(t, "requested", w.find(r.ID).CancelRequested, false)
	})
}

func TestDueWakes(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		ids := []flow.RunID{w.start().ID, w.start().ID, w.start().ID}
		now := w.clock.Now()
		for i, id := range ids {
			w.wait(w.take(id), now.Add(time.Duration(i+1)*time.Minute))
		}
		n, next, err := w.DueWakes(w.ctx, now, 10)
		w.must(err)
		wantEqual(t, "due at first", n, 0)
		wantEqual(t, "next at first", next, now.Add(time.Minute).UTC())
		n, next, err = w.DueWakes(w.ctx, now.Add(2*time.Minute), 10)
		w.must(err)
		wantEqual(t, "due", n, 2)
		wantEqual(t, "next", next, now.Add(3*time.Minute).UTC())
		wantEqual(t, "jobs", len(w.queue.ids(flow.JobRun)), 5)
		woken := w.take(flow.RunID(w.queue.ids(flow.JobRun)[3]))
		wantEqual(t, "attempt", woken.Attempt, 2)
		wantEqual(t, "waiting since", woken.WaitingSince, now)
	})
}

func TestWakeRun(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		r := w.take(w.start().ID)
		w.must(w.WakeRun(w.ctx, ws, r.ID))
		wantEqual(t, "jobs of a running one", w.queue.count(r.ID), 1)
		w.wait(r, time.Time{})
		w.must(w.WakeRun(w.ctx, ws, r.ID))
		wantEqual(t, "attempt", w.take(r.ID).Attempt, 2)
	})
}

// stop requests that a run ends after the turns of its agents.
func (w *fixture) stop(r *flow.Run) {
	w.t.Helper()
	w.must(w.RequestStop(w.ctx, ws, r.FlowID, r.ID))
}

func TestRequestStop_of_a_running_run(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		w.must(w.Heartbeat(w.ctx, "me", 5))
		r := w.take(w.start().ID)
		w.start() // not asked to stop
		for range 2 {
			w.stop(r)
		}
		ids, err := w.StopRequested(w.ctx, "me")
		w.must(err)
		wantEqual(t, "stops", len(ids), 1)
		got := w.find(r.ID)
		wantEqual(t, "stop requested", got.StopRequested, true)
		wantEqual(t, "cancel requested", got.CancelRequested, false)
		w.must(w.finish(r, flow.RunSucceeded)) // a stop that came too late changes nothing
		ids, err = w.StopRequested(w.ctx, "me")
		w.must(err)
		wantEqual(t, "stops after the end", len(ids), 0)
	})
}

func TestRequestStop_wakes_a_waiting_run_once(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		r := w.take(w.start().ID)
		w.wait(r, w.clock.Now().Add(time.Hour))
		w.stop(r)
		again := w.take(r.ID)
		wantEqual(t, "attempt", again.Attempt, 2)
		wantEqual(t, "stop requested", again.StopRequested, true)
		w.wait(again, w.clock.Now().Add(time.Hour)) // it knows, so it stays
		wantEqual(t, "state", w.find(r.ID).State, flow.RunWaiting)
		n, _, err := w.DueWakes(w.ctx, w.clock.Now(), 10)
		w.must(err)
		wantEqual(t, "woken", n, 0)
		wantEqual(t, "attempt", w.find(r.ID).Attempt, 2)
	})
}

func TestRequestStop_just_before_it_waits(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		r := w.take(w.start().ID)
		w.stop(r)
		w.wait(r, w.clock.Now().Add(time.Hour))
		wantEqual(t, "attempt", w.take(r.ID).Attempt, 2)
	})
}
