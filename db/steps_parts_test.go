package db_test

import (
	"strings"
	"testing"

	"sluice/db/core"
	"sluice/flow"
)

// TestChangedSteps_are_those_of_later_events reads the steps that a stream has not sent yet, and those
// whose text may continue.
func TestChangedSteps_are_those_of_later_events(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		large := strings.Repeat("x", 1_300_000)
		r := w.take(w.start().ID)
		write := func(path string, state flow.StepState, seq int64) {
			s := step(path)
			s.State, s.Seq, s.OutputSeq, s.Outputs = state, seq, 0, map[string]any{"text": large}
			s.Bulky = path == "large"
			w.must(w.WriteRun(w.ctx, flow.RunWrite{Run: r, Steps: []flow.Step{s}}))
		}
		write("ended", flow.StepSucceeded, 10)
		write("large", flow.StepSucceeded, 20)
		write("running", flow.StepRunning, 11)
		write("waiting", flow.StepWaiting, 12)
		for after, want := range map[int64]string{-1: "ended large running waiting", 9: "ended large running waiting", 10: "large running waiting", 20: "running waiting"} {
			steps, err := w.FindChangedSteps(w.ctx, ws, r.ID, after)
			w.must(err)
			var paths []string
			for _, s := range steps {
				paths = append(paths, s.Path)
				wantEqual(t, "the outputs of "+s.Path, s.Outputs["text"], any(large))
			}
			wantEqual(t, "the steps", strings.Join(paths, " "), want)
		}
	})
}

// TestStepParts stores outputs that are too large for the row of their step apart from it,
// reads them back, counts them, and erases them with the run.
func TestStepParts(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		large := strings.Repeat("ä", 1_300_000) // a part ends within a character
		r := w.take(w.start().ID)
		bulky, plain := step("each"), step("plain")
		bulky.Bulky, bulky.Outputs, plain.Outputs = true, map[string]any{"results": []any{"?"}}, map[string]any{"text": large}
		w.must(w.WriteRun(w.ctx, flow.RunWrite{Run: r, Steps: []flow.Step{bulky}}))
		bulky.Outputs = map[string]any{"results": []any{large}}
		w.must(w.WriteRun(w.ctx, flow.RunWrite{Run: r, Steps: []flow.Step{bulky, plain}}))
		w.must(w.WriteRun(w.ctx, flow.RunWrite{Run: r, Steps: []flow.Step{bulky}})) // as after a change of its state
		wantEqual(t, "parts", w.number("SELECT count(*) FROM step_parts"), 3)
		wantEqual(t, "the row", w.number("SELECT octet_length(outputs) FROM steps WHERE path = 'each'"), 1)
		steps, err := w.FindSteps(w.ctx, ws, r.ID)
		w.must(err)
		for _, s := range steps {
			want := bulky.Outputs
			if s.Path == "plain" {
				want = plain.Outputs
			}
			wantEqual(t, "outputs of "+s.Path, flow.EqualValues(s.Outputs, want), true)
		}
		w.wantEqualStorage()
		w.must(w.finish(r, flow.RunSucceeded))
		w.wantEqualStorage()
		w.must(w.EraseRun(w.ctx, ws, r.FlowID, r.ID, flow.CodeResultNotSaved))
		wantEqual(t, "parts after the erasure", w.number("SELECT count(*) FROM step_parts"), 0)
		w.wantEqualStorage()
	})
}

// wantEqualStorage checks that the counted storage equals the stored bytes, including the
// parts of steps.
func (w *fixture) wantEqualStorage() {
	w.t.Helper()
	parts := w.number("SELECT COALESCE(sum(octet_length(content)), 0) FROM step_parts")
	wantEqual(w.t, "stored bytes", w.storage(ws).Used.Bytes, w.count()[ws].Bytes+parts)
}

// number returns the number that a query selects.
func (w *fixture) number(query string) (n int64) {
	w.t.Helper()
	w.must(w.Write(w.ctx, true, func(tx *core.Tx) error { return tx.DBTX.QueryRowContext(w.ctx, query).Scan(&n) }))
	return n
}

// TestStepHeads_are_those_inside_of_a_step reads sub-steps in their order, without their content, and
// leaves them out of the steps of nodes.
func TestStepHeads_are_those_inside_of_a_step(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		r := w.take(w.start().ID)
		var rows []flow.Step
		for i, path := range []string{"agent", "agent.10", "agent.2", "agent.2.1", "agents", "agen_.1"} {
			s := step(path)
			s.Seq, s.Outputs, s.Usage.CostNanoUSD = int64(10+i), map[string]any{"text": "x"}, 7
			rows = append(rows, s)
		}
		w.must(w.WriteRun(w.ctx, flow.RunWrite{Run: r, Steps: rows}))
		paths := func(steps []flow.Step, err error) string {
			w.must(err)
			var list []string
			for i := range steps {
				list = append(list, steps[i].Path)
			}
			return strings.Join(list, " ")
		}
		if got := paths(w.FindNodeSteps(w.ctx, ws, r.ID)); got != "agent agents" {
			t.Errorf("steps of nodes: %s", got)
		}
		heads, err := w.FindStepHeads(w.ctx, ws, r.ID, "agent.")
		if got := paths(heads, err); got != "agent.2 agent.2.1 agent.10" {
			t.Fatalf("inside of the agent: %s", got)
		}
		if h := heads[0]; h.Outputs != nil || h.Usage.CostNanoUSD != 7 || h.State != step("x").State {
			t.Errorf("the head is %+v", h)
		}
		whole, err := w.FindStep(w.ctx, ws, r.ID, "agent.2.1")
		w.must(err)
		if whole == nil || whole.Outputs["text"] != "x" {
			t.Errorf("the step is %+v", whole)
		}
		if none, err := w.FindStep(w.ctx, ws, r.ID, "agent.3"); none != nil || err != nil {
			t.Errorf("a step that does not exist is %v, %v", none, err)
		}
	})
}
