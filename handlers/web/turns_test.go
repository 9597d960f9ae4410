package web

import "testing"

// TestTurnText_joins_turns also replaces what a failed attempt of a turn has streamed.
func TestTurnText_joins_turns(t *testing.T) {
	t.Parallel()
	var all TurnText
	for i, step := range []struct {
		turn, text string
		reset      bool
		part       string
		whole      bool
	}{
		{"a.1", "Let me", false, "Let me", false},
		{"a.1", " see.", false, " see.", false},
		{"a.2", "", false, "", false}, // calls only
		{"a.3", "It is", false, "\n\nIt is", false},
		{"a.3", "It was", true, "Let me see.\n\nIt was", true},
		{"a.3", "", true, "Let me see.", true},
		{"a.3", " so.", false, "\n\n so.", false},
		{"a.4", "Done.", true, "Let me see.\n\n so.\n\nDone.", true},
	} {
		if part, whole := all.Add(step.turn, step.text, step.reset); part != step.part || whole != step.whole {
			t.Errorf("%d: %q, %v", i, part, whole)
		}
	}
	for path, want := range map[string]bool{"a.1": true, "a.12": true, "a": false, "a.1.1": false, "a.7s": false, "b.1": false, "ab.1": false, "a.": false} {
		if IsTurn("a", path) != want {
			t.Errorf("%s is a turn: %v", path, !want)
		}
	}
}
