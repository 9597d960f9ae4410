package jobs_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"sluice/db"
	"sluice/flow"
	"sluice/flow/value"
)

// twoGatesFlow has two gates in a row, and an unconnected branch.
const twoGatesFlow = `{"schema":"sluice.flow/v1","name":"Gates","nodes":[
 {"id":"a","kind":"input","config":{"name":"x"}},{"id":"g1","kind":"gate","config":{}},{"id":"g2","kind":"gate","config":{}},
 {"id":"o","kind":"output","config":{"name":"y"}},{"id":"b","kind":"input","config":{"name":"z"}},{"id":"late","kind":"output","config":{"name":"late"}}],
 "edges":[{"from":"a.value","to":"g1.value"},{"from":"g1.value","to":"g2.value"},{"from":"g2.value","to":"o.value"},{"from":"b.value","to":"late.value"}]}`

func (fx *fixture) pin(node string, value any) {
	fx.t.Helper()
	if err := fx.store.SavePin(context.Background(), flow.DefaultWorkspace, fx.flowID, flow.Pin{Node: node, Outputs: map[string]any{"value": value}}); err != nil {
		fx.t.Fatal(err)
	}
}

// testRun starts a test run of the draft in the builder.
func testRun(until string) func(*flow.Start) {
	return func(s *flow.Start) { s.Trigger, s.TestRun = flow.TriggerBuilder, &flow.TestRun{Until: until} }
}

// wantStates compares the steps of a run, written as "node state, node state …".
func (fx *fixture) wantStates(run *flow.Run, want string) {
	fx.t.Helper()
	steps, err := fx.store.FindSteps(context.Background(), run.WorkspaceID, run.ID)
	if err != nil {
		fx.t.Fatal(err)
	}
	var list []string
	for _, s := range steps {
		list = append(list, s.Path+" "+string(s.State))
	}
	if got := strings.Join(list, ", "); got != want {
		fx.t.Errorf("steps %s, want %s", got, want)
	}
}

func TestDraftRun_until_node(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		fx := newFixture(t, cfg, twoGatesFlow).start()
		fx.gate.release <- nil
		run := fx.awaitEnd(fx.startRun(testRun("g1")))
		if fx.wantStates(run, "a succeeded, g1 succeeded"); run.State != flow.RunSucceeded || !run.Draft || run.Version != 0 || run.Progress.Total != 2 {
			t.Errorf("%+v", run)
		}
		rerun, err := fx.runner.Rerun(context.Background(), flow.Rerun{Start: flow.Start{WorkspaceID: run.WorkspaceID, FlowID: run.FlowID}, ParentRunID: run.ID})
		if err != nil {
			t.Fatal(err)
		}
		fx.wantStates(fx.awaitEnd(rerun.Run), "a reused, g1 reused")
	})
}

func TestDraftRun_uses_pins(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		fx := newFixture(t, cfg, twoGatesFlow).start()
		fx.pin("g1", "pinned")
		fx.gate.release <- nil
		run := fx.awaitEnd(fx.startRun(testRun("o"), func(s *flow.Start) { s.Given = nil })) // x is not required
		fx.wantStates(run, "a skipped, g1 reused, g2 succeeded, o succeeded")
		if run.Outputs.Get("y") != "pinned" || run.Seq < 4 {
			t.Errorf("%v, seq %d", run.Outputs, run.Seq)
		}
		fx.gate.release <- nil
		fx.gate.release <- nil
		version := fx.awaitEnd(fx.startRun(func(s *flow.Start) { s.Given = value.FromMap(map[string]any{"x": "real", "z": "z"}) }))
		if version.Outputs.Get("y") != "real" {
			t.Errorf("a run of the version returned %v", version.Outputs)
		}
		draft := fx.startRun(func(s *flow.Start) {
			s.Options.Draft, s.Given = true, value.FromMap(map[string]any{"x": "real", "z": "z"})
		})
		fx.gate.release <- nil
		fx.gate.release <- nil
		if draft = fx.awaitEnd(draft); draft.Outputs.Get("y") != "real" {
			t.Errorf("a run of the draft through the API returned %v", draft.Outputs)
		}
	})
}

