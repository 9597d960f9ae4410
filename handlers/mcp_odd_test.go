package handlers_test

import (
	"strings"
	"testing"

	"sluice/flow"
	"sluice/handlers/webtest"
)

// defaultsFlow has only inputs with defaults, so that it succeeds without any.
const defaultsFlow = `{"schema": "sluice.flow/v1", "name": "Defaults", "nodes": [
	{"id": "who", "kind": "input", "config": {"name": "who", "type": "text", "default": "nobody"}}, {"id": "out", "kind": "output", "config": {"name": "out"}}],
	"edges": [{"from": "who.value", "to": "out.value"}]}`

// TestAuthoring_refuses_arguments_that_would_be_dropped checks that no tool does its work with less than it was given.
func TestAuthoring_refuses_arguments_that_would_be_dropped(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	c := newCaller(h, nil, flow.Key{Scopes: flow.Scopes})
	id := h.PublishedFlow(defaultsFlow)
	call := func(tool, arguments string) string {
		_, _, answer := c.send("POST", "/mcp?tools=authoring", `{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "`+tool+`", "arguments": `+arguments+`}}`)
		return answer
	}
	for name, inputs := range map[string]string{"a text": `"{\"who\": \"Ada\"}"`, "a list": `[{"who": "Ada"}]`, "a number": `1`} {
		if answer := call("run_flow", `{"flow": "`+id+`", "inputs": `+inputs+`}`); !strings.Contains(answer, `"isError":true`) || !strings.Contains(answer, "inputs: wanted an object, got "+strings.Fields(name)[1]) {
			t.Errorf("inputs are %s: %s", name, answer)
		}
	}
	if answer := call("run_flow", `{"flow": "`+id+`", "version": "1", "inputs": {"who": "Ada", "run_options": {"metadata": {"order": "A-17"}}}}`); strings.Contains(answer, `"isError":true`) || !strings.Contains(answer, "A-17") {
		t.Errorf("options beside a version: %s", answer)
	}
}
