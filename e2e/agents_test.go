package e2e

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"sluice/providers/scripted"
)

// TestStarter_looks_up_orders_of_the_customer runs the template of an agent, and reads its steps over the
// API and with the command.
func TestStarter_looks_up_orders_of_the_customer(t *testing.T) {
	t.Parallel()
	model := httptest.NewServer(scripted.New(func(r *scripted.Request) scripted.Answer {
		if r.Turn == 0 {
			return scripted.Answer{Calls: []scripted.Call{{ID: "1", Name: "find_order", Arguments: `{"number": "1017"}`}}}
		}
		return scripted.Answer{Text: "The shop says: " + r.Given["1"]}
	}))
	t.Cleanup(model.Close)
	s := newServer(t)
	if r := s.commandWith("sk-test", "credential", "add", "--name", "fake", "--provider", "openai_compatible", "--base-url", model.URL+"/v1"); r.code != 0 {
		t.Fatal(r.errs)
	}
	data, err := os.ReadFile("../cmd/sluice/starters/support-with-orders.json")
	if err != nil {
		t.Fatal(err)
	}
	id, c := s.publish([]byte(strings.Replace(string(data), `"config": {"prompt"`, `"config": {"model": "fake/m", "prompt"`, 1))), s.client(s.key())
	r := c.succeed(id, object{"question": "Where is my order 1017?", "customer": "c-1"})
	if answer := r.Outputs["answer"].(string); !strings.Contains(answer, "Tuesday") {
		t.Errorf("the answer is %q", answer)
	}
	other := c.succeed(id, object{"question": "Where is my order 1017?", "customer": "c-2"})
	if answer := other.Outputs["answer"].(string); strings.Contains(answer, "Tuesday") {
		t.Errorf("another customer got %q", answer)
	}
	var list struct {
		Steps []struct {
			Path      string
			TotalCost *struct {
				Unpriced int `json:"unpriced_steps"`
			} `json:"total_cost"`
		}
	}
	if err := json.Unmarshal(c.want(200, "GET", r.path()+"/steps", nil).body, &list); err != nil {
		t.Fatal(err)
	}
	for _, step := range list.Steps {
		if isAgent := step.Path == "agent"; (step.TotalCost != nil) != isAgent || isAgent && step.TotalCost.Unpriced != 2 || strings.Contains(step.Path, ".") || step.Path == "order" {
			t.Errorf("the step is %+v", step)
		}
	}
	tree := s.command("run", "steps", id, r.ID, "--tree")
	if lines := strings.Join(strings.Fields(tree.out), " "); tree.code != 0 || !strings.Contains(lines, "agent.1 agent agent_turn succeeded") || !strings.Contains(lines, "agent.1.1 order code succeeded") {
		t.Errorf("the tree is %s%s", tree.out, tree.errs)
	}
}

// TestMetrics_count_agents: turns and calls by state, and calls whose outcome is unknown, once each.
func TestMetrics_count_agents(t *testing.T) {
	t.Parallel()
	shop := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			panic(http.ErrAbortHandler) // after the request has arrived
		}
	}))
	t.Cleanup(shop.Close)
	model := httptest.NewServer(scripted.New(func(r *scripted.Request) scripted.Answer {
		if r.Turn == 0 {
			return scripted.Answer{Calls: []scripted.Call{{ID: "1", Name: "look", Arguments: "{}"}, {ID: "2", Name: "book", Arguments: "{}"}, {ID: "3", Name: "look", Arguments: "{}"}}}
		}
		return scripted.Answer{Text: "Done."}
	}))
	t.Cleanup(model.Close)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := listener.Addr().String()
	_ = listener.Close()
	s := newServer(t, "SLUICE_METRICS_ADDR="+at)
	if r := s.commandWith("sk-test", "credential", "add", "--name", "fake", "--provider", "openai_compatible", "--base-url", model.URL+"/v1"); r.code != 0 {
		t.Fatal(r.errs)
	}
	metrics := func() string {
		t.Helper()
		response, err := http.Get("http://" + at + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if !strings.Contains(metrics(), "\nsluice_agent_unknown_outcomes_total 0\n") {
		t.Error("unknown outcomes are missing before the first, so that alarms would miss it")
	}
	id, c := s.publish(documentOf("Agent", []object{
		node("agent", "agent", object{"model": "fake/m", "prompt": "Go."}), output("answer"),
		node("look", "http_request", object{"url": shop.URL}, object{"tool": object{"description": "Looks."}}),
		node("book", "http_request", object{"method": "POST", "url": shop.URL}, object{"tool": object{"description": "Books.", "approval": "never"}}),
	}, "look.tool > agent.tools", "book.tool > agent.tools", "agent.text > out_answer.value")), s.client(s.key())
	c.succeed(id, object{})
	text := metrics()
	for _, line := range []string{
		`sluice_agent_turns_ended_total{code="",state="succeeded"} 2`, `sluice_agent_calls_ended_total{code="",state="succeeded"} 2`,
		`sluice_agent_calls_ended_total{code="outcome_unknown",state="failed"} 1`, "sluice_agent_unknown_outcomes_total 1",
	} {
		if !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("%s is missing in %s", line, text)
		}
	}
}

