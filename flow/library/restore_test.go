package library

import (
	"bytes"
	"testing"

	"sluice/flow"
	"sluice/flow/document"
)

func TestRestoreVersion(t *testing.T) {
	t.Parallel()
	d := newEditFixture(t, "i input {\"name\": \"x\"}\n a call {\"text\": \"one\"}\n o output {\"name\": \"y\"}\n i.value -> a.values\n a.text -> o.value")
	if _, _, err := d.Publish(t.Context(), "ws", d.id, "me"); err != nil {
		t.Fatal(err)
	}
	was := bytes.Clone(d.memoryStore.flows[d.id].Draft)
	rev := d.memoryStore.flows[d.id].Rev
	d.mustEdit(rev, "t1", `[{"op": "set", "node": "a", "field": "text", "value": "two"}, {"op": "remove", "nodes": ["o"]}]`)

	out, err := d.RestoreVersion(t.Context(), flow.Actor{ID: "me"}, "ws", d.id, 1, "restore-1")
	if err != nil || !out.Changed || out.Replaced || out.Edit.Rev != rev+2 {
		t.Fatalf("%v %+v", err, out)
	}
	if !bytes.Equal(d.memoryStore.flows[d.id].Draft, was) {
		t.Errorf("the draft is not the version:\n%s", d.memoryStore.flows[d.id].Draft)
	}
	if out, err = d.RestoreVersion(t.Context(), flow.Actor{ID: "me"}, "ws", d.id, 1, "restore-2"); err != nil || out.Changed {
		t.Errorf("again: %v %+v", err, out)
	}
	if _, err := d.EditFlow(t.Context(), "ws", d.id, "me", document.EditRequest{Base: rev + 2, Tab: "tab", TxID: "t2", Undo: "restore-1"}); err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(d.memoryStore.flows[d.id].Draft, was) {
		t.Error("the restore was not undone")
	}
}

// TestRestoreVersion_in_other_order restores nodes in another order, which takes all of them out.
func TestRestoreVersion_in_other_order(t *testing.T) {
	t.Parallel()
	d := newEditFixture(t, "a call\n b call")
	if _, _, err := d.Publish(t.Context(), "ws", d.id, "me"); err != nil {
		t.Fatal(err)
	}
	was := bytes.Clone(d.memoryStore.flows[d.id].Draft)
	other := mustParse(t, "b call\n a call").Compact()
	d.memoryStore.flows[d.id].Draft = other
	out, err := d.RestoreVersion(t.Context(), flow.Actor{ID: "me"}, "ws", d.id, 1, "restore-1")
	if err != nil || out.Replaced || !bytes.Equal(d.memoryStore.flows[d.id].Draft, was) {
		t.Fatalf("%v %+v", err, out)
	}
	if _, err := d.EditFlow(t.Context(), "ws", d.id, "me", document.EditRequest{Base: out.Edit.Rev, Tab: "tab", TxID: "t2", Undo: "restore-1"}); err != nil || !bytes.Equal(d.memoryStore.flows[d.id].Draft, other) {
		t.Errorf("undone: %v\n%s", err, d.memoryStore.flows[d.id].Draft)
	}
}

func TestRestoreVersionReplaces(t *testing.T) {
	t.Parallel()
	d := newEditFixture(t, "a call\n b call")
	if _, _, err := d.Publish(t.Context(), "ws", d.id, "me"); err != nil {
		t.Fatal(err)
	}
	d.memoryStore.flows[d.id].Draft = []byte("{") // of no release
	out, err := d.RestoreVersion(t.Context(), flow.Actor{ID: "me"}, "ws", d.id, 1, "restore-1")
	if err != nil || !out.Replaced {
		t.Fatalf("%v %+v", err, out)
	}
}
