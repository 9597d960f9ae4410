package flow

import "testing"

func TestMayUseFile(t *testing.T) {
	t.Parallel()
	key := func(flows []string, scopes ...Scope) *Key {
		return &Key{ID: "key_a", WorkspaceID: "ws", Flows: flows, Scopes: scopes}
	}
	own, others := &File{WorkspaceID: "ws", KeyID: "key_a"}, &File{WorkspaceID: "ws", KeyID: "key_b"}
	inA, ofB := []FileUse{{"run_1", "flow_b", "key_b"}, {"run_2", "flow_a", "key_b"}}, []FileUse{{"run_1", "flow_b", "key_a"}}
	for name, c := range map[string]struct {
		key  *Key
		file *File
		uses []FileUse
		want bool
	}{
		"a person may":                                  {nil, others, nil, true},
		"its own upload":                                {key([]string{"flow_a"}, ScopeRun), own, nil, true},
		"own ID in another workspace":                   {key(nil, ScopeRead), &File{WorkspaceID: "ws_2", KeyID: "key_a"}, nil, false},
		"a reader of all flows may":                     {key(nil, ScopeRead), others, nil, true},
		"one who only starts runs may not":              {key(nil, ScopeRun), others, inA, false},
		"one who only starts runs, of a run it started": {key(nil, ScopeRun), others, ofB, true},
		"a reader of one flow, of a run of it":          {key([]string{"flow_a"}, ScopeRead), others, inA, true},
		"a reader of another flow":                      {key([]string{"flow_c"}, ScopeRead), others, inA, false},
		"a run it started of a flow it lost":            {key([]string{"flow_a"}, ScopeRun), others, ofB, false},
		"a nameless key is not everybody without one":   {&Key{WorkspaceID: "ws"}, &File{WorkspaceID: "ws"}, []FileUse{{}}, false},
	} {
		if got := MayUseFile(c.key, c.file, c.uses); got != c.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}
