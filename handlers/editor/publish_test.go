package editor

import (
	"fmt"
	"strings"
	"testing"

	"sluice/e2e/need"
	"sluice/flow/document"
	"sluice/flow/flowtest"
)

func TestTextDiff(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ before, after, want string }{
		{"one two three", "one 2 three", "one [-two][+2] three"},
		{"", "all new", "[+all new]"},
		{"a\nb\nc\n", "a\nc\n", "a\n[-b\n]c\n"},
		{"größer als", "größer wie", "größer [-als][+wie]"},
	} {
		var got strings.Builder
		for _, p := range textDiff(tt.before, tt.after) {
			switch p.Change {
			case document.ChangeAdded:
				fmt.Fprintf(&got, "[+%s]", p.Text)
			case document.ChangeRemoved:
				fmt.Fprintf(&got, "[-%s]", p.Text)
			default:
				got.WriteString(p.Text)
			}
		}
		if got.String() != tt.want {
			t.Errorf("got %q, want %q", got.String(), tt.want)
		}
	}
	var many strings.Builder // more different words than runes below the surrogates
	for i := range 70_000 {
		fmt.Fprintf(&many, "w%d\n", i)
	}
	var back strings.Builder
	for _, p := range textDiff(many.String(), many.String()+"end") {
		back.WriteString(p.Text)
	}
	if back.String() != many.String()+"end" {
		t.Error("a long text does not come back whole")
	}
}

// TestNodeDiffs_bounds_work proves that comparing two versions takes bounded time, however many
// texts changed.
func TestNodeDiffs_bounds_work(t *testing.T) {
	t.Parallel()
	need.Time(t)
	words := func(seed int) string {
		var b strings.Builder
		for i := range 4000 {
			fmt.Fprint(&b, (i*seed)%997, " ")
		}
		return b.String()
	}
	d := &document.Diff{}
	for range 60 {
		d.Nodes = append(d.Nodes, document.NodeChange{Change: document.ChangeChanged, Values: []document.FieldChange{{Title: "Text", Before: words(7), After: words(13), WasSet: true, IsSet: true}}})
	}
	flowtest.CheckCPU(t, func() {
		list := nodeDiffs(d)
		if first, last := list[0].Fields[0], list[59].Fields[0]; len(first.Pieces) == 0 || len(last.Pieces) > 0 || last.After == "" {
			t.Errorf("%d pieces of the first text, %d of the last", len(first.Pieces), len(last.Pieces))
		}
	})
}
