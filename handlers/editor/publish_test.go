package editor

import (
	"fmt"
	"strings"
	"testing"

	"sluice/flow/document"
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
