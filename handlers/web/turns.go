package web

import (
	"context"
	"strings"

	"sluice/flow"
)

// The reply of an agent is what it says in all of its turns, with a blank line between two of them. It is the
// same whether it is streamed or read at the end.

// turnSeparator is between the texts of two turns.
const turnSeparator = "\n\n"

// TurnStore reads the steps of agents.
type TurnStore interface {
	FindStepHeads(ctx context.Context, ws flow.WorkspaceID, runID flow.RunID, prefix string) ([]flow.Step, error)
	FindStepOutputs(ctx context.Context, ws flow.WorkspaceID, runID flow.RunID, path string) (map[string]any, error)
}

// IsTurn reports whether a path is that of a turn of an agent: its node, a dot and a number.
func IsTurn(agent, path string) bool {
	number, inside := strings.CutPrefix(path, agent+flow.SubSeparator)
	return inside && number != "" && strings.Trim(number, "0123456789") == ""
}

// TurnTexts returns what an agent said in a run that has ended. It is empty if the turns are not stored any more.
func TurnTexts(ctx context.Context, store TurnStore, run *flow.Run, agent string) (string, error) {
	heads, err := store.FindStepHeads(ctx, run.WorkspaceID, run.ID, agent+flow.SubSeparator)
	if err != nil {
		return "", err
	}
	var all TurnText
	for i := range heads {
		if !IsTurn(agent, heads[i].Path) {
			continue
		}
		outputs, err := store.FindStepOutputs(ctx, run.WorkspaceID, run.ID, heads[i].Path)
		if err != nil {
			return "", err
		}
		all.Add(heads[i].Path, flow.Text(outputs["text"]), false)
	}
	return string(all.text), nil
}

// TurnText makes one text of what an agent streams in its turns.
type TurnText struct {
	turn  string // path
	start int    // of the turn in text
	text  []byte
}

// Add adds a text that a turn streams. With reset, it replaces what the turn has streamed before. It returns what is
// new, or with reset all of it.
func (t *TurnText) Add(turn, text string, reset bool) (part string, whole bool) {
	if turn != t.turn {
		t.turn, t.start = turn, len(t.text)
	}
	if reset {
		t.text = t.text[:t.start]
	}
	from := len(t.text)
	if text != "" && from == t.start && from > 0 {
		t.text = append(t.text, turnSeparator...)
	}
	t.text = append(t.text, text...)
	if reset {
		return string(t.text), true
	}
	return string(t.text[from:]), false
}
