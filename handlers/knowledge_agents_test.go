package handlers_test

import (
	"encoding/json"
	"strings"
	"testing"

	"sluice/flow"
	"sluice/handlers/webtest"
	"sluice/providers/scripted"
)

// TestAgent_searches_become_footnotes: an agent searches three times, the first time and the last with the same words. The quotations of each search have numbers of
// their own, and its answer has footnotes in the API, in a form, on the page of the run and in OpenAI's format.
func TestAgent_searches_become_footnotes(t *testing.T) {
	t.Parallel()
	e := newKnowledge(t)
	e.add(`{"source": "refunds.md", "title": "Refunds", "text": "A refund takes five working days.", "link": "https://example.com/refunds"}`)
	e.add(`{"source": "shipping.md", "title": "Shipping", "text": "Parcels leave the warehouse within two days."}`)
	scriptedModel(t, e.Env, func(r *scripted.Request) scripted.Answer {
		switch len(r.Calls) {
		case 0:
			return scripted.Answer{Calls: []scripted.Call{{ID: "c1", Name: "search", Arguments: `{"query": "refund"}`}, {ID: "c2", Name: "search", Arguments: `{"query": "warehouse"}`}}}
		case 2:
			return scripted.Answer{Calls: []scripted.Call{{ID: "c3", Name: "search", Arguments: `{"query": "refund"}`}}}
		}
		for call, want := range map[string]string{"c1": "[1] Refunds", "c2": "[6] Shipping", "c3": "[1] Refunds"} {
			if !strings.Contains(r.Given[call], want) {
				t.Errorf("the result of %s lacks %s: %s", call, want, r.Given[call])
			}
		}
		return scripted.Answer{Text: "Five days [1]. Parcels leave within two days [6], or three [2]."}
	})
	id := e.FormOf(`{"schema": "sluice.flow/v1", "name": "Desk", "slug": "desk", "nodes": [{"id": "q", "kind": "input", "config": {"name": "q", "type": "text"}},
		{"id": "agent", "kind": "agent", "config": {"model": "fake/m", "prompt": "{{q}}"}},
		{"id": "search", "kind": "knowledge_search", "tool": {"description": "Finds passages."}, "config": {"knowledge": "help", "mode": "words"}},
		{"id": "out", "kind": "output", "config": {"name": "answer"}}, {"id": "cited", "kind": "output", "label": "Where it is from", "config": {"name": "citations"}}],
		"edges": [{"from": "q.value", "to": "agent.q"}, {"from": "search.tool", "to": "agent.tools"}, {"from": "agent.text", "to": "out.value"}, {"from": "agent.citations", "to": "cited.value"}]}`)

	run := e.ended("/v1/flow/" + id + "/run/" + e.must(202, "POST", "/v1/flow/"+id+"/run", `{"q": "How long?"}`)["run_id"].(string))
	outputs, _ := json.Marshal(run["outputs"])
	var got struct {
		Citations map[string]struct{ Title, Source, Link string }
	}
	if err := json.Unmarshal(outputs, &got); err != nil || len(got.Citations) != 2 || got.Citations["1"].Link != "https://example.com/refunds" || got.Citations["6"].Title != "Shipping" {
		t.Fatalf("%v: %v", err, run)
	}
	page := e.As(flow.MemberViewer).Get("/runs/" + run["run_id"].(string)).Is(200)
	form := e.Anonymous()
	for _, p := range []*webtest.Answer{page, form.Ended(form.SendForm("/f/"+id, map[string]string{"in.q": "How long?"}, nil).Header.Get("Location"))} {
		p.Has(`<sup class="cite"><a href="https://example.com/refunds" title="Refunds"`, `<li value="6">`, "Shipping", "[2?]")
	}
	_, _, raw := e.caller.send("POST", "/v1/chat/completions", `{"model": "desk", "messages": [{"role": "user", "content": "How long?"}]}`)
	if !strings.Contains(raw, `Sources:\n\n- [1] Refunds \u003chttps://example.com/refunds\u003e\n- [6] Shipping`) && !strings.Contains(raw, `Sources:\n\n- [1] Refunds <https://example.com/refunds>\n- [6] Shipping`) {
		t.Errorf("OpenAI's answer is %s", raw)
	}
}
