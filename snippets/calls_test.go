package snippets

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/document"
)

func bound(n float64) *float64 { return &n }

// TestCallOf checks that required inputs and inputs with an example get a valid value.
func TestCallOf(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		in   contract.Input
		want string // JSON, "" for an input that is left out
	}{
		"a text names its input":       {contract.Input{Name: "customer_name", Type: flow.TypeText, Required: true}, `"Your customer name"`},
		"the example":                  {contract.Input{Name: "a", Type: flow.TypeText, Required: true, Example: "Where?", HasExample: true}, `"Where?"`},
		"an example that is not taken": {contract.Input{Name: "a", Type: flow.TypeNumber, Required: true, Example: "x", HasExample: true}, `1`},
		"an option is left out":        {contract.Input{Name: "a", Type: flow.TypeText, Default: "b", HasDefault: true}, ``},
		"an option with an example":    {contract.Input{Name: "a", Type: flow.TypeText, Default: "b", HasDefault: true, Example: "c", HasExample: true}, `"c"`},
		"the first of a list":          {contract.Input{Name: "a", Type: flow.TypeText, Required: true, Enum: []any{"red", "blue"}}, `"red"`},
		"a number within its bounds":   {contract.Input{Name: "a", Type: flow.TypeNumber, Required: true, Min: bound(5), Max: bound(9)}, `5`},
		"a small number":               {contract.Input{Name: "a", Type: flow.TypeNumber, Required: true, Max: bound(0.25)}, `0.25`},
		"a short text":                 {contract.Input{Name: "language", Type: flow.TypeText, Required: true, Max: bound(4)}, `"Your"`},
		"a long text":                  {contract.Input{Name: "a", Type: flow.TypeText, Required: true, Min: bound(10)}, `"Your a...."`},
		"a switch":                     {contract.Input{Name: "a", Type: flow.TypeBoolean, Required: true}, `true`},
		"a list":                       {contract.Input{Name: "a", Type: flow.TypeList, Required: true, Min: bound(3)}, `["item 1","item 2","item 3"]`},
		"JSON":                         {contract.Input{Name: "a", Type: flow.TypeJSON, Required: true}, `{"key":"value"}`},
		"a file":                       {contract.Input{Name: "a", Type: flow.TypeFile, Required: true, Accept: []string{"image/*"}}, `"photo.jpg"`},
		"a file by its ending":         {contract.Input{Name: "a", Type: flow.TypeFile, Required: true, Accept: []string{".PDF"}}, `"file.pdf"`},
		"any file":                     {contract.Input{Name: "a", Type: flow.TypeFile, Required: true}, `"file.txt"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := CallOf("https://sluice.example.com", &flow.Flow{ID: "flow_1", Name: "F"}, []contract.Input{tt.in}, []document.Output{{Output: contract.Output{Name: "out"}}})
			got := ""
			if len(c.Inputs) == 1 {
				got = string(flow.EncodeJSON(c.Inputs[0].Value))
			}
			if got != tt.want || c.Outputs[0].Name != "out" {
				t.Errorf("got %s, wanted %s", got, tt.want)
			}
		})
	}
}

// TestCallOf_matches_patterns compiles the patterns as a flow's document does.
func TestCallOf_matches_patterns(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]string{`^[a-z]{2}$`: "en", `^\S+@\S+$`: "ada@example.com", `^\d{4}-\d\d-\d\d$`: "2026-01-31", `^nothing fits$`: "Your a"} {
		in := declared(t, map[string]any{"name": "a", "type": "text", "pattern": pattern})
		if got := sample(&in); got != want {
			t.Errorf("%s: got %q, wanted %q", pattern, got, want)
		}
	}
}

// declared returns an input as a document declares it.
func declared(t *testing.T, config map[string]any) contract.Input {
	t.Helper()
	data, err := json.Marshal(map[string]any{"schema": "sluice.flow/v1", "name": "F", "nodes": []any{map[string]any{"id": "a", "kind": "input", "config": config}}})
	if err != nil {
		t.Fatal(err)
	}
	d, problems := document.ParseDocument(data)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	kinds := flow.NewRegistry(flow.Kind{
		Name: "input", Title: "Input", Summary: "An input.", Group: "API", Role: flow.RoleInput,
		Run: func(context.Context, *flow.In) (flow.Out, error) { return flow.Out{}, nil },
	})
	return contract.Inputs(d, kinds)[0]
}

// TestRender_keeps_flow_name_in_comment checks that the name of a flow cannot end its comment.
func TestRender_keeps_flow_name_in_comment(t *testing.T) {
	t.Parallel()
	c := ticket()
	c.FlowName = "Line\nbreak \\u000a ?> */ \u2028 end"
	for _, l := range Languages() {
		code, err := Render(l.ID, ModeStart, c)
		if want := `"Line break /u000a ? > */ end"`; err != nil || !strings.Contains(code, want) {
			t.Errorf("%s: %v, without %s:\n%s", l.ID, err, want, code)
		}
	}
	for _, bad := range [][2]string{{"cobol", "start"}, {"go", "head"}, {"", ""}} {
		if _, err := Render(bad[0], Mode(bad[1]), c); err == nil {
			t.Errorf("%q in %q was written", bad[1], bad[0])
		}
	}
}
