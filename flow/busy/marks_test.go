package busy

import (
	"slices"
	"testing"
)

func TestBusyMarks(t *testing.T) {
	t.Parallel()
	region := make([]byte, RegionSize(2))
	marks := NewMarks(region)
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
		for what, got := range map[string][]string{"Busy": marks.Busy(), "ReadBusy": Read(slices.Clone(region))} {
			slices.Sort(got)
			if !slices.Equal(got, c.busy) {
				t.Errorf("%d: %s returns %v, want %v", i, what, got, c.busy)
			}
		}
	}
	var none *Mark
	none.Enter()
	none.Leave()
	none.Close()
}

func BenchmarkBusyMark(b *testing.B) {
	mark := NewMarks(make([]byte, RegionSize(1))).Open("run_a")
	for b.Loop() {
		mark.Enter()
		mark.Leave()
	}
}
