package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/flow"
	"sluice/flow/flowtest"
	"sluice/flow/sorting"
	"sluice/flow/value"
)

// expanding returns a kind with an Expand.
func expanding(f func(in *flow.In, so *flow.Expansion) (flow.Next, error)) flow.Kind {
	return flow.Kind{
		Name: "grow", Title: "Grow", Group: "Test", Summary: "Has sub-steps.", Expand: f,
		Inputs:  []flow.Port{{Name: "values", Type: flow.TypeAny, List: true}},
		Outputs: []flow.Port{{Name: "text", Type: flow.TypeText}},
	}
}

var workKind = flowtest.WorkKind("work", flow.Outside)

// rows lists the recorded steps with their states.
func (s *fixture) rows() string {
	var list []string
	for _, path := range sorting.Keys(s.disk.rows) {
		list = append(list, fmt.Sprintf("%s %s", path, s.disk.rows[path].step.State))
	}
	return strings.Join(list, ", ")
}

func TestExpand_executes_sub_steps_like_steps(t *testing.T) {
	inFakeTime(t, func(t *testing.T, passed func() time.Duration) {
		var order []string
		k := expanding(func(_ *flow.In, so *flow.Expansion) (next flow.Next, err error) {
			order = append(order, strings.Join(sorting.Keys(so.Done), " "))
			switch {
			case so.Done["1"] == nil:
				next.Steps = []flow.SubStep{{Name: "1", Kind: &workKind, Config: map[string]any{"takes_s": 3.0}}}
			case len(so.Done) < 3: // both take ten seconds, at the same time
				for _, name := range []string{"1.1", "1.2"} {
					if so.Done[name] == nil {
						next.Steps = append(next.Steps, flow.SubStep{Name: name, Kind: &workKind, Config: map[string]any{"takes_s": 10.0}})
					}
				}
			default:
				next.Outputs = map[string]any{"text": flow.Text(so.Done["1.2"].Outputs["text"])}
			}
			return next, nil
		})
		s := newFixture(t, `
			in input {"name": "x"}
			a grow
			out output {"name": "y"}
			in.value -> a.values
			a.text -> out.value`, k)
		run := s.finish()
		s.wantEnd(flow.RunSucceeded, "")
		wantTime(t, passed(), 13*time.Second)
		if got := s.rows(); got != "a succeeded, a.1 succeeded, a.1.1 succeeded, a.1.2 succeeded, in succeeded, out succeeded" {
			t.Errorf("rows: %s", got)
		}
		if len(order) != 4 || order[0] != "" || order[1] != "1" || order[3] != "1 1.1 1.2" {
			t.Errorf("called with %q", order)
		}
		if run.Progress != (flow.Progress{Done: 3, Total: 3}) || run.Usage.InputTokens != 3*flowtest.OneCall.InputTokens || flow.Text(run.Outputs.Get("y")) == "" {
			t.Errorf("progress %+v, usage %+v, outputs %s", run.Progress, run.Usage, value.Text(run.Outputs))
		}
	})
}

func TestExpand_reports_panic_as_internal_error(t *testing.T) {
	inFakeTime(t, func(t *testing.T, _ func() time.Duration) {
		s := newFixture(t, "a grow", expanding(func(*flow.In, *flow.Expansion) (flow.Next, error) { panic("secret detail") }))
		run := s.finish()
		s.wantEnd(flow.RunFailed, flow.CodeInternal)
		if strings.Contains(run.Error.Message, "secret") || run.Error.Node != "a" || len(s.reports) != 1 || !strings.Contains(s.reports[0], "secret detail") {
			t.Errorf("%+v, reports %q", run.Error, s.reports)
		}
	})
}

func TestExpand_bounds_sub_steps(t *testing.T) {
	inFakeTime(t, func(t *testing.T, _ func() time.Duration) {
		note := flowtest.WorkKind("note", flow.Inline)
		s := newFixture(t, "a grow", expanding(func(_ *flow.In, so *flow.Expansion) (flow.Next, error) {
			var next flow.Next
			for i := range 1000 {
				if name := fmt.Sprintf("%d.%d", len(so.Done)/1000, i); so.Done[name] == nil {
					next.Steps = append(next.Steps, flow.SubStep{Name: name, Kind: &note})
				}
			}
			return next, nil
		}))
		s.finish()
		s.wantEnd(flow.RunFailed, flow.CodeOutputTooLarge)
		if n := len(s.disk.rows); n > flow.MaxSubSteps+1 {
			t.Errorf("%d rows", n)
		}
	})
}

func TestExpand_that_waits_for_nothing_fails(t *testing.T) {
	inFakeTime(t, func(t *testing.T, _ func() time.Duration) {
		s := newFixture(t, "a grow", expanding(func(*flow.In, *flow.Expansion) (flow.Next, error) { return flow.Next{}, nil }))
		s.finish()
		s.wantEnd(flow.RunFailed, flow.CodeInternal)
	})
}

