package db_test

import (
	"fmt"
	"testing"
	"time"

	"sluice/flow"
)

// children stores n items for the step "ask" of a waiting run. At most two run at once.
func (w *fixture) children(n int, keepErrors bool) (*flow.Run, flow.CallingStep) {
	w.t.Helper()
	run := w.ask()
	w.letWait(run)
	step := flow.CallingStep{RunID: run.ID, Path: "ask"}
	w.must(w.BeginChildren(w.ctx, &flow.Children{
		WorkspaceID: ws, Caller: step, RootRunID: run.ID, Depth: 1, FlowID: w.flow.ID, DocumentHash: run.DocumentHash, Concurrency: 2, KeepErrors: keepErrors,
	}, flow.ChildTemplate{Save: true, TimeoutMicros: time.Hour.Microseconds(), Nodes: 1}))
	var items []flow.ChildItem
	for i := range n {
		items = append(items, flow.ChildItem{Item: i, Inputs: map[string]any{"n": i}})
	}
	w.must(w.AddChildItems(w.ctx, step, items))
	w.must(w.AddChildItems(w.ctx, step, items)) // repeated after a crash
	_, err := w.StartChildren(w.ctx, step, n, 0, 0)
	w.must(err)
	return run, step
}

// endChild ends the child run of an item, at a cost of one nano-dollar.
func (w *fixture) endChild(step flow.CallingStep, item int, state flow.RunState) {
	w.t.Helper()
	results, err := w.ReadChildren(w.ctx, ws, step, item, item+1)
	w.must(err)
	if len(results) != 1 {
		w.t.Fatalf("item %d has not started", item)
	}
	run, err := w.FindRun(w.ctx, ws, "", results[0].RunID)
	w.must(err)
	run.State, run.StartedAt, run.EndedAt, run.Outputs = state, w.clock.Now(), w.clock.Now(), map[string]any{"item": item}
	run.Usage.CostNanoUSD = 1
	w.must(w.WriteRun(w.ctx, flow.RunWrite{Run: run, End: true}))
}

// counted returns the numbers of a step: pending, running, succeeded and failed.
func (w *fixture) counted(step flow.CallingStep) string {
	w.t.Helper()
	c, err := w.FindChildren(w.ctx, step)
	w.must(err)
	return fmt.Sprint(c.Pending, c.Running, c.Succeeded, c.Failed)
}

// TestChildren starts the next item when one ends, and wakes the caller after the last.
func TestChildren(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		run, step := w.children(4, true)
		w.clock.move(time.Minute)
		wantEqual(t, "at first", w.counted(step), "2 2 0 0")
		w.endChild(step, 0, flow.RunSucceeded)
		wantEqual(t, "after one", w.counted(step), "1 2 1 0")
		w.endChild(step, 2, flow.RunFailed)
		w.endChild(step, 1, flow.RunSucceeded)
		wantEqual(t, "after three", w.counted(step), "0 1 2 1")
		if due := w.due(run); !due.After(w.clock.Now()) {
			t.Errorf("the caller is due %s although an item runs", due)
		}
		w.endChild(step, 3, flow.RunSucceeded)
		wantEqual(t, "due", w.due(run), w.clock.Now())
		results, err := w.ReadChildren(w.ctx, ws, step, 0, 4)
		w.must(err)
		for i, r := range results {
			wantEqual(t, "item", r.Item, i)
			wantEqual(t, "state", r.State == flow.RunFailed, i == 2)
		}
		c, err := w.FindChildren(w.ctx, step)
		w.must(err)
		wantEqual(t, "cost", c.Usage.CostNanoUSD, 4)
	})
}

// TestChildren_fail starts nothing more after an item has failed, and wakes the caller.
func TestChildren_fail(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		run, step := w.children(4, false)
		w.clock.move(time.Minute)
		w.endChild(step, 1, flow.RunFailed)
		wantEqual(t, "counted", w.counted(step), "0 1 0 1")
		wantEqual(t, "due", w.due(run), w.clock.Now())
		open, err := w.StopChildren(w.ctx, step)
		w.must(err)
		wantEqual(t, "open", len(open), 1)
	})
}

// TestChildren_recount corrects the numbers of a step if the end of a child was not
// counted.
func TestChildren_recount(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		_, step := w.children(3, true)
		w.endChild(step, 0, flow.RunSucceeded)
		w.tamper("UPDATE children SET running = 7, succeeded = 0")
		c, err := w.RecountChildren(w.ctx, step)
		w.must(err)
		wantEqual(t, "recounted", fmt.Sprint(c.Pending, c.Running, c.Succeeded, c.Failed), "0 2 1 0")
		w.endChild(step, 1, flow.RunSucceeded)
		w.endChild(step, 2, flow.RunCanceled)
		wantEqual(t, "at the end", w.counted(step), "0 0 2 1")
	})
}
