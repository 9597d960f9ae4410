package nodes

import (
	"strings"
	"testing"

	"sluice/flow/document"
)

// TestInput_restricts_edges_of_secrets connects a secret input to ports that may and may not hold one.
func TestInput_restricts_edges_of_secrets(t *testing.T) {
	t.Parallel()
	kinds := New(Deps{})
	problems := func(input, node, edge string) string {
		t.Helper()
		d, err := document.ParseDocument([]byte(`{"schema": "sluice.flow/v1", "name": "Secret", "nodes": [
			{"id": "key", "kind": "input", "config": {"name": "key", "secret": true` + input + `}},
			{"id": "text", "kind": "input", "config": {"name": "text"}},
			{"id": "out", "kind": "output", "config": {"name": "out"}}, ` + node + `],
			"edges": [{"from": "text.value", "to": "out.value"}, {"from": "key.value", "to": "` + edge + `"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, p := range document.Validate(d, kinds) {
			b.WriteString(p.Pointer + " " + p.Code + ": " + p.Detail + "\n")
		}
		return b.String()
	}
	call := `{"id": "n", "kind": "http_request", "config": {"url": "https://example.com/{{a}}", "headers": {"Authorization": "Bearer {{b}}"}, "body": {"token": "{{c}}"}}}`
	for edge, c := range map[string]struct{ node, want string }{
		"n.a":         {strings.NewReplacer("{{b}}", "b", "{{c}}", "c").Replace(call), ""},
		"n.b":         {strings.NewReplacer("{{a}}", "a", "{{c}}", "c").Replace(call), ""},
		"n.c":         {strings.NewReplacer("{{a}}", "a", "{{b}}", "b").Replace(call), ""},
		"n.url":       {`{"id": "n", "kind": "http_request", "config": {}}`, "url of n cannot hold one"},
		"n.signature": {`{"id": "n", "kind": "webhook", "config": {"url": "https://example.com"}}`, ""},
		"n.w":         {`{"id": "n", "kind": "webhook", "config": {"url": "https://example.com/{{w}}"}}`, "w of n cannot hold one"},
		"n.prompt":    {`{"id": "n", "kind": "chat", "config": {"model": "openai/x"}}`, "prompt of n cannot hold one"},
		"n.q":         {`{"id": "n", "kind": "chat", "config": {"model": "openai/x", "prompt": "{{q}}"}}`, "q of n cannot hold one"},
		"n.value":     {`{"id": "n", "kind": "output", "config": {"name": "leak"}}`, "value of leak cannot"},
	} {
		if got := problems("", c.node, edge); (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: got %q, want %q", edge, got, c.want)
		}
	}
	for input, want := range map[string]string{
		`, "type": "number"`: "/config/secret", `, "default": "x"`: "/config/default", `, "example": "x"`: "/config/example", `, "enum": ["x"]`: "/config/enum",
	} {
		if got := problems(input, `{"id": "n", "kind": "webhook", "config": {"url": "https://example.com"}}`, "n.signature"); !strings.Contains(got, want) {
			t.Errorf("%s: got %q", input, got)
		}
	}
}
