package nodes

import (
	"testing"

	"sluice/flow"
)

func TestNote(t *testing.T) {
	t.Parallel()
	k := New(Deps{}).Find("note")
	if k.Run != nil || k.Role != flow.RoleCanvas || len(k.Inputs)+len(k.Outputs) > 0 {
		t.Errorf("a note takes part in runs: %+v", k)
	}
	doc, inputs := use{kind: "text", config: map[string]any{"text": "hello"}}.document(nil)
	doc.Nodes = append(doc.Nodes, flow.Node{ID: "note", Kind: "note", Config: map[string]any{"text": "a remark"}})
	r := runDocument(t, New(Deps{}), doc, inputs)
	if r.State != flow.StepSucceeded || r.run.State != flow.RunSucceeded {
		t.Errorf("state %s beside a note, run %s", r.State, r.run.State)
	}
}
