package jobs_test

import (
	"context"
	"strings"
	"testing"

	"sluice/db"
	"sluice/flow"
)

// twoGates has a step at the gate, one after it, and one beside both that has a
// problem.
const twoGates = `{"schema":"sluice.flow/v1","name":"Gates","nodes":[
 {"id":"a","kind":"input","config":{"name":"x"}},{"id":"g1","kind":"gate","config":{}},{"id":"g2","kind":"gate","config":{}},
 {"id":"o","kind":"output","config":{"name":"y"}},{"id":"b","kind":"input","config":{"name":"z"}},{"id":"late","kind":"output","config":{"name":"late"}}],
 "edges":[{"from":"a.value","to":"g1.value"},{"from":"g1.value","to":"g2.value"},{"from":"g2.value","to":"o.value"},{"from":"b.value","to":"late.value"}]}`

func (w *world) pin(node string, value any) {
	w.t.Helper()
	if err := w.store.SavePin(context.Background(), flow.DefaultWorkspace, w.flowID, flow.Pin{Node: node, Outputs: map[string]any{"value": value}}); err != nil {
		w.t.Fatal(err)
	}
}

func try(until string) func(*flow.Start) {
	return func(s *flow.Start) { s.Trigger, s.Trial = flow.TriggerBuilder, &flow.Trial{Until: until} }
}

// wantStates compares a line of "node state" for every step of a run.
func (w *world) wantStates(run *flow.Run, want string) {
	w.t.Helper()
	steps, err := w.store.FindSteps(context.Background(), run.WorkspaceID, run.ID)
	if err != nil {
		w.t.Fatal(err)
	}
	var list []string
	for _, s := range steps {
		list = append(list, s.Path+" "+string(s.State))
	}
	if got := strings.Join(list, ", "); got != want {
		w.t.Errorf("steps %s, want %s", got, want)
	}
}

func TestTrialRunsUntilANode(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		w := open(t, cfg, twoGates).start()
		w.gate.let <- nil
		run := w.ended(w.begin(try("g1")))
		if w.wantStates(run, "a succeeded, g1 succeeded"); run.State != flow.RunSucceeded || !run.Draft || run.Version != 0 || run.Progress.Total != 2 {
			t.Errorf("%+v", run)
		}
		again, err := w.runner.Rerun(context.Background(), flow.Rerun{Start: flow.Start{WorkspaceID: run.WorkspaceID, FlowID: run.FlowID}, ParentRunID: run.ID})
		if err != nil {
			t.Fatal(err)
		}
		w.wantStates(w.ended(again.Run), "a reused, g1 reused")
	})
}

func TestTrialUsesPins(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		w := open(t, cfg, twoGates).start()
		w.pin("g1", "pinned")
		w.gate.let <- nil
		run := w.ended(w.begin(try("o"), func(s *flow.Start) { s.Given = nil })) // nothing asks for x
		w.wantStates(run, "a skipped, g1 reused, g2 succeeded, o succeeded")
		if run.Outputs["y"] != "pinned" || run.Seq < 4 {
			t.Errorf("%v, seq %d", run.Outputs, run.Seq)
		}
		w.gate.let <- nil
		w.gate.let <- nil
		version := w.ended(w.begin(func(s *flow.Start) { s.Given = map[string]any{"x": "real", "z": "z"} }))
		if version.Outputs["y"] != "real" {
			t.Errorf("a run of the version gave %v", version.Outputs)
		}
		draft := w.begin(func(s *flow.Start) { s.Options.Draft, s.Given = true, map[string]any{"x": "real", "z": "z"} })
		w.gate.let <- nil
		w.gate.let <- nil
		if draft = w.ended(draft); draft.Outputs["y"] != "real" {
			t.Errorf("a run of the draft by API gave %v", draft.Outputs)
		}
	})
}

