package api

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"sluice/flow"
)

func TestMCPTools(t *testing.T) {
	t.Parallel()
	w := setup(t)
	tools := w.agent(w.key).list()
	if len(tools) != 3 {
		t.Fatalf("%d tools: the unpublished flow must not be one", len(tools))
	}
	first := tools[slices.IndexFunc(tools, func(t map[string]any) bool { return t["name"] == "answer_a_ticket" })]
	if first["name"] != "answer_a_ticket" || first["title"] != "Answer a ticket" || first["description"] != "Answers." {
		t.Errorf("tool %v", first)
	}
	if dig(first, "inputSchema", "properties", "ticket", "description") != "What the customer wrote." || dig(first, "outputSchema", "properties", "answer") == nil {
		t.Errorf("schemas %v", first)
	}
	for name, key := range map[string]string{
		"run":      w.addKey(flow.Key{Scopes: []flow.Scope{flow.ScopeRun}}),
		"read":     w.addKey(flow.Key{Scopes: []flow.Scope{flow.ScopeRead}}),
		"own list": w.addKey(flow.Key{Scopes: []flow.Scope{flow.ScopeRun}, Flows: []string{w.echo, w.unpublished}}),
		"others":   w.addKey(flow.Key{Scopes: []flow.Scope{flow.ScopeRun}, WorkspaceID: "ws_other"}),
	} {
		want := map[string]int{"run": 3, "read": 3, "own list": 1, "others": 0}[name]
		if got := w.agent(key).names(); len(got) != want {
			t.Errorf("with %s: %v", name, got)
		}
	}
	w.store.mu.Lock()
	w.store.flows[w.echo].ArchivedAt = time.Now()
	w.store.mu.Unlock()
	if got := w.agent(w.key).names(); len(got) != 2 {
		t.Errorf("an archived flow is a tool: %v", got)
	}
}

// titled returns a minimal document with a name.
func titled(name string) string {
	return `{"schema": "sluice.flow/v1", "name": ` + string(flow.EncodeJSON(name)) + `, "nodes": [
		{"id": "in", "kind": "input", "config": {"name": "in", "default": "x"}}, {"id": "out", "kind": "output", "config": {"name": "out"}}],
		"edges": [{"from": "in.value", "to": "out.value"}]}`
}

func TestMCPToolNames(t *testing.T) {
	t.Parallel()
	w := setup(t)
	a := w.agent(w.key)
	first := w.addFlow("default", titled("Summarize"))
	second := w.addFlow("default", titled("summarize!"))
	foreign := w.addFlow("default", titled("要約"))
	suffixed := func(base, id string) string { return base + "_" + id[len(id)-8:] }
	got := a.names()
	for _, want := range []string{"summarize", suffixed("summarize", second), suffixed("flow", foreign)} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is not among %v", want, got)
		}
	}
	runs := func(tool, flowID string) {
		t.Helper()
		if r := a.call(tool, nil); r.Error != nil || string(w.runner.lastStart().FlowID) != flowID {
			t.Errorf("%s runs %s, wanted %s: %+v", tool, w.runner.lastStart().FlowID, flowID, r.Error)
		}
	}
	runs("summarize", first)
	runs(suffixed("summarize", second), second)
	runs(suffixed("whatever", first), first) // the end of the ID is enough
	w.store.mu.Lock()
	w.store.flows[first].Draft = []byte(titled("Shorten"))
	w.store.mu.Unlock()
	runs("summarize", first) // the name of the draft does not matter
	w.publish(first)
	runs("shorten", first)
	runs(suffixed("summarize", first), first)
	runs("summarize", second) // the only flow with this name now
	if r := a.call("summarise", nil); r.Error == nil || r.Error.Code != -32602 {
		t.Errorf("an unknown tool: %+v", r)
	}
	if r := w.agent(w.addKey(flow.Key{Scopes: []flow.Scope{flow.ScopeRun}, Flows: []string{w.echo}})).call("shorten", nil); r.Error == nil {
		t.Errorf("a flow that the key may not call: %+v", r)
	}
}

// maxTools is how many tools a key sees; see package mcp.
const maxTools = 1000

func TestMCPManyTools(t *testing.T) {
	t.Parallel()
	w := setup(t)
	for i := range maxTools + 10 {
		w.addFlow("default", titled(fmt.Sprintf("Flow %d", i%(maxTools-1))))
	}
	a := w.agent(w.key)
	names := a.names()
	slices.Sort(names)
	if len(names) != maxTools || len(slices.Compact(names)) != maxTools {
		t.Errorf("%d names, %d of them different", len(names), len(slices.Compact(names)))
	}
	if answer, _ := a.ask("tools/list", map[string]any{"cursor": "x"}); answer.Error == nil || answer.Error.Code != -32602 {
		t.Errorf("an invalid cursor: %+v", answer)
	}
	if a.calls > 8 {
		t.Errorf("%d pages", a.calls)
	}
}
