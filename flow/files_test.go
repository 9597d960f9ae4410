package flow_test

import (
	"slices"
	"testing"

	"sluice/flow"
	"sluice/flow/flowtest"
)

func TestMayUseFile(t *testing.T) {
	t.Parallel()
	key := func(flows []string, scopes ...flow.Scope) *flow.Key {
		return &flow.Key{ID: "key_a", WorkspaceID: "ws", Flows: flows, Scopes: scopes}
	}
	own, others := &flow.File{WorkspaceID: "ws", KeyID: "key_a"}, &flow.File{WorkspaceID: "ws", KeyID: "key_b"}
	inA, ofB := []flow.FileUse{{"flow_b", "key_b"}, {"flow_a", "key_b"}}, []flow.FileUse{{"flow_b", "key_a"}}
	for name, c := range map[string]struct {
		key  *flow.Key
		file *flow.File
		uses []flow.FileUse
		want bool
	}{
		"a user":                          {nil, others, nil, true},
		"its own upload":                  {key([]string{"flow_a"}, flow.ScopeRun), own, nil, true},
		"its own ID in another workspace": {key(nil, flow.ScopeRead), &flow.File{WorkspaceID: "ws_2", KeyID: "key_a"}, nil, false},
		"a reader of all flows":           {key(nil, flow.ScopeRead), others, nil, true},
		"a key that only starts runs, of another run":            {key(nil, flow.ScopeRun), others, inA, false},
		"a key that only starts runs, of its own run":            {key(nil, flow.ScopeRun), others, ofB, true},
		"a reader of one flow, of a run of it":                   {key([]string{"flow_a"}, flow.ScopeRead), others, inA, true},
		"a reader of another flow":                               {key([]string{"flow_c"}, flow.ScopeRead), others, inA, false},
		"its own run of a flow that it may no longer use":        {key([]string{"flow_a"}, flow.ScopeRun), others, ofB, false},
		"a key without an ID does not match files without a key": {&flow.Key{WorkspaceID: "ws"}, &flow.File{WorkspaceID: "ws"}, []flow.FileUse{{}}, false},
	} {
		if got := flow.MayUseFile(c.key, c.file, c.uses); got != c.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

func TestSize(t *testing.T) {
	t.Parallel()
	for bytes, want := range map[int64]string{0: "0 bytes", 1000: "1000 bytes", 1536: "1.5 KiB", 512 << 20: "512 MiB", 100_000_000: "95.4 MiB", 3 << 40: "3 TiB", 4 << 50: "4096 TiB"} {
		if got := flow.Size(bytes); got != want {
			t.Errorf("%d: %s, want %s", bytes, got, want)
		}
	}
}

func TestFileIDs(t *testing.T) {
	t.Parallel()
	const a, b = "file_01m7z26njgm1r68xj6qyhfyvty", "file_01m7z26njgm1r68xj6qyhfyvtz"
	v := flowtest.Decoded([]byte(`[{"file": "` + a + `"}, {"deep": [{"file": "` + b + `", "name": "n"}, {"file": "` + a + `"}]}, {"file": "report.pdf"}, "` + a + `"]`))
	ids := flow.FileIDs(v)
	slices.Sort(ids)
	if !slices.Equal(ids, []string{a, b}) {
		t.Errorf("got %v", ids)
	}
	before := string(flow.EncodeJSON(v))
	mapped := flow.MapFiles(v, func(id string, _ map[string]any) map[string]any { return map[string]any{"was": id} })
	want := `[{"was":"` + a + `"},{"deep":[{"was":"` + b + `"},{"was":"` + a + `"}]},{"file":"report.pdf"},"` + a + `"]`
	if got := string(flow.EncodeJSON(mapped)); got != want || string(flow.EncodeJSON(v)) != before {
		t.Errorf("got %s, from %s", got, flow.EncodeJSON(v))
	}
}
