package snippets

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"sluice/flow/contract"
	"sluice/flow/document"
)

var update = flag.Bool("update", false, "update the golden files")

// ticket is a call with each type of value.
func ticket() Call {
	return Call{
		BaseURL: "https://sluice.example.com/", FlowID: "flow_01JA2B3C4D5E6F7G8H9J0K", FlowName: "Answer a ticket", Outputs: ticketOutputs,
		Inputs: []Input{
			{Name: "ticket", Value: "It's late. Where is \"order 17\"?"}, {Name: "max-words", Value: json.Number("120")},
			{Name: "urgent", Value: true}, {Name: "tags", Value: []any{"shop", nil, json.Number("1.5")}},
		},
	}
}

// ticketOutputs have many types.
var ticketOutputs = []document.Output{
	{Output: contract.Output{Name: "answer"}, Schema: map[string]any{"type": "string"}},
	{Output: contract.Output{Name: "sure"}, Schema: map[string]any{"type": "number"}, Optional: true},
	{Output: contract.Output{Name: "the mood"}, Schema: map[string]any{"type": "string", "enum": []any{"good", "bad"}}},
	{Output: contract.Output{Name: "list"}, Schema: map[string]any{"type": "array", "items": map[string]any{"anyOf": []any{map[string]any{"type": "integer"}, map[string]any{"type": []any{"boolean", "null"}}}}}},
	{Output: contract.Output{Name: "any"}, Schema: map[string]any{}},
	{Output: contract.Output{Name: "object"}, Schema: map[string]any{"type": "object", "required": []any{"a"}, "properties": map[string]any{"a": map[string]any{"type": "object", "additionalProperties": map[string]any{"type": "string"}}, "b": map[string]any{}}}},
}

// photo is a call that uploads a file first.
func photo() Call {
	c := ticket()
	c.FlowName, c.Inputs = "Describe a photo", []Input{{Name: "photo", Value: "photo.jpg", File: true}, {Name: "style", Value: "100 % plain"}}
	return c
}

// TestRender compares each snippet with a golden file that was reviewed by a person.
func TestRender(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]Call{"ticket": ticket(), "photo": photo()} {
		for _, l := range Languages() {
			for _, m := range Modes() {
				if name == "photo" && m != ModeWait {
					continue // an upload looks the same in each mode
				}
				t.Run(name+"/"+l.ID+"/"+string(m), func(t *testing.T) {
					t.Parallel()
					got, err := Render(l.ID, m, c)
					if err != nil {
						t.Fatal(err)
					}
					golden(t, filepath.Join(name, l.ID+"_"+string(m)+".txt"), got)
				})
			}
		}
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (go test ./snippets -update, then read it):\n%s", name, got)
	}
}
