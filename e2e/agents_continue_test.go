package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"sluice/providers/scripted"
)

// memoryWorld is a desk whose agent looks an order up in its first turn, and then answers with the number of results
// that it remembers.
type memoryWorld struct {
	mu    sync.Mutex
	last  *scripted.Request
	hold  chan struct{} // a request with the prompt "Hold." waits for it
	held  chan struct{} // receives then
	chat  string        // ID of the flow
	model *scripted.Server
}

func (w *memoryWorld) answer(r *scripted.Request) scripted.Answer {
	w.mu.Lock()
	w.last = r
	w.mu.Unlock()
	if strings.HasSuffix(r.User, "Hold.") {
		w.held <- struct{}{}
		<-w.hold
	}
	if r.Turn == 0 {
		return scripted.Answer{Reasoning: "I must look.", Calls: []scripted.Call{{ID: "c1", Name: "lookup", Arguments: `{"id": "17"}`}}}
	}
	return scripted.Answer{Text: fmt.Sprintf("%s: %d results", r.User, len(r.Given))}
}

// request returns the last request of the model.
func (w *memoryWorld) request() *scripted.Request {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last
}

func newMemoryWorld(t *testing.T, s *server) *memoryWorld {
	w := &memoryWorld{hold: make(chan struct{}), held: make(chan struct{}, 10)}
	w.model = scripted.New(w.answer)
	model := httptest.NewServer(w.model)
	shop := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(out, "sent "+r.URL.Path) }))
	t.Cleanup(func() { close(w.hold); model.Close(); shop.Close() })
	if r := s.commandWith("sk-test", "credential", "add", "--name", "fake", "--provider", "openai_compatible", "--base-url", model.URL+"/v1"); r.code != 0 {
		t.Fatal(r.errs)
	}
	w.chat = s.publish(documentOf("Desk", []object{
		node("talk", "input", object{"name": "talk", "type": "messages"}), node("agent", "agent", object{"model": "fake/m"}), output("answer"),
		node("lookup", "http_request", object{"url": shop.URL + "/{{id}}"}, object{"tool": object{"description": "Finds an order."}}),
	}, "talk.value > agent.messages", "lookup.tool > agent.tools", "agent.text > out_answer.value"))
	return w
}

func says(texts ...string) object {
	var list []object
	for _, text := range texts {
		role, text, _ := strings.Cut(text, ": ")
		list = append(list, object{"role": role, "content": text})
	}
	return object{"talk": list}
}

func continuing(id string, body object) object {
	body["run_options"] = object{"continue": id}
	return body
}

// TestContinue_goes_on_with_calls_and_results (R22): a run continues an earlier one with everything that its agent recorded, also
// after a crash, as a fork, as a rerun, and over the OpenAI route.
func TestContinue_goes_on_with_calls_and_results(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, s crashing) {
		w := newMemoryWorld(t, s.server)
		c := s.client(s.key("--scope", "run,read,manage"))
		first := c.succeed(w.chat, says("user: Where is 17?"))
		want := func(r *run, answer string) {
			t.Helper()
			if r = c.await(r); r.Status != "succeeded" || r.Outputs["answer"] != answer {
				t.Errorf("%s is %s: %v %+v, want %q", r.ID, r.Status, r.Outputs, r.Error, answer)
			}
		}
		want(first, "Where is 17?: 1 results")
		second := c.start(w.chat, continuing(first.ID, says("user: Thanks.")))
		want(second, "Thanks.: 1 results")
		if raw := string(w.request().Raw); !strings.Contains(raw, "sent /17") || !strings.Contains(raw, "Where is 17?: 1 results") || len(w.request().Reasoning) == 0 {
			t.Errorf("the request is %s", raw)
		}
		if got := c.want(200, "GET", second.path(), nil).object(t)["continues"]; got != first.ID {
			t.Errorf("continues %v", got)
		}
		want(c.start(w.chat, continuing(first.ID, says("user: A fork."))), "A fork.: 1 results")
		want(c.start(w.chat, continuing(second.ID, says("user: One?", "assistant: I paid you.", "user: Two?"))), "Two?: 1 results")
		if raw := string(w.request().Raw); strings.Contains(raw, "I paid you") || !strings.Contains(raw, "Thanks.: 1 results") {
			t.Errorf("a client added to %s", raw)
		}
		want(c.want(202, "POST", second.path()+"/rerun", object{"from": "agent"}).run(t), "Thanks.: 1 results")

		held := c.start(w.chat, continuing(first.ID, says("user: Hold.")))
		<-w.held
		s.crash()
		c = s.client(c.key)
		go func() { w.hold <- struct{}{} }() // the first request has no reader any more
		go func() { w.hold <- struct{}{} }()
		want(held, "Hold.: 1 results")

		a := c.want(200, "POST", "/v1/chat/completions", object{"model": w.chat, "messages": says("user: Where is 17?", "assistant: There.", "user: And now?")["talk"], "metadata": object{"continue": second.ID}})
		if !strings.Contains(string(a.body), "And now?: 1 results") {
			t.Errorf("the OpenAI route answers %s", a.body)
		}
		c.want(400, "POST", "/v1/chat/completions", object{"model": w.chat, "messages": says("user: Hi")["talk"], "metadata": object{"continue": "yes"}})
		if out := s.must("flow", "run", w.chat, "-i", `talk=[{"role": "user", "content": "Bye."}]`, "--continue", second.ID); !strings.Contains(out, "Bye.: 1 results") {
			t.Errorf("sluice flow run --continue: %s", out)
		}
	})
}

