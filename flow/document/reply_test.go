package document_test

import (
	"context"
	"testing"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/document"
)

// TestReply names the output that answers a chat, in the order of preference.
func TestReply(t *testing.T) {
	t.Parallel()
	run := func(context.Context, *flow.In) (flow.Out, error) { return flow.Out{}, nil }
	text := flow.Kind{Run: run, Name: "write", Title: "Write", Group: "Test", Summary: "Writes.", Outputs: []flow.Port{{Name: "text", Type: flow.TypeText}, {Name: "score", Type: flow.TypeNumber}}}
	out := flow.Kind{Run: run, Name: "output", Title: "Output", Group: "Test", Summary: "Gives.", Role: flow.RoleOutput,
		Fields: []flow.Field{{Name: "name", Type: flow.FieldText, Typed: true}, {Name: "reply", Type: flow.FieldBoolean, Typed: true}}, Inputs: []flow.Port{{Name: "value", Type: flow.TypeAny, List: true}}}
	kinds := flow.NewRegistry(text, out)
	for want, outputs := range map[string]string{
		"b": `{"id":"b","kind":"output","config":{"name":"b"}}`,
		"c": `{"id":"b","kind":"output","config":{"name":"b"}},{"id":"c","kind":"output","config":{"name":"c"}}`,
		"reply": `{"id":"b","kind":"output","config":{"name":"b"}},{"id":"c","kind":"output","config":{"name":"c"}},
			{"id":"d","kind":"output","config":{"name":"reply"}}`,
		"e": `{"id":"b","kind":"output","config":{"name":"b"}},{"id":"c","kind":"output","config":{"name":"c"}},
			{"id":"d","kind":"output","config":{"name":"reply"}},{"id":"e","kind":"output","config":{"name":"e","reply":true}}`,
		"": ``,
	} {
		if outputs != "" {
			outputs += ","
		}
		d, problems := document.ParseDocument([]byte(`{"schema":"sluice.flow/v1","name":"R","nodes":[` + outputs + `{"id":"w","kind":"write","config":{}}],
			"edges":[{"from":"w.score","to":"b.value"},{"from":"w.text","to":"c.value"}]}`))
		if d == nil {
			t.Fatal(problems)
		}
		got, ok := document.Reply(d, kinds)
		if got.Name != want || ok != (want != "") {
			t.Errorf("got %q, want %q", got.Name, want)
		}
		if want == "c" {
			if sources := document.TextSources(d, contract.Outputs(d, kinds)); len(sources) != 1 || sources["c"] != "w" {
				t.Errorf("sources %v", sources)
			}
		}
	}
	d, _ := document.ParseDocument([]byte(`{"schema":"sluice.flow/v1","name":"R","nodes":[{"id":"b","kind":"output","config":{"name":"b","reply":true}},{"id":"c","kind":"output","config":{"name":"c","reply":true}}]}`))
	var found bool
	for _, p := range document.Validate(d, kinds) {
		found = found || p.Pointer == "/nodes/1/config/reply" && p.Code == "duplicate"
	}
	if !found {
		t.Error("two replies are accepted")
	}
}
