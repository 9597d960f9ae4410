package db_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/db/dbtest"
	"sluice/flow"
	"sluice/flow/value"
)

// rows stores n rows of a batch with a concurrency of three.
func (w *fixture) rows(n int, change ...func(*flow.NewRun)) flow.CallingStep {
	w.t.Helper()
	change = append(change, func(n *flow.NewRun) { n.Run.Trigger = flow.TriggerBatch })
	run := w.ask(change...)
	w.letWait(run)
	step := flow.CallingStep{RunID: run.ID, Path: "ask"}
	w.must(w.BeginChildren(w.ctx, &flow.Children{
		WorkspaceID: ws, Caller: step, RootRunID: run.ID, Depth: 1, FlowID: w.flow.ID, DocumentHash: run.DocumentHash, Concurrency: 3, KeepErrors: true,
	}, flow.ChildTemplate{KeyID: run.KeyID, Save: true, TimeoutMicros: time.Hour.Microseconds(), Nodes: 1, Batch: true}))
	var items []flow.ChildItem
	for i := range n {
		items = append(items, flow.ChildItem{Item: i, Inputs: value.FromMap(map[string]any{"n": i})})
	}
	w.must(w.AddChildItems(w.ctx, step, items))
	_, err := w.StartChildren(w.ctx, step, n, 0, 0)
	w.must(err)
	return step
}

func TestBatch_rows_count_against_the_runs_of_a_day(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		k, byKey := w.key(4, 0)
		w.limit(flow.Limits{RunsPerDay: 9})
		step := w.rows(7, byKey)
		wantEqual(t, "at first", w.counted(step), "4 3 0 0")
		for i := range 3 {
			w.endChild(step, i, flow.RunSucceeded)
		}
		wantEqual(t, "with the key's budget used up", w.counted(step), "3 1 3 0")
		b, err := w.UsedUpBudget(w.ctx, w.find(step.RunID))
		w.must(err)
		wantEqual(t, "budget", *b, flow.Budget{KeyID: k.ID, Name: k.Name, Unit: flow.BudgetRuns, Limit: 4, Used: 4})
		w.endChild(step, 3, flow.RunSucceeded)
		_, err = w.RecountChildren(w.ctx, step)
		w.must(err)
		wantEqual(t, "on the same day", w.counted(step), "3 0 4 0")
		w.clock.move(24 * time.Hour)
		_, err = w.RecountChildren(w.ctx, step)
		w.must(err)
		wantEqual(t, "on the next day", w.counted(step), "0 3 4 0")
		b, err = w.UsedUpBudget(w.ctx, w.find(step.RunID))
		w.must(err)
		wantEqual(t, "a used-up budget", b, nil)
	}, capacity(20))
}

func TestBatch_stops_when_it_may_cost_no_more(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		step := w.rows(9)
		results, err := w.ReadChildren(w.ctx, ws, step, 0, 1)
		w.must(err)
		run, err := w.FindRun(w.ctx, ws, "", results[0].RunID)
		w.must(err)
		run.State, run.StartedAt, run.EndedAt, run.Error = flow.RunFailed, w.clock.Now(), w.clock.Now(), flow.Errorf(flow.CodeBudgetExceeded, "Used up.")
		w.must(w.WriteRun(w.ctx, flow.RunWrite{Run: run, End: true}))
		wantEqual(t, "counted", w.counted(step), "0 2 0 1")
		c, err := w.FindChildren(w.ctx, step)
		w.must(err)
		wantEqual(t, "not started", c.NotStarted(), 6)
	}, capacity(20))
}