// Two restarts, one right after the run was accepted and one in the middle of it, keep
// the pinned output, although the pin was removed in between.
func TestDraftRun_survives_restarts(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		fx := newFixture(t, cfg, twoGatesFlow)
		fx.pin("g1", "pinned")
		run := fx.startRun(testRun("o"), func(s *flow.Start) { s.Given = nil })
		if err := fx.store.RemovePin(context.Background(), run.WorkspaceID, run.FlowID, "g1"); err != nil {
			t.Fatal(err)
		}
		fx.newRunner() // restarts the process
		fx.start()
		if key := <-fx.gate.started; key != string(run.ID)+":g2" {
			t.Fatalf("%s started", key)
		}
		if err := drain(fx.runner, 0); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		fx.newRunner()
		fx.start()
		<-fx.gate.started
		fx.gate.release <- nil
		end := fx.awaitEnd(run)
		fx.wantStates(end, "a skipped, g1 reused, g2 succeeded, o succeeded")
		if end.Outputs.Get("y") != "pinned" || end.Progress.Done != 4 {
			t.Errorf("%v, progress %+v", end.Outputs, end.Progress)
		}
	})
}

func TestRerun_of_draft_run_uses_current_draft(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		fx := newFixture(t, cfg, twoGatesFlow).start()
		fx.gate.release <- nil
		fx.gate.release <- nil
		parent := fx.awaitEnd(fx.startRun(testRun("o")))
		longer := strings.Replace(twoGatesFlow, `{"id":"late","kind":"output","config":{"name":"late"}}`, `{"id":"late","kind":"output","config":{"name":"new"}}`, 1)
		longer = strings.Replace(longer, `"b","kind":"input","config":{"name":"z"}`, `"b","kind":"input","config":{"name":"z","default":"d"}`, 1)
		if err := fx.store.UpdateDraft(context.Background(), parent.WorkspaceID, parent.FlowID, "Gates", "", []byte(longer)); err != nil {
			t.Fatal(err)
		}
		fx.gate.release <- nil
		s := flow.Start{WorkspaceID: parent.WorkspaceID, FlowID: parent.FlowID, Trigger: flow.TriggerBuilder, TestRun: &flow.TestRun{}}
		again, err := fx.runner.Rerun(context.Background(), flow.Rerun{Start: s, ParentRunID: parent.ID, From: "g2"})
		if err != nil {
			t.Fatal(err)
		}
		run := fx.awaitEnd(again.Run)
		fx.wantStates(run, "a reused, b succeeded, g1 reused, g2 succeeded, late succeeded, o succeeded")
		if !run.Draft || run.Trigger != flow.TriggerBuilder || run.ParentRunID != parent.ID || run.Outputs.Get("new") != "d" {
			t.Errorf("%+v", run)
		}
	})
}

func TestTrialInputs(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, sqliteConfig(t), twoGatesFlow)
	broken := strings.Replace(twoGatesFlow, `,{"from":"b.value","to":"late.value"}`, "", 1) // late is not connected
	if err := fx.store.UpdateDraft(context.Background(), flow.DefaultWorkspace, fx.flowID, "Gates", "", []byte(broken)); err != nil {
		t.Fatal(err)
	}
	fx.pin("g1", "pinned")
	for _, tt := range []struct{ until, inputs, problem string }{
		{"", "", "late"}, {"late", "", "late"}, {"g1", "", ""}, {"o", "", ""}, {"a", "x", ""}, {"b", "z", ""}, {"nobody", "", "nobody"},
	} {
		t.Run("until "+tt.until, func(t *testing.T) {
			inputs, err := fx.runner.DraftInputs(context.Background(), flow.DefaultWorkspace, fx.flowID, tt.until)
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
