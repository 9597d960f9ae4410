package e2e

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"sluice/providers/scripted"
)

// pricedServer starts a server with a scripted model fake/m. Each of its answers costs 0.1 USD.
func pricedServer(t *testing.T, answer func(*scripted.Request) scripted.Answer) *server {
	t.Helper()
	model := httptest.NewServer(scripted.New(func(r *scripted.Request) scripted.Answer {
		a := answer(r)
		a.Input, a.Output = 1000, 1
		return a
	}))
	t.Cleanup(model.Close)
	s := newServer(t)
	if r := s.commandWith("sk-test", "credential", "add", "--name", "fake", "--provider", "openai_compatible", "--base-url", model.URL+"/v1"); r.code != 0 {
		t.Fatal(r.errs)
	}
	s.must("price", "set", "fake/m", "--input", "100", "--output", "0")
	return s
}

// costOf returns a run as the API shows it.
func costOf(c *client, r *run) (usd, limit string) {
	var o struct {
		Cost   struct{ USD string }
		MaxUSD string `json:"max_usd"`
	}
	if err := json.Unmarshal(c.want(200, "GET", r.path(), nil).body, &o); err != nil {
		c.t.Fatal(err)
	}
	return o.Cost.USD, o.MaxUSD
}

// TestRunBudget_stops_runs_batches_and_commands has a flow with three paid steps of 0.1 USD in a row.
func TestRunBudget_stops_runs_batches_and_commands(t *testing.T) {
	t.Parallel()
	s := pricedServer(t, func(*scripted.Request) scripted.Answer { return scripted.Answer{Text: "Hello."} })
	ask := object{"model": "fake/m", "prompt": "{{q}}"}
	document := documentOf("Three", []object{input("q"), node("a", "chat", ask), node("b", "chat", ask), node("c", "chat", ask), output("text")},
		"q.value > a.q", "a.text > b.q", "b.text > c.q", "c.text > out_text.value")
	id, c := s.publish(document), s.client(s.manager())
	limited := func(most any) object { return object{"q": "Hi", "run_options": object{"max_usd": most}} }
	r := c.await(c.start(id, limited(0.15)))
	if r.Status != "failed" || r.Error.Code != "budget_exceeded" || r.Error.Node != "c" || !strings.Contains(r.Error.Message, "has cost 0.2 of the 0.15 USD") {
		t.Fatalf("the run is %s: %+v", r.Status, r.Error)
	}
	if usd, limit := costOf(c, r); usd != "0.20" || limit != "0.15" {
		t.Errorf("it cost %s of %s", usd, limit)
	}
	again := c.await(c.do("POST", r.path()+"/rerun", object{}).run(t)) // reuses two steps, and has the same limit
	if usd, limit := costOf(c, again); again.Status != "succeeded" || usd != "0.10" || limit != "0.15" {
		t.Errorf("the rerun is %s and cost %s of %s", again.Status, usd, limit)
	}
	if free := c.succeed(id, limited(nil)); free.Status != "succeeded" {
		t.Errorf("without a limit the run is %s", free.Status)
	}
	for _, wrong := range []any{0, -1, "1", 1e7} {
		c.rejected(422, "input_invalid", "POST", "/v1/flow/"+id+"/run", limited(wrong))
	}
	caller := s.publish(documentOf("Caller", []object{input("q"), node("call", "subflow", object{
		"flow": id, "contract": object{"inputs": []object{{"name": "q", "type": "text", "required": true}}, "outputs": []object{{"name": "text", "type": "text"}}},
	}), output("text")}, "q.value > call.input.q", "call.text > out_text.value"))
	below := c.await(c.start(caller, limited(0.15)))
	if usd, _ := costOf(c, below); below.Status != "failed" || usd != "0.20" {
		t.Errorf("the run with a child run is %s and cost %s: %+v", below.Status, usd, below.Error)
	}
	var batch struct{ Run run }
	if err := json.Unmarshal(c.want(202, "POST", "/v1/flow/"+id+"/batches", object{"rows": []object{{"q": "1"}, {"q": "2"}, {"q": "3"}}, "concurrency": 1, "max_usd": 0.35}).body, &batch); err != nil {
		t.Fatal(err)
	}
	ended := c.await(&batch.Run)
	var counted struct {
		Run  struct{ Cost struct{ USD string } }
		Rows struct{ Succeeded, Failed int }
	}
	read(t, c, "/v1/flow/"+id+"/batches/"+ended.ID, &counted)
	if counted.Rows.Succeeded != 1 || counted.Rows.Failed != 1 || counted.Run.Cost.USD != "0.40" {
		t.Errorf("the batch is %s: %+v", ended.Status, counted)
	}
	if got := s.command("flow", "run", id, "-i", "q=Hi", "--max-usd", "0.15", "--json"); got.code != 1 || !strings.Contains(got.out+got.errs, "budget_exceeded") {
		t.Errorf("the command: %d %s %s", got.code, got.out, got.errs)
	}
	unpriced := s.publish(documentOf("Unpriced", []object{input("q"), node("a", "chat", object{"model": "fake/other", "prompt": "{{q}}"}), output("text")}, "q.value > a.q", "a.text > out_text.value"))
	c.succeed(unpriced, object{"q": "Hi"})
	c.rejected(402, "price_unknown", "POST", "/v1/flow/"+unpriced+"/run", limited(1))
}