// TestBatch_leaves_slots_to_other_runs: one row stays in progress while other runs are queued, so that the batch continues.
func TestBatch_leaves_slots_to_other_runs(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		w.limit(flow.Limits{MaxRunning: 3})
		step := w.rows(9)
		wantEqual(t, "at first", w.counted(step), "6 3 0 0")
		a, b := w.start(), w.start() // queued
		w.endChild(step, 0, flow.RunSucceeded)
		w.endChild(step, 1, flow.RunSucceeded)
		wantEqual(t, "with other runs", w.counted(step), "6 1 2 0")
		wantEqual(t, "jobs of the others", w.queue.count(a.ID)+w.queue.count(b.ID), 2)
		c := w.start()
		w.endChild(step, 2, flow.RunSucceeded)
		wantEqual(t, "with one queued", w.counted(step), "5 1 3 0")
		wantEqual(t, "its job", w.queue.count(c.ID), 1)
		for _, r := range []*flow.Run{a, b, c} {
			w.must(w.finish(w.take(r.ID), flow.RunSucceeded))
		}
		w.endChild(step, 3, flow.RunSucceeded)
		wantEqual(t, "without them", w.counted(step), "2 3 4 0")
	}, capacity(20))
}

func TestInBatch_finds_the_rows_of_batches(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		step := w.rows(1)
		row, err := w.ReadChildren(w.ctx, ws, step, 0, 1)
		w.must(err)
		_, other := w.children(1, true)
		item, err := w.ReadChildren(w.ctx, ws, other, 0, 1)
		w.must(err)
		var got []bool
		for _, id := range []flow.RunID{row[0].RunID, step.RunID, item[0].RunID, other.RunID} {
			in, err := w.InBatch(w.ctx, ws, id)
			w.must(err)
			got = append(got, in)
		}
		wantEqual(t, "in a batch", fmt.Sprint(got), "[true true false false]")
	}, capacity(20))
}

// TestBatch_starts_the_next_row_in_few_statements compares the statements in which a row of a batch ends with those in which an item of a map does.
func TestBatch_starts_the_next_row_in_few_statements(t *testing.T) {
	t.Parallel()
	server := dbtest.NewServer(t, dbtest.ServerConfig{})
	cfg := server.Config("rows")
	proxy := dbtest.NewProxy(t, "unix", server.Socket())
	cfg.Instance, cfg.DatabaseURL = "test-rows", proxy.URL("rows")
	c := &clock{now: time.Date(2026, 3, 14, 15, 9, 26, 535_000_000, time.UTC)}
	cfg.Now = c.Now
	capacity(100)(&cfg)
	w := newFixture(t, openStore(t, cfg), c)
	w.limit(flow.Limits{MaxRunning: 50})
	_, byKey := w.key(0, 0)
	const ends = 20
	batch := w.rows(3+2*ends, byKey)
	_, items := w.childrenOf(w.flow.ID, 3+2*ends, true, byKey)
	var mu sync.Mutex
	var statements []string
	count := func(step flow.CallingStep) int {
		for i := range 2 * ends {
			if i == ends { // then the number of runs is known
				mu.Lock()
				statements = nil
				mu.Unlock()
			}
			run := w.childRun(step, i)
			proxy.LoseAnswers(func(sql string) bool {
				mu.Lock()
				defer mu.Unlock()
				statements = append(statements, sql)
				return false
			})
			w.must(w.WriteRun(w.ctx, flow.RunWrite{Run: run, End: true}))
			proxy.LoseAnswers(nil)
		}
		mu.Lock()
		defer mu.Unlock()
		return len(statements)
	}
	ofItems := count(items)
	ofRows := count(batch)
	t.Logf("%d statements for %d items of a map, %d for as many rows of a batch", ofItems, ends, ofRows)
	if ofRows > ofItems+ends/2 { // those that are run once a second
		t.Errorf("the rows of a batch take %.1f statements each, the items of a map %.1f; the last row:\n%s", float64(ofRows)/ends, float64(ofItems)/ends, strings.Join(statements[max(0, len(statements)-ofRows/ends):], "\n"))
	}
	wantEqual(t, "counted", w.counted(batch), fmt.Sprintf("%d 3 %d 0", 0, 2*ends))
}
