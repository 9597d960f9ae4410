package flow

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

func TestEditsBetween(t *testing.T) {
	t.Parallel()
	led := 0
	for seed := range uint64(3000) {
		s := sketch{rand.New(rand.NewPCG(seed, 7))}
		from, to := s.document(), s.document()
		ops, ok := editsBetween(from, to)
		if !ok {
			continue
		}
		led++
		there, err := ApplyEdits(from, ops)
		if err != nil || !bytes.Equal(there.Document.Canonical(), to.Canonical()) {
			t.Fatalf("seed %d: %v", seed, err)
		}
		back, err := ApplyEdits(there.Document, there.Inverse)
		if err != nil || !bytes.Equal(back.Document.Canonical(), from.Canonical()) {
			t.Fatalf("seed %d cannot be undone: %v", seed, err)
		}
	}
	if led < 2900 {
		t.Errorf("edits lead from one document to the other in %d of 3000", led)
	}
}

func TestRestoreVersion(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "i input {\"name\": \"x\"}\n a call {\"text\": \"one\"}\n o output {\"name\": \"y\"}\n i.value -> a.values\n a.text -> o.value")
	if _, _, err := d.Publish(t.Context(), "ws", d.id, "me"); err != nil {
		t.Fatal(err)
	}
	was := bytes.Clone(d.shelf.flows[d.id].Draft)
	rev := d.shelf.flows[d.id].Rev
	d.mustEdit(rev, "t1", `[{"op": "set", "node": "a", "field": "text", "value": "two"}, {"op": "remove", "nodes": ["o"]}]`)

	out, err := d.RestoreVersion(t.Context(), "ws", d.id, 1, "me", "restore-1")
	if err != nil || !out.Changed || out.Replaced || out.Edit.Rev != rev+2 {
		t.Fatalf("%v %+v", err, out)
	}
	if !bytes.Equal(d.shelf.flows[d.id].Draft, was) {
		t.Errorf("the draft is not the version:\n%s", d.shelf.flows[d.id].Draft)
	}
	if out, err = d.RestoreVersion(t.Context(), "ws", d.id, 1, "me", "restore-2"); err != nil || out.Changed {
		t.Errorf("again: %v %+v", err, out)
	}
	if _, err := d.EditFlow(t.Context(), "ws", d.id, "me", EditRequest{Base: rev + 2, Tab: "tab", TxID: "t2", Undo: "restore-1"}); err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(d.shelf.flows[d.id].Draft, was) {
		t.Error("the restore was not undone")
	}
}

func TestRestoreVersionReplaces(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "a call\n b call")
	if _, _, err := d.Publish(t.Context(), "ws", d.id, "me"); err != nil {
		t.Fatal(err)
	}
	d.shelf.flows[d.id].Draft = mustParse(t, "b call\n a call").Canonical() // no edit puts nodes in another order
	out, err := d.RestoreVersion(t.Context(), "ws", d.id, 1, "me", "restore-1")
	if err != nil || !out.Replaced {
		t.Fatalf("%v %+v", err, out)
	}
}
