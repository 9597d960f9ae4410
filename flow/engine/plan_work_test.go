package engine

import (
	"context"
	"fmt"
	"testing"
	"time"

	"sluice/flow"
)

// rounds returns an expanding kind that makes sub-steps one after the other, each with a config.
func rounds(kind *flow.Kind, configs ...map[string]any) flow.Kind {
	return expanding(func(_ *flow.In, so *flow.Expansion) (flow.Next, error) {
		for i, config := range configs {
			if name := fmt.Sprint(i + 1); so.Done[name] == nil {
				return flow.Next{Steps: []flow.SubStep{{Name: name, Kind: kind, Config: config}}}, nil
			}
		}
		return flow.Next{Outputs: map[string]any{"text": "done"}}, nil
	})
}

// TestExpand_works_no_longer_than_its_time_limit: the limit applies to the whole step, not to each sub-step.
func TestExpand_works_no_longer_than_its_time_limit(t *testing.T) {
	inFakeTime(t, func(t *testing.T, passed func() time.Duration) {
		slow := map[string]any{"takes_s": 30.0}
		s := newFixture(t, `
			a grow {} {"timeout_s": 70, "on_error": "route"}
			b call
			c call {"takes_s": 200} {"timeout_s": 3600}
			a.error -> b.values`, rounds(&workKind, slow, slow, slow, slow))
		s.finish()
		s.wantEnd(flow.RunSucceeded, "")
		wantTime(t, passed(), 200*time.Second) // the rest of the run continues
		if got := s.rows(); got != "a failed, a.1 succeeded, a.2 succeeded, a.3 canceled, b succeeded, c succeeded" {
			t.Errorf("rows: %s", got)
		}
		a, third := s.step("a"), s.step("a.3")
		if codeOf(a.Error) != flow.CodeStepTimeout {
			t.Errorf("the error is %+v", a.Error)
		}
		wantTime(t, a.EndedAt.Sub(a.StartedAt), 70*time.Second)
		wantTime(t, third.EndedAt.Sub(third.StartedAt), 10*time.Second)
	})
}

// TestExpand_does_not_count_waiting has sub-steps that wait for ten minutes each and work for 30 seconds, also while
// another node works, and after another worker took over.
func TestExpand_does_not_count_waiting(t *testing.T) {
	for _, other := range []string{"", "c call {\"takes_s\": 1500} {\"timeout_s\": 3600}"} {
		for _, test := range []struct {
			limit int
			state flow.StepState
			took  time.Duration
		}{{130, flow.StepSucceeded, 0}, {70, flow.StepFailed, 70 * time.Second}} {
			t.Run(fmt.Sprint(test.limit, other), func(t *testing.T) {
				inFakeTime(t, func(t *testing.T, _ func() time.Duration) {
					waits := map[string]any{"takes_s": 30.0, "pauses": flow.Number(1), "pause_s": 600.0}
					s := newFixture(t, fmt.Sprintf(`
						a grow {} {"timeout_s": %d, "on_error": "route"}
						%s`, test.limit, other), rounds(&workKind, waits, waits))
					ctx, stop := context.WithCancel(t.Context())
					time.AfterFunc(100*time.Second, stop) // while it waits
					_, _ = s.execute(ctx, Signals{})
					for outcome := Suspended; outcome == Suspended; {
						if at := s.step("a.1").WaitUntil; at.After(time.Now()) {
							time.Sleep(time.Until(at))
						} else if at := s.step("a.2").WaitUntil; at.After(time.Now()) {
							time.Sleep(time.Until(at))
						}
						var err error
						if outcome, err = s.execute(t.Context(), Signals{}); err != nil {
							t.Fatal(err)
						}
					}
					a := s.step("a")
					if a.State != test.state {
						t.Fatalf("it is %s: %+v, rows: %s", a.State, a.Error, s.rows())
					}
					if test.state == flow.StepFailed {
						wantTime(t, a.EndedAt.Sub(a.StartedAt), 600*time.Second+test.took)
					}
				})
			})
		}
	}
}
