package webtest

import (
	"context"
	"time"

	"sluice/flow"
	"sluice/flow/value"
)

// PublishGreeting has a required and an optional input, a template and an output: enough
// for every kind of change to the inputs and outputs.
const PublishGreeting = `{"schema": "sluice.flow/v1", "name": "Greet", "nodes": [
	{"id": "who", "kind": "input", "position": {"x": 0, "y": 0}, "config": {"name": "who", "type": "text"}},
	{"id": "tone", "kind": "input", "position": {"x": 0, "y": 160}, "config": {"name": "tone", "type": "text", "default": "warm"}},
	{"id": "say", "kind": "template", "label": "Say hello", "position": {"x": 300, "y": 0}, "config": {"template": "Hello {{who}}, {{tone}}"}},
	{"id": "out", "kind": "output", "position": {"x": 600, "y": 0}, "config": {"name": "greeting"}}],
	"edges": [{"from": "who.value", "to": "say.who"}, {"from": "tone.value", "to": "say.tone"}, {"from": "say.text", "to": "out.value"}]}`

// Replace replaces the draft of a flow.
func (h *Env) Replace(id flow.FlowID, document string) {
	h.T.Helper()
	if _, err := h.Library.Import(context.Background(), flow.DefaultWorkspace, id, []byte(document)); err != nil {
		h.T.Fatal(err)
	}
}

// Key creates a key with the scope run.
func (h *Env) Key(name string) *flow.Key {
	h.T.Helper()
	k := &flow.Key{WorkspaceID: flow.DefaultWorkspace, Name: name, Prefix: "slu_" + name, Hash: name, Scopes: []flow.Scope{flow.ScopeRun}}
	if err := h.Store.CreateKey(context.Background(), k); err != nil {
		h.T.Fatal(err)
	}
	return k
}

// Call runs the live version with a key, and returns the ended run.
func (h *Env) Call(id string, k *flow.Key, inputs map[string]any) (*flow.Run, error) {
	h.T.Helper()
	s := flow.Start{WorkspaceID: flow.DefaultWorkspace, FlowID: flow.FlowID(id), Key: k, Trigger: flow.TriggerAPI, Given: value.FromMap(inputs), Wait: 10 * time.Second}
	out, err := h.Runner.StartRun(context.Background(), s)
	return out.Run, err
}
