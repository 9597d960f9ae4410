package handlers_test

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"sluice/flow"
	"sluice/handlers/webtest"
	"sluice/providers/scripted"
)

// scriptedModel makes the models of the provider fake answer by a script.
func scriptedModel(t *testing.T, h *webtest.Env, answer func(*scripted.Request) scripted.Answer) {
	t.Helper()
	model := httptest.NewServer(scripted.New(answer))
	t.Cleanup(model.Close)
	if err := h.Store.SaveCredential(t.Context(), flow.Credential{WorkspaceID: flow.DefaultWorkspace, Name: "fake", Provider: "openai_compatible", BaseURL: model.URL + "/v1"}, "sk-1"); err != nil {
		t.Fatal(err)
	}
}

// tally counts by name.
type tally struct {
	mu sync.Mutex
	by map[string]int
}

func (c *tally) add(name string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.by == nil {
		c.by = map[string]int{}
	}
	c.by[name]++
	return c.by[name]
}

// take returns the counts since the last call.
func (c *tally) take() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.by
	c.by = nil
	return was
}

// tenSteps is a flow of ten steps with models: two that follow the inputs, each with a chain of three, and two that join what came before.
func tenSteps(prompt func(step string) string) string {
	var nodes, edges []string
	chat := func(id string, from ...string) {
		text := prompt(id)
		for i, f := range from {
			text += fmt.Sprintf(" {{p%d}}", i)
			edges = append(edges, fmt.Sprintf(`{"from":"%s","to":"%s.p%d"}`, f, id, i))
		}
		nodes = append(nodes, fmt.Sprintf(`{"id":"%s","kind":"chat","config":{"model":"fake/m","prompt":"%s"}}`, id, text))
	}
	chat("a1", "in.value")
	chat("a2", "a1.text")
	chat("a3", "a2.text")
	chat("a4", "a3.text")
	chat("b1", "in.value")
	chat("b2", "b1.text")
	chat("b3", "b2.text")
	chat("b4", "b3.text")
	chat("c1", "a2.text", "b4.text")
	chat("c2", "c1.text", "a4.text")
	nodes = append(nodes, `{"id":"in","kind":"input","config":{"name":"word","type":"text"}}`, `{"id":"out","kind":"output","config":{"name":"answer"}}`)
	edges = append(edges, `{"from":"c2.text","to":"out.value"}`)
	return `{"schema":"sluice.flow/v1","name":"Ten","nodes":[` + strings.Join(nodes, ",") + `],"edges":[` + strings.Join(edges, ",") + `]}`
}

// TestTests_call_what_a_changed_prompt_changes: after a change of the prompt of one of ten steps, a test calls that step and those behind it,
// once per case. The results of the old prompt stay.
func TestTests_call_what_a_changed_prompt_changes(t *testing.T) {
	onBothStores(t, func(t *testing.T, h *webtest.Env) {
		var asked tally
		scriptedModel(t, h, func(r *scripted.Request) scripted.Answer {
			step, _, _ := strings.Cut(r.User, " ")
			asked.add(step)
			return scripted.Answer{Text: step + " says " + flow.Hash([]byte(r.User))[:8]} // another text for each case
		})
		prompt := func(changed string) func(string) string {
			return func(step string) string {
				if step == changed {
					return step + " in other words"
				}
				return step + " of"
			}
		}
		c := &testClient{newCaller(h, nil, flow.Key{Scopes: flow.Scopes}), h.PublishedFlow(tenSteps(prompt("")))}
		for _, word := range []string{"one", "two", "three"} {
			c.must(200, "PUT", "/cases/"+word, `{"inputs":{"word":"`+word+`"}}`)
		}
		if r := c.test(`{"mode":"fill"}`); r.State != "passed" {
			t.Fatalf("%+v", r)
		}
		if got := asked.take(); len(got) != 10 || got["a1"] != 3 || got["c2"] != 3 {
			t.Fatalf("the first time: %v", got)
		}
		h.Replace(flow.FlowID(c.flow), tenSteps(prompt("b2")))
		if r := c.test(`{"mode":"replay","candidates":[{"version":"draft"}]}`); r.Candidates[0].Stale != 3 || !strings.HasPrefix(r.Cases[0].Results[0].Message, "b2 has no recorded result. The input p") {
			t.Errorf("a replay: %+v", r)
		}
		if r := c.test(`{"mode":"fill","candidates":[{"version":"draft"}],"baseline":{"version":"live"}}`); r.State != "passed" || r.Runs != 6 {
			t.Fatalf("%+v", r)
		}
		if got := asked.take(); fmt.Sprint(got) != "map[b2:3 b3:3 b4:3 c1:3 c2:3]" {
			t.Errorf("after a change: %v", got)
		}
		// Both prompts replay from now on.
		if r := c.test(`{"mode":"replay","candidates":[{"version":"draft"},{"version":"live"}]}`); r.State != "passed" || len(asked.take()) != 0 {
			t.Errorf("%+v", r)
		}
	})
}
