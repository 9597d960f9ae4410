package agents_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"sluice/flow"
	"sluice/flow/value"
	"sluice/providers/scripted"
)

// messages returns the messages of the nth request, from 0, without that of the system, each as JSON.
func (w *world) messages(t *testing.T, n int) (list []string) {
	t.Helper()
	all, _ := w.model.Requests()[n].Body["messages"].([]any)
	for _, m := range all {
		list = append(list, string(flow.EncodeJSON(m)))
	}
	return list
}

// changed counts the requests that do not begin with all messages of the one before.
func (w *world) changed(t *testing.T) (n int) {
	t.Helper()
	for i := 1; i < len(w.model.Requests()); i++ {
		if before := w.messages(t, i-1); strings.Join(before, "") != strings.Join(w.messages(t, i)[:min(len(before), len(w.messages(t, i)))], "") {
			n++
		}
	}
	return n
}

// TestAgent_replaces_old_results_by_marks (R19, R20) has long results. The marks come rarely and keep each call
// together with its result, no recorded row changes, and the model reads the result without a second call.
func TestAgent_replaces_old_results_by_marks(t *testing.T) {
	t.Parallel()
	const turns = 20
	w := newWorld(t, func(r *scripted.Request) string {
		switch {
		case r.Turn < turns:
			return fmt.Sprintf(`lookup {"id": "%d"}`, r.Turn+1)
		case r.Turn == turns:
			return `read_result {"call": "n.1.1", "from": 90}`
		}
		return "Done."
	})
	w.shop.answer = func(out http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(out, r.URL.Path+strings.Repeat("x", 3000))
	}
	r := w.ask(t, `, "compact_at": 8000, "max_turns": 50`, "")
	if r.State != flow.StepSucceeded || len(w.shop.paths) != turns || r.rows["n.7s"].Path != "" {
		t.Fatalf("%s %v after %d requests to the shop: %s", r.State, r.Error, len(w.shop.paths), r.paths())
	}
	last := strings.Join(w.messages(t, len(w.model.Requests())-1), "\n")
	has(t, last, "[result of n.1.1, 3 KiB: read_result]", "Where is it?", "/orders/20")
	for turn := 1; turn <= turns; turn++ {
		has(t, string(flow.EncodeJSON(r.rows[fmt.Sprintf("n.%d.1", turn)].Outputs)), fmt.Sprintf("/orders/%dxxx", turn))
	}
	for i, request := range w.model.Requests() {
		if len(request.Calls) != len(request.Given) {
			t.Errorf("request %d has %d calls and %d results", i+1, len(request.Calls), len(request.Given))
		}
		if n := len(request.Raw); n > 3*8000*2 {
			t.Errorf("request %d has %d bytes", i+1, n)
		}
	}
	if n := w.changed(t); n == 0 || n > 5 {
		t.Errorf("%d of %d requests begin with something new", n, turns)
	}
	read := w.results(t, len(w.model.Requests()))
	if got := read[len(read)-1]; !strings.Contains(got, "xxxxx") {
		t.Errorf("the rest of the result is %.40q", got)
	}
	conversation := string(flow.EncodeJSON(value.Plain(r.Outputs["messages"])))
	if has(t, conversation, "/orders/1xxx"); strings.Contains(conversation, "[result of") {
		t.Error("the conversation in the outputs has marks")
	}
}

// chatty is a model that says much and calls a tool in each of a number of turns.
func chatty(turns int) func(r *scripted.Request) string {
	said := 0
	return func(r *scripted.Request) string {
		switch {
		case strings.Contains(r.User, "has become too long"):
			return "I asked for some orders."
		case said < turns:
			said++
			return fmt.Sprintf("%s\nlookup {\"id\": \"%d\"}", strings.Repeat("thinking ", 400), said)
		}
		return "Done."
	}
}

// TestAgent_summarizes_old_turns (R19, R21) has answers that marks cannot shorten. A step summarizes them, the
// summary names the results that it leaves out, and the first message and the newest turns stay.
func TestAgent_summarizes_old_turns(t *testing.T) {
	t.Parallel()
	w := newWorld(t, chatty(12))
	r := w.ask(t, `, "compact_at": 8000, "max_turns": 50`, "")
	if r.State != flow.StepSucceeded || r.Outputs["text"] != "Done." || len(w.shop.paths) != 12 {
		t.Fatalf("%s %v: %s", r.State, r.Error, r.paths())
	}
	summary := r.rows["n.7s"]
	if summary.State != flow.StepSucceeded || summary.Outputs["text"] != "I asked for some orders." || summary.Usage.InputTokens == 0 {
		t.Fatalf("the summary is %s: %s", summary.State, r.paths())
	}
	last := w.messages(t, len(w.model.Requests())-1)
	has(t, last[0], "Where is it?")
	has(t, last[1], "The text from here to the next", "I asked for some orders.", "- n.1.1 of lookup, 39 bytes", "- n.4.1 of lookup", "read_result")
	for i, request := range w.model.Requests() {
		if len(request.Calls) != len(request.Given) {
			t.Errorf("request %d has %d calls and %d results", i+1, len(request.Calls), len(request.Given))
		}
	}
	if n := w.changed(t); n > 6 { // twice for each summary: its request, and the turn after it
		t.Errorf("%d requests begin with something new", n)
	}
	usage := r.Outputs["usage"]
	if got := flow.Text(value.Get(usage, "turns")); got != "13" {
		t.Errorf("%s turns", got)
	}
	if total := flow.Text(value.Get(usage, "input_tokens")); total != fmt.Sprint(r.run.Usage.InputTokens) {
		t.Errorf("%s tokens of %d", total, r.run.Usage.InputTokens)
	}
	conversation := string(flow.EncodeJSON(value.Plain(r.Outputs["messages"])))
	if has(t, conversation, "/orders/1\\\""); strings.Contains(conversation, "I asked for some orders.") {
		t.Error("the conversation in the outputs has the summary")
	}
	again := w.execute(t, `
		n agent {"model": "fake/m", "prompt": "Where is it?", "compact_at": 8000, "max_turns": 50}
		lookup http_request {"url": "SHOP/orders/{{id}}"} {"tool": {"description": "Finds an order."}}
		lookup.tool -> n.tools`, nil, r)
	if again.rows["n.7s"].State != flow.StepReused && again.State != flow.StepReused {
		t.Errorf("a rerun: %s", again.paths())
	}
}

// TestAgent_fails_without_a_summary of a conversation that is too long.
func TestAgent_fails_without_a_summary(t *testing.T) {
	t.Parallel()
	model := chatty(12)
	w := newWorld(t, func(r *scripted.Request) string {
		if answer := model(r); answer != "I asked for some orders." {
			return answer
		}
		return " "
	})
	if r := w.ask(t, `, "compact_at": 8000, "max_turns": 50`, ""); r.State != flow.StepFailed || r.Error.Code != flow.CodeOutputInvalid {
		t.Errorf("%s %v", r.State, r.Error)
	}
}
