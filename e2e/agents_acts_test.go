package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"sluice/providers/scripted"
)

// refundWorld is a shop and a model that refunds 12.90 in each turn until it has made two refunds.
type refundWorld struct {
	mu      sync.Mutex
	refunds []string    // bodies
	turns   int         // requests of the model
	last    string      // result of the first call, as the model saw it last
	begun   chan string // receives each refund, if the test wants to hold it
	let     chan struct{}
	id      string // of the flow
	s       *server
	c       *client
}

// newRefundWorld publishes an agent that may refund a charge, which the caller determines.
func newRefundWorld(t *testing.T, hold bool) *refundWorld {
	w := &refundWorld{begun: make(chan string, 10), let: make(chan struct{})}
	shop := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.mu.Lock()
		w.refunds = append(w.refunds, r.URL.Path+" "+string(body))
		w.mu.Unlock()
		if hold {
			w.begun <- string(body)
			<-w.let
		}
		_, _ = io.WriteString(out, `{"status": "refunded"}`)
	}))
	model := httptest.NewServer(scripted.New(func(r *scripted.Request) scripted.Answer {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.turns++
		if r.Turn > 0 {
			w.last = r.Given["c1"]
		}
		if r.Turn == 2 {
			return scripted.Answer{Text: "Refunded."}
		}
		return scripted.Answer{Text: "I refund.", Calls: []scripted.Call{{ID: fmt.Sprint("c", r.Turn+1), Name: "refund", Arguments: fmt.Sprintf(`{"amount": "12.90", "reason": "late %d"}`, r.Turn+1)}}}
	}))
	t.Cleanup(shop.Close)
	t.Cleanup(model.Close)
	w.s = newServer(t)
	if r := w.s.commandWith("sk-test", "credential", "add", "--name", "fake", "--provider", "openai_compatible", "--base-url", model.URL+"/v1"); r.code != 0 {
		t.Fatal(r.errs)
	}
	w.id = w.s.publish(documentOf("Refunds", []object{
		input("charge"), node("agent", "agent", object{"model": "fake/m", "prompt": "Refund twice."}), output("answer"),
		node("refund", "http_request", object{"url": shop.URL + "/charges/{{charge}}", "method": "POST", "body": `{"amount": "{{amount}}", "reason": "{{reason}}"}`},
			object{"tool": object{"description": "Refunds a part of the charge.", "approval": "never", "params": object{"amount": object{"description": "Dollars", "schema": object{"type": "string"}}}}}),
	}, "charge.value > refund.charge", "refund.tool > agent.tools", "agent.text > out_answer.value"))
	w.c = w.s.client(w.s.manager())
	return w
}

// sub returns the steps inside of the agent by path, with their states.
func (w *refundWorld) sub(t *testing.T, r *run) string {
	t.Helper()
	var list struct {
		Steps []struct{ Path, State string }
	}
	if err := json.Unmarshal(w.c.want(200, "GET", r.path()+"/steps?under=agent", nil).body, &list); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, s := range list.Steps {
		all = append(all, s.Path+" "+s.State)
	}
	return strings.Join(all, ", ")
}

// TestAgents_stop_after_the_turn stops an agent while a call runs: the call ends and is recorded, and a
// rerun continues with the next turn.
func TestAgents_stop_after_the_turn(t *testing.T) {
	t.Parallel()
	w := newRefundWorld(t, true)
	r := w.c.start(w.id, object{"charge": "ch_1"})
	<-w.begun
	w.c.rejected(422, "input_invalid", "POST", r.path()+"/cancel", object{"after": "lunch"})
	if now := w.c.want(200, "POST", r.path()+"/cancel", object{"after": "turn"}).run(t); now.ended() {
		t.Fatalf("the run %s at once", now.Status)
	}
	if out := w.s.must("run", "cancel", w.id, r.ID, "--after", "turn"); !strings.Contains(out, "Stopping after the turn.") {
		t.Errorf("the command says %q", out)
	}
	close(w.let)
	if end := w.c.await(r); end.Status != "canceled" {
		t.Fatalf("the run %s", end.Status)
	}
	if got := w.sub(t, r); got != "agent.1 succeeded, agent.1.1 succeeded" {
		t.Errorf("its steps: %s", got)
	}
	again := w.c.await(w.c.want(202, "POST", r.path()+"/rerun", object{}).run(t))
	if again.Status != "succeeded" || len(w.refunds) != 2 || w.turns != 3 {
		t.Errorf("the rerun %s after %d turns with %q", again.Status, w.turns, w.refunds)
	}
	if got := w.sub(t, again); got != "agent.1 reused, agent.1.1 reused, agent.2 succeeded, agent.2.1 succeeded, agent.3 succeeded" {
		t.Errorf("steps of the rerun: %s", got)
	}
}