// A crash right after the run was accepted, and another in the middle of it,
// leave what is pinned as it is, although the pin is gone by then.
func TestTrialSurvivesRestarts(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		w := open(t, cfg, twoGates)
		w.pin("g1", "pinned")
		run := w.begin(try("o"), func(s *flow.Start) { s.Given = nil })
		if err := w.store.RemovePin(context.Background(), run.WorkspaceID, run.FlowID, "g1"); err != nil {
			t.Fatal(err)
		}
		w.wire() // the process that accepted it is gone
		w.start()
		if key := <-w.gate.begun; key != run.ID+":g2" {
			t.Fatalf("%s began", key)
		}
		if err := drain(w.runner, 0); err != nil {
			t.Fatal(err)
		}
		w.wire()
		w.start()
		<-w.gate.begun
		w.gate.let <- nil
		end := w.ended(run)
		w.wantStates(end, "a skipped, g1 reused, g2 succeeded, o succeeded")
		if end.Outputs["y"] != "pinned" || end.Progress.Done != 4 {
			t.Errorf("%v, progress %+v", end.Outputs, end.Progress)
		}
	})
}

func TestTrialAgainUsesTheDraft(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		w := open(t, cfg, twoGates).start()
		w.gate.let <- nil
		w.gate.let <- nil
		parent := w.ended(w.begin(try("o")))
		longer := strings.Replace(twoGates, `{"id":"late","kind":"output","config":{"name":"late"}}`, `{"id":"late","kind":"output","config":{"name":"new"}}`, 1)
		longer = strings.Replace(longer, `"b","kind":"input","config":{"name":"z"}`, `"b","kind":"input","config":{"name":"z","default":"d"}`, 1)
		if err := w.store.UpdateDraft(context.Background(), parent.WorkspaceID, parent.FlowID, "Gates", "", []byte(longer)); err != nil {
			t.Fatal(err)
		}
		w.gate.let <- nil
		s := flow.Start{WorkspaceID: parent.WorkspaceID, FlowID: parent.FlowID, Trigger: flow.TriggerBuilder, Trial: &flow.Trial{}}
		again, err := w.runner.Rerun(context.Background(), flow.Rerun{Start: s, ParentRunID: parent.ID, From: "g2"})
		if err != nil {
			t.Fatal(err)
		}
		run := w.ended(again.Run)
		w.wantStates(run, "a reused, b succeeded, g1 reused, g2 succeeded, late succeeded, o succeeded")
		if !run.Draft || run.Trigger != flow.TriggerBuilder || run.ParentRunID != parent.ID || run.Outputs["new"] != "d" {
			t.Errorf("%+v", run)
		}
	})
}

func TestTrialInputs(t *testing.T) {
	t.Parallel()
	w := open(t, sqliteConfig(t), twoGates)
	broken := strings.Replace(twoGates, `,{"from":"b.value","to":"late.value"}`, "", 1) // late gets nothing
	if err := w.store.UpdateDraft(context.Background(), flow.DefaultWorkspace, w.flowID, "Gates", "", []byte(broken)); err != nil {
		t.Fatal(err)
	}
	w.pin("g1", "pinned")
	for _, tt := range []struct{ until, inputs, problem string }{
		{"", "", "late"}, {"late", "", "late"}, {"g1", "", ""}, {"o", "", ""}, {"a", "x", ""}, {"b", "z", ""}, {"nobody", "", "nobody"},
	} {
		t.Run("until "+tt.until, func(t *testing.T) {
			inputs, err := w.runner.TrialInputs(context.Background(), flow.DefaultWorkspace, w.flowID, tt.until)
			var names []string
			for _, in := range inputs {
				names = append(names, in.Name)
			}
			if got := strings.Join(names, " "); got != tt.inputs {
				t.Errorf("inputs %q, want %q", got, tt.inputs)
			}
			if (err != nil) != (tt.problem != "") || err != nil && !strings.Contains(err.Error(), tt.problem) {
				t.Errorf("error %v, want one about %q", err, tt.problem)
			}
		})
	}
}
