package library

import "testing"

func TestLibraryChanges(t *testing.T) {
	t.Parallel()
	d := newEditFixture(t, "i input {\"name\": \"x\"}\n o output {\"name\": \"y\"}\n i.value -> o.value")
	diff, err := d.Changes(t.Context(), "ws", d.id)
	if err != nil || len(diff.Nodes) != 2 || len(diff.Breaking) > 0 {
		t.Fatalf("%v %+v", err, diff)
	}
	if _, _, err := d.Publish(t.Context(), "ws", d.id, "me"); err != nil {
		t.Fatal(err)
	}
	if diff, err = d.Changes(t.Context(), "ws", d.id); err != nil || !diff.Empty() {
		t.Fatalf("%v %+v", err, diff)
	}
	d.mustEdit(1, "t1", `[{"op": "remove", "nodes": ["o"]}]`)
	if diff, err = d.Changes(t.Context(), "ws", d.id); err != nil || len(diff.Breaking) != 1 {
		t.Fatalf("%v %+v", err, diff)
	}
}