// TestExpand_cancels_sub_steps_that_it_does_not_know_any_more restarts a run with a version of the
// kind that names its sub-steps differently.
func TestExpand_cancels_sub_steps_that_it_does_not_know_any_more(t *testing.T) {
	inFakeTime(t, func(t *testing.T, _ func() time.Duration) {
		name := "old"
		s := newFixture(t, "a grow", expanding(func(_ *flow.In, so *flow.Expansion) (flow.Next, error) {
			if so.Done[name] != nil {
				return flow.Next{Outputs: map[string]any{"text": "done"}}, nil
			}
			return flow.Next{Steps: []flow.SubStep{{Name: name, Kind: &workKind, Config: map[string]any{"takes_s": 10.0}}}}, nil
		}))
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, stop)
		if _, err := s.execute(ctx, Signals{}); err == nil {
			t.Fatal("the worker was not stopped")
		}
		name = "new"
		s.finish()
		s.wantEnd(flow.RunSucceeded, "")
		if got := s.rows(); got != "a succeeded, a.new succeeded, a.old canceled" {
			t.Errorf("rows: %s", got)
		}
	})
}

func TestCompareSubSteps_counts_numbers(t *testing.T) {
	want := []string{"", "ask", "1", "1.1", "1.1.ask", "1.2", "1.10", "2", "7", "7s", "10"}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, flow.CompareSubSteps)
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// turns returns a kind with turns of three seconds, each followed by two calls of ten seconds.
func turns(n int) flow.Kind {
	return expanding(func(_ *flow.In, so *flow.Expansion) (next flow.Next, err error) {
		for turn := range n {
			name := fmt.Sprint(turn + 1)
			if so.Done[name] == nil {
				return flow.Next{Steps: []flow.SubStep{{Name: name, Kind: &workKind, Config: map[string]any{"takes_s": 3.0}}}}, nil
			}
			for _, call := range []string{name + ".1", name + ".2"} {
				if so.Done[call] == nil {
					next.Steps = append(next.Steps, flow.SubStep{Name: call, Kind: &workKind, Config: map[string]any{"takes_s": 10.0}})
				}
			}
			if len(next.Steps) > 0 {
				return next, nil
			}
		}
		return flow.Next{Outputs: map[string]any{"text": "done"}}, nil
	})
}

func TestStopAfterTurn_lets_all_groups_of_sub_steps_end(t *testing.T) {
	ended := "a canceled, a.1 succeeded, a.1.1 succeeded, a.1.2 succeeded"
	for _, tt := range []struct {
		name, flow, want string
		at, end          time.Duration
	}{
		{"while the turn is asked", "a grow", ended, time.Second, 13 * time.Second},
		{"while its calls run", "a grow", ended, 5 * time.Second, 13 * time.Second},
		{"of two", "a grow\nb grow", ended + ", b canceled, b.1 succeeded, b.1.1 succeeded, b.1.2 succeeded", time.Second, 13 * time.Second},
		{"in the last turn", "a grow", "a succeeded, a.1 succeeded, a.1.1 succeeded, a.1.2 succeeded, a.2 succeeded, a.2.1 succeeded, a.2.2 succeeded", 15 * time.Second, 26 * time.Second},
		{"without a turn at work", `b work {"takes_s": 60}`, "b canceled", time.Second, time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inFakeTime(t, func(t *testing.T, passed func() time.Duration) {
				lines := tt.flow
				if tt.name == "in the last turn" {
					lines += "\nb work {\"takes_s\": 60}\na.text -> b.text"
				}
				s := newFixture(t, lines, turns(2), workKind)
				if outcome, err := s.execute(t.Context(), Signals{Stop: after(tt.at)}); outcome != Ended || err != nil {
					t.Fatalf("outcome %d, error %v", outcome, err)
				}
				s.wantEnd(flow.RunCanceled, "")
				wantTime(t, passed(), tt.end)
				if got := s.rows(); got != tt.want {
					t.Errorf("rows: %s\nwant: %s", got, tt.want)
				}
			})
		})
	}
}

// TestStopAfterTurn_survives_a_crash stops a run whose worker dies: the next one ends the turn.
func TestStopAfterTurn_survives_a_crash(t *testing.T) {
	inFakeTime(t, func(t *testing.T, _ func() time.Duration) {
		s := newFixture(t, "a grow", turns(2))
		ctx, die := context.WithCancel(t.Context())
		time.AfterFunc(5*time.Second, die)
		if _, err := s.execute(ctx, Signals{Stop: after(time.Second)}); err == nil {
			t.Fatal("the worker was not stopped")
		}
		s.disk.run.StopRequested = true // as the row says, whatever the worker wrote
		if outcome, err := s.execute(t.Context(), Signals{}); outcome != Ended || err != nil {
			t.Fatalf("outcome %d, error %v", outcome, err)
		}
		s.wantEnd(flow.RunCanceled, "")
		if got := s.rows(); got != "a canceled, a.1 succeeded, a.1.1 succeeded, a.1.2 succeeded" {
			t.Errorf("rows: %s", got)
		}
	})
}