// TestAgentChat_shows_turns_live: the page of a chat gets the text of each turn while the agent works, and the reply is the
// text of all turns.
func TestAgentChat_shows_turns_live(t *testing.T) {
	t.Parallel()
	heard := make(chan struct{})
	hear := sync.OnceFunc(func() { close(heard) })
	t.Cleanup(hear)
	model := httptest.NewServer(scripted.New(func(r *scripted.Request) scripted.Answer {
		if r.Turn == 0 {
			return scripted.Answer{Text: "Let me see.", Calls: []scripted.Call{{ID: "1", Name: "look", Arguments: `{"n": "1"}`}}}
		}
		return scripted.Answer{Text: "It is on its way.", Before: func() { <-heard }}
	}))
	t.Cleanup(model.Close)
	d := formServer(t, model.URL+"/v1")
	id := d.publish(documentOf("Helper", []object{
		node("talk", "input", object{"name": "talk", "type": "messages"}), node("agent", "agent", object{"model": "openai/m"}), output("reply"),
		node("look", "code", object{"code": "export default ({ n }) => 'found ' + n;", "inputs": []string{"n"}}, object{"tool": object{"description": "Looks."}}),
	}, "talk.value > agent.messages", "look.tool > agent.tools", "agent.text > out_reply.value"))
	d.openForm(id)
	path := d.visit(http.MethodPost, "/f/"+id, url.Values{"in.talk": {"Where is it?"}}).Header.Get("Location")
	events, seen := bufio.NewScanner(d.visit(http.MethodGet, path+"/events", nil).Body), ""
	for events.Scan() {
		seen += events.Text() + "\n"
		if strings.Contains(seen, "Let me see.") {
			hear()
		}
	}
	for _, part := range []string{`"output":"reply"`, `"text":"Let me see."`, `"state":"succeeded","text":"Let me see.\n\nIt is on its way."`} {
		if !strings.Contains(seen, part) {
			t.Errorf("%s is missing in %s", part, seen)
		}
	}
}

// TestAgentReply_is_what_it_says_in_all_turns: the route of OpenAI's API streams the text of each turn while the agent
// works, with a blank line between turns, and gives the same text without streaming.
func TestAgentReply_is_what_it_says_in_all_turns(t *testing.T) {
	t.Parallel()
	heard := make(chan struct{})
	hear := sync.OnceFunc(func() { close(heard) })
	t.Cleanup(hear)
	model := httptest.NewServer(scripted.New(func(r *scripted.Request) scripted.Answer {
		switch r.Turn {
		case 0:
			return scripted.Answer{Text: "Let me see.", Calls: []scripted.Call{{ID: "1", Name: "look", Arguments: `{"n": "1"}`}}}
		case 1:
			return scripted.Answer{Calls: []scripted.Call{{ID: "2", Name: "look", Arguments: `{"n": "2"}`}}}
		}
		return scripted.Answer{Text: "It is on its way.", Before: func() { <-heard }}
	}))
	t.Cleanup(model.Close)
	s := newServer(t)
	if r := s.commandWith("sk-test", "credential", "add", "--name", "fake", "--provider", "openai_compatible", "--base-url", model.URL+"/v1"); r.code != 0 {
		t.Fatal(r.errs)
	}
	s.publish(documentOf("Helper", []object{
		input("q"), node("agent", "agent", object{"model": "fake/m", "prompt": "{{q}}"}), output("reply"),
		node("look", "code", object{"code": "export default ({ n }) => 'found ' + n;", "inputs": []string{"n"}}, object{"tool": object{"description": "Looks."}}),
	}, "q.value > agent.q", "look.tool > agent.tools", "agent.text > out_reply.value"))
	c := s.client(s.key("--scope", "run"))
	ask := func(stream bool) object {
		return object{"model": "helper", "stream": stream, "messages": []object{{"role": "user", "content": "Where is it?"}}}
	}
	response, err := c.open(t.Context(), "POST", "/v1/chat/completions", ask(true))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	streamed := ""
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		data, isData := strings.CutPrefix(lines.Text(), "data: ")
		var chunk struct {
			Choices []struct{ Delta struct{ Content string } }
		}
		if !isData || json.Unmarshal([]byte(data), &chunk) != nil {
			continue
		}
		for _, choice := range chunk.Choices {
			streamed += choice.Delta.Content
		}
		if streamed == "Let me see." { // long before the run ends
			hear()
		}
	}
	const want = "Let me see.\n\nIt is on its way."
	if streamed != want {
		t.Errorf("streamed %q", streamed)
	}
	var whole struct {
		Choices []struct{ Message struct{ Content string } }
	}
	if err := json.Unmarshal(c.want(200, "POST", "/v1/chat/completions", ask(false)).body, &whole); err != nil {
		t.Fatal(err)
	}
	if got := whole.Choices[0].Message.Content; got != want {
		t.Errorf("answered %q", got)
	}
}