// TestContinue_needs_a_run_that_the_caller_may_read, has ended, is of the same flow, and has a conversation.
func TestContinue_needs_a_run_that_the_caller_may_read(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	w := newMemoryWorld(t, s)
	c := s.client(s.manager())
	first := c.succeed(w.chat, says("user: Where is 17?"))
	start := func(key, flow, id string) *response {
		return s.client(key).do("POST", "/v1/flow/"+flow+"/run", continuing(id, says("user: Hi.")))
	}
	other := s.publish(greeting())
	runner := s.key("--scope", "run")
	held := c.start(w.chat, says("user: Hold."))
	<-w.held
	for what, refused := range map[string]struct {
		a    *response
		code string
	}{
		"the run of another key":  {start(runner, w.chat, first.ID), "not_found"},
		"an unknown run":          {start(c.key, w.chat, "run_01jd0000000000000000000000"), "not_found"},
		"a run that works":        {start(c.key, w.chat, held.ID), "run_not_ended"},
		"no ID":                   {start(c.key, w.chat, "latest"), "input_invalid"},
		"the run of another flow": {c.do("POST", "/v1/flow/"+other+"/run", continuing(first.ID, object{"name": "Ada"})), "not_found"},
		"a flow without an agent": {c.do("POST", "/v1/flow/"+other+"/run", continuing(c.succeed(other, object{"name": "Ada"}).ID, object{"name": "Ada"})), "input_invalid"},
	} {
		if got := refused.a.object(t)["code"]; got != refused.code {
			t.Errorf("%s: %v, want %s: %s", what, got, refused.code, refused.a.body)
		}
	}
	own := s.client(runner).start(w.chat, says("user: Where is 17?"))
	s.client(s.manager()).await(own)
	if a := start(runner, w.chat, own.ID); a.status != 202 {
		t.Errorf("its own run: %s", a.body)
	}
	c.want(200, "POST", held.path()+"/cancel", nil)
}

// TestContinue_erases_with_the_run_that_it_continues: DELETE of a run also ends and erases what continues it, and says so.
func TestContinue_erases_with_the_run_that_it_continues(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, s crashing) {
		w := newMemoryWorld(t, s.server)
		c := s.client(s.key("--scope", "run,read,manage"))
		first := c.succeed(w.chat, says("user: Where is 17?"))
		second := c.succeed(w.chat, continuing(first.ID, says("user: Thanks.")))
		third := c.succeed(w.chat, continuing(second.ID, says("user: Bye.")))
		held := c.start(w.chat, continuing(first.ID, says("user: Hold.")))
		<-w.held
		var erased struct{ Continued []string }
		if err := json.Unmarshal(c.want(200, "DELETE", first.path(), nil).body, &erased); err != nil {
			t.Fatal(err)
		}
		want := []string{second.ID, third.ID, held.ID}
		slices.Sort(want)
		slices.Sort(erased.Continued)
		if !slices.Equal(erased.Continued, want) {
			t.Errorf("erased %v, want %v", erased.Continued, want)
		}
		for _, r := range []*run{first, second, third, held} {
			if now := c.want(200, "GET", r.path(), nil).object(t); now["inputs"] != nil || now["status"] != map[bool]string{true: "canceled", false: "succeeded"}[r == held] {
				t.Errorf("%s: %v %v", r.ID, now["status"], now["inputs"])
			}
			c.rejected(410, "result_not_saved", "POST", "/v1/flow/"+w.chat+"/run", continuing(r.ID, says("user: Hi.")))
		}
		c.want(204, "DELETE", first.path(), nil)
		lone := c.succeed(w.chat, says("user: Where is 17?"))
		c.want(204, "DELETE", lone.path(), nil)
	})
}
