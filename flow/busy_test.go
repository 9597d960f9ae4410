package flow

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"
)

func TestBusyMarks(t *testing.T) {
	t.Parallel()
	region := make([]byte, BusyRegionSize(2))
	marks := NewBusyMarks(region)
	a, b := marks.Open("run_a"), marks.Open("run_b")
	if third := marks.Open("run_c"); third != nil {
		t.Error("a third run got one of two slots")
	}
	for i, c := range []struct {
		do   func()
		busy []string
	}{
		{func() {}, nil},
		{a.Enter, []string{"run_a"}},
		{a.Enter, []string{"run_a"}},
		{b.Enter, []string{"run_a", "run_b"}},
		{a.Leave, []string{"run_a", "run_b"}},
		{a.Leave, []string{"run_b"}},
		{b.Close, nil},
		{func() { marks.Open("run_c").Enter() }, []string{"run_c"}},
	} {
		c.do()
		for what, got := range map[string][]string{"Busy": marks.Busy(), "ReadBusy": ReadBusy(slices.Clone(region))} {
			slices.Sort(got)
			if !slices.Equal(got, c.busy) {
				t.Errorf("%d: %s returns %v, want %v", i, what, got, c.busy)
			}
		}
	}
	var none *BusyMark
	none.Enter()
	none.Leave()
	none.Close()
}

// TestEngineMarksBusySteps runs one step of each class and looks at the mark
// from within.
func TestEngineMarksBusySteps(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		class  Class
		report []bool // what the step's calls report, in order
		want   bool
	}{
		{Inline, nil, true},
		{Compute, nil, true},
		{Outside, nil, false},
		{Outside, []bool{false}, false},
		{Outside, []bool{false, true}, true},
		{Outside, []bool{false, true, true, false}, false},
	} {
		t.Run(fmt.Sprint(c.class, c.report), func(t *testing.T) {
			t.Parallel()
			marks := NewBusyMarks(make([]byte, BusyRegionSize(4)))
			var report func(bool)
			inside := make(chan []string, 1)
			g := graphOf(t, "p probe {}", Kind{Name: "probe", Title: "Probe", Group: "test", Summary: "For tests.", Class: c.class, Outputs: []Port{{Name: "value", Type: TypeAny}},
				Run: func(context.Context, *In) (Out, error) {
					for _, working := range c.report {
						report(working)
					}
					inside <- marks.Busy()
					return Out{Outputs: map[string]any{"value": true}}, nil
				}})
			e := &Engine{Journal: devNull{}, Now: time.Now, Report: func(err error) { t.Error(err) }, Secrets: &Resolver{}, Busy: marks,
				Calls: func(ctx context.Context, _ func(context.Context) error, working func(bool)) context.Context {
					report = working
					return ctx
				}}
			run := &Run{ID: "run_x", State: RunQueued, Attempt: 1, Timeout: RunTimeout}
			if _, err := e.Carry(t.Context(), NewPlan(g, run, nil, nil), Signals{}); err != nil {
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

func BenchmarkBusyMark(b *testing.B) {
	mark := NewBusyMarks(make([]byte, BusyRegionSize(1))).Open("run_a")
	for b.Loop() {
		mark.Enter()
		mark.Leave()
	}
}
