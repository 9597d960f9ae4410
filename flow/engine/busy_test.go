package engine

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"sluice/flow"
	"sluice/flow/busy"
)

// TestEngine_marks_run_busy_while_step_works runs one step of each class and checks the mark
// from inside the step.
func TestEngine_marks_run_busy_while_step_works(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		class  flow.Class
		report []bool // what the step's calls report, in order
		want   bool
	}{
		{flow.Inline, nil, true},
		{flow.Compute, nil, true},
		{flow.Outside, nil, false},
		{flow.Outside, []bool{false}, false},
		{flow.Outside, []bool{false, true}, true},
		{flow.Outside, []bool{false, true, true, false}, false},
	} {
		t.Run(fmt.Sprint(c.class, c.report), func(t *testing.T) {
			t.Parallel()
			marks := busy.NewMarks(make([]byte, busy.RegionSize(4)))
			var report func(bool)
			inside := make(chan []string, 1)
			g := graphOf(t, "p probe {}", flow.Kind{Name: "probe", Title: "Probe", Group: "test", Summary: "For tests.", Class: c.class, Outputs: []flow.Port{{Name: "value", Type: flow.TypeAny}},
				Run: func(context.Context, *flow.In) (flow.Out, error) {
					for _, working := range c.report {
						report(working)
					}
					inside <- marks.Busy()
					return flow.Out{Outputs: map[string]any{"value": true}}, nil
				}})
			e := &Engine{Journal: devNull{}, Now: time.Now, Report: func(err error) { t.Error(err) }, Secrets: &flow.Resolver{}, Busy: marks,
				Calls: func(ctx context.Context, _ func(context.Context) error, working func(bool)) context.Context {
					report = working
					return ctx
				}}
			run := &flow.Run{ID: "run_x", State: flow.RunQueued, Attempt: 1, Timeout: flow.RunTimeout}
			if _, err := e.Execute(t.Context(), NewPlan(g, run, nil, nil), Signals{}); err != nil {
				t.Fatal(err)
			}
			if got := slices.Contains(<-inside, "run_x"); got != c.want {
				t.Errorf("busy is %v, want %v", got, c.want)
			}
			if after := marks.Busy(); len(after) > 0 {
				t.Errorf("busy after its end: %v", after)
			}
			if report != nil {
				report(true)
				if after := marks.Busy(); len(after) > 0 {
					t.Errorf("a late report marks %v", after)
				}
			}
		})
	}
}
