package components

import (
	"sluice/flow/wording"
	"testing"
	"time"
)

func TestNumbers(t *testing.T) {
	t.Parallel()
	for got, want := range map[string]string{
		Count(0): "0", Count(999): "999", Count(1204): "1,204", Count(-1234567): "-1,234,567",
		Duration(14 * time.Millisecond): "14 ms", Duration(1900 * time.Millisecond): "1.9 s", Duration(83 * time.Second): "83 s",
		Duration(200 * time.Second): "3 min 20 s", Duration(90 * time.Minute): "1 h 30 min",
		Money(0): "$0", Money(58): "<$0.0001", Money(1200): "$0.0012", Money(3_402_000): "$3.40",
		Percent(1): "100%", Percent(.9999): "99.9%", Percent(.997): "99.7%", Percent(.5): "50%", Percent(0): "0%",
	} {
		if got != want {
			t.Errorf("got %q, wanted %q", got, want)
		}
	}
}

func TestAgo(t *testing.T) {
	t.Parallel()
	for before, want := range map[time.Duration]string{
		time.Second: "now", 40 * time.Second: "40 sec. ago", 4 * time.Minute: "4 min. ago", 9 * time.Hour: "9 hr. ago",
		30 * time.Hour: "yesterday", 9 * 24 * time.Hour: "9 days ago", 70 * 24 * time.Hour: "Sep 12, 2026", -time.Hour: "Nov 21, 2026",
	} {
		if got := Ago(noon.Add(-before), noon); got != want {
			t.Errorf("%s before: got %q, wanted %q", before, got, want)
		}
	}
}

func TestSparkline(t *testing.T) {
	t.Parallel()
	s := Sparkline{Bars: []Bar{{}, {Count: 4}, {Count: 8, Failed: 2}, {Count: 1, Failed: 1}}, Unit: "run", Span: "4 h"}
	want := []Rect{
		{"0", "23", "3", "1", "none"}, {"4", "12", "3", "12", ""}, {"8", "0", "3", "6", "failed"},
		{"8", "6", "3", "18", ""}, {"12", "21", "3", "3", "failed"},
	}
	got := s.Rects()
	if len(got) != len(want) {
		t.Fatalf("%d rectangles: %v", len(got), got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("rectangle %d: got %v, wanted %v", i, got[i], want[i])
		}
	}
	if got, want := s.words(), "13 runs in 4 h, 3 failed, at most 8 per bar"; got != want {
		t.Errorf("got %q, wanted %q", got, want)
	}
}

func TestGraph(t *testing.T) {
	t.Parallel()
	g := Graph{Nodes: []GraphNode{{X: 0, Y: 0}, {X: 1000, Y: 500}}, Edges: [][2]int{{0, 1}, {1, 7}, {-1, 0}}}
	if got, want := g.viewBox(), "-72 -72 1320 740"; got != want {
		t.Errorf("got %q, wanted %q", got, want)
	}
	if got := g.paths(); len(got) != 1 || got[0] != "M176,48C588,48 588,548 1000,548" {
		t.Errorf("got %v: an edge to nowhere must be left out", got)
	}
}

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func TestShorten(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"": "", "Chat": "Chat", "twelve chars": "twelve chars", "Write a reply": "Write a rep…", "Translate — the whole": "Translate —…", "日本語日本語日本語日本語日": "日本語日本語日本語日本…"} {
		if got := wording.Fit(text, 12); got != want {
			t.Errorf("%q is shown as %q, not %q", text, got, want)
		}
	}
}
