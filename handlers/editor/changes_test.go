package editor

import (
	"testing"

	"sluice/flow"
	"sluice/flow/document"
)

func TestAPIDiffers(t *testing.T) {
	t.Parallel()
	input := func(change, name string) document.APIChange {
		return document.APIChange{Change: change, Role: flow.RoleInput, Name: name}
	}
	for want, d := range map[string]document.Diff{
		"1 input added": {API: []document.APIChange{input(document.ChangeAdded, "tone")}, Nodes: []document.NodeChange{{Change: document.ChangeAdded}}},
		"1 input changed, 2 inputs removed, 1 output added": {API: []document.APIChange{
			input(document.ChangeChanged, "a"), input(document.ChangeChanged, "a"), input(document.ChangeRemoved, "b"), input(document.ChangeRemoved, "c"),
			{Change: document.ChangeAdded, Role: flow.RoleOutput, Name: "d"}}},
		"2 nodes changed, 1 edge changed": {Nodes: []document.NodeChange{{Change: document.ChangeChanged}, {Change: document.ChangeChanged}}, Added: []flow.Edge{{}}},
		"name, description or groups":     {About: []string{"The name changed."}, Moved: 1},
		"node positions":                  {Moved: 2},
	} {
		if got := apiDiffers(&d); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
