package document_test

import (
	"fmt"
	"strings"
	"testing"

	"sluice/flow"
	"sluice/flow/document"
	"sluice/flow/flowtest"
	"sluice/nodes"
)

// TestOutputs finds the types of outputs of the real kinds.
func TestOutputs(t *testing.T) {
	t.Parallel()
	kinds := nodes.New(nodes.Deps{})
	chat := `c chat {"prompt": "{{i}}", "schema": {"type": "object", "required": ["sure", "mood"], "properties": {"sure": {"type": "number"}, "mood": {"$ref": "#/$defs/mood"}, "why": {"type": "string"}},
		"$defs": {"mood": {"type": "string", "enum": ["good", "bad"]}}}}` + "\n i.value -> c.i\n"
	chat = strings.ReplaceAll(chat, "\n\t\t", " ")
	for _, tt := range []struct{ name, lines, want string }{
		{"text", `t template {"template": "x {{i}}"}
			i.value -> t.i
			t.text -> o.value`, `text {"type":"string"}`},
		{"an input with values", `j input {"name": "j", "type": "number", "enum": [1, 2]}
			j.value -> o.value`, `number {"enum":[1,2],"type":"number"}`},
		{"a list of files", `j input {"name": "j", "type": "list", "items": "file"}
			j.value -> o.value`, `list {"items":{`},
		{"a property of a chat", chat + "c.sure -> o.value", `number {"type":"number"}`},
		{"a property by reference", chat + "c.mood -> o.value", `text {"enum":["good","bad"],"type":"string"}`},
		{"an optional property", chat + "c.why -> o.value", `text? {"type":"string"}`},
		{"the object of a chat", chat + "c.json -> o.value", `json {"properties":{"mood":{"enum":["good","bad"],"type":"string"},"sure":{"type":"number"},"why":{"type":"string"}},"required":["sure","mood"],"type":"object"}`},
		{"a branch", `b condition {"expression": "true"}
			i.value -> b.value
			b.true -> o.value`, `text? {"type":"string"}`},
		{"both branches", `b condition {"expression": "true"}
			t template {"template": "x {{i}}"}
			i.value -> b.value
			b.true -> t.i
			b.false -> o.value
			t.text -> o.value`, `text {"type":"string"}`},
		{"both ways of an error", `h http_request {"url": "https://example.com"} {"on_error": "route"}
			f first_of
			h.status -> f.values
			h.error -> f.values
			f.value -> o.value`, `any {}`},
		{"one way of an error", `h http_request {"url": "https://example.com"} {"on_error": "route"}
			h.status -> o.value`, `number? {"type":"number"}`},
		{"continued with another type", `h http_request {"url": "https://example.com"} {"on_error": {"continue": {"status": "none"}}}
			h.status -> o.value`, `any {}`},
		{"text or number", `b condition {"expression": "true"}
			s sentiment {}
			i.value -> b.value
			b.true -> s.text
			s.score -> o.value
			b.false -> o.value`, `any {"anyOf":[{"type":"number"},{"type":"string"}]}`},
		{"all cases", `b switch {"cases": ["A", "B"]}
			i.value -> b.value
			b.a -> o.value
			b.b -> o.value
			b.else -> o.value`, `text {"type":"string"}`},
		{"not all cases", `b switch {"cases": ["A", "B"]}
			i.value -> b.value
			b.a -> o.value
			b.b -> o.value`, `text? {"type":"string"}`},
		{"a disabled node", `t template {"template": "x"} {"disabled": true}
			t.text -> o.value`, `any? {}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d, problems := document.ParseDocument(flowtest.Document(`i input {"name": "i"}` + "\n" + `o output {"name": "out"}` + "\n" + tt.lines))
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			if tt.name != "a disabled node" {
				if wrong := document.Validate(d, kinds); len(wrong) > 0 {
					t.Fatal(wrong)
				}
			}
			o := document.Outputs(d, kinds)[0]
			optional := map[bool]string{true: "?"}[o.Optional]
			if got := fmt.Sprintf("%s%s %s", o.Type, optional, flow.EncodeJSON(o.Schema)); !strings.HasPrefix(got, tt.want) {
				t.Errorf("got %s\nwanted %s", got, tt.want)
			}
		})
	}
}