// TestAgentBudget_ends_agents (R12) has agents that call a tool forever, each turn for 0.1 USD.
func TestAgentBudget_ends_agents(t *testing.T) {
	t.Parallel()
	s := pricedServer(t, func(r *scripted.Request) scripted.Answer {
		if r.Body["tool_choice"] == "none" || len(r.Tools) == 0 {
			return scripted.Answer{Text: "What I have."}
		}
		return scripted.Answer{Calls: []scripted.Call{{ID: "c" + string(rune('a'+r.Turn)), Name: "look", Arguments: `{"n": "` + string(rune('a'+r.Turn)) + `"}`}}}
	})
	expensive := s.publish(documentOf("Expensive", []object{input("n"), node("say", "chat", object{"model": "fake/m", "prompt": "{{n}}"}), output("said")}, "n.value > say.n", "say.text > out_said.value"))
	c := s.client(s.key())
	free := node("look", "code", object{"code": "export default ({ n }) => 'found ' + n;", "inputs": []string{"n"}}, object{"tool": object{"description": "Looks."}})
	flowTool := node("look", "subflow", object{"flow": expensive, "contract": object{"inputs": []object{{"name": "n", "type": "text", "required": true}}, "outputs": []object{{"name": "said", "type": "text"}}}},
		object{"tool": object{"description": "Looks."}})
	for _, test := range []struct {
		name          string
		most          float64
		onLimit, cost string
		tool          object
		finish, code  string
	}{
		{"an answer has room", 0.35, "answer", "0.30", free, "limit", ""},
		{"it fails when it has cost more", 0.35, "fail", "0.40", free, "", "agent_limit"},
		{"it takes the branch", 0.35, "route", "0.40", free, "limit", ""},
		{"child runs count", 0.15, "answer", "0.20", flowTool, "", "agent_limit"},
		{"child runs count on the branch", 0.15, "route", "0.20", flowTool, "limit", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			agent := node("agent", "agent", object{"model": "fake/m", "prompt": "{{q}}", "max_usd": test.most, "on_limit": test.onLimit})
			id := s.publish(documentOf("Agent "+test.name, []object{input("q"), agent, test.tool, output("finish")},
				"q.value > agent.q", "look.tool > agent.tools", "agent.finish > out_finish.value"))
			r := c.await(c.start(id, object{"q": "Go."}))
			usd, _ := costOf(c, r)
			code := ""
			if r.Error != nil {
				code = r.Error.Code
			}
			var list struct {
				Steps []struct {
					Path      string
					TotalCost *struct{ USD string } `json:"total_cost"`
				}
			}
			read(t, c, r.path()+"/steps", &list)
			for _, step := range list.Steps {
				if step.TotalCost != nil && (step.Path != "agent" || step.TotalCost.USD != test.cost) {
					t.Errorf("the total cost of %s is %s, want %s with child runs", step.Path, step.TotalCost.USD, test.cost)
				}
			}
			if finish, _ := r.Outputs["finish"].(string); finish != test.finish || code != test.code || usd != test.cost {
				t.Errorf("finish %q, %+v, cost %s", finish, r.Error, usd)
			}
		})
	}
}