// TestAgents_run_a_call_again_with_edits changes the arguments of the first refund. The bound charge
// stays, the model learns of the change, and another rerun keeps it.
func TestAgents_run_a_call_again_with_edits(t *testing.T) {
	t.Parallel()
	w := newRefundWorld(t, false)
	r := w.c.succeed(w.id, object{"charge": "ch_1"})
	edits := object{"from": "agent.1.1", "arguments": object{"amount": "9.90", "reason": "late 1"}}
	w.s.client(w.s.key("--scope", "run,read")).rejected(403, "scope_missing", "POST", r.path()+"/rerun", edits)
	for _, wrong := range []object{
		{"from": "agent.1", "arguments": object{}}, {"from": "agent.9.1", "arguments": object{}}, {"arguments": object{}}, {"from": "nobody.1.1", "arguments": object{}},
		{"from": "agent.1.1", "arguments": object{"amount": "9.90"}},
		{"from": "agent.1.1", "arguments": object{"amount": "9.90", "reason": "x", "charge": "ch_2"}},
	} {
		w.c.rejected(422, "input_invalid", "POST", r.path()+"/rerun", wrong)
	}
	again := w.c.await(w.c.want(202, "POST", r.path()+"/rerun", edits).run(t))
	if again.Status != "succeeded" || len(w.refunds) != 4 || w.refunds[2] != `/charges/ch_1 {"amount":"9.90","reason":"late 1"}` && w.refunds[2] != `/charges/ch_1 {"amount": "9.90", "reason": "late 1"}` {
		t.Fatalf("the rerun %s with %q: %s", again.Status, w.refunds, w.c.want(200, "GET", again.path()+"/steps?under=agent&contents=1", nil).body)
	}
	if !strings.Contains(w.last, "A person changed the arguments") || !strings.Contains(w.last, "9.90") {
		t.Errorf("the model was told %q", w.last)
	}
	if w.turns != 3+2 {
		t.Errorf("%d turns, so the first was not reused", w.turns)
	}
	if got := w.sub(t, again); got != "agent.1 reused, agent.1.1 succeeded, agent.1.1.edit succeeded, agent.2 succeeded, agent.2.1 succeeded, agent.3 succeeded" {
		t.Errorf("its steps: %s", got)
	}
	kept := w.c.await(w.c.want(202, "POST", again.path()+"/rerun", object{"from": "agent.2"}).run(t))
	if kept.Status != "succeeded" || len(w.refunds) != 5 || !strings.Contains(w.refunds[4], "late 2") {
		t.Errorf("a rerun from the next turn %s with %q", kept.Status, w.refunds)
	}
	if got := w.sub(t, kept); !strings.Contains(got, "agent.1.1 reused, agent.1.1.edit succeeded") {
		t.Errorf("its steps: %s", got)
	}
	fresh := w.c.await(w.c.want(202, "POST", again.path()+"/rerun", object{"from": "agent.1"}).run(t))
	if fresh.Status != "succeeded" || !strings.Contains(w.refunds[5], "12.90") {
		t.Errorf("a rerun from before the change %s with %q", fresh.Status, w.refunds)
	}
}
