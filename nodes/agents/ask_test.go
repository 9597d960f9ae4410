package agents_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/flow"
	"sluice/flow/value"
)

// people answers the questions of a run. nil leaves a question open.
type people struct {
	mu     sync.Mutex
	asked  map[string]flow.Question // by path
	answer func(path string, q *flow.Question) *flow.Decision
}

// AskApproval implements flow.Approvals.
func (p *people) AskApproval(_ context.Context, a *flow.Approval) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asked == nil {
		p.asked = map[string]flow.Question{}
	}
	p.asked[a.Path] = a.Question
	return "/approval/x", nil
}

// TakeDecision implements flow.Approvals.
func (p *people) TakeDecision(_ context.Context, _ flow.WorkspaceID, _ flow.RunID, path string, _ time.Time) (*flow.Decision, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	q := p.asked[path]
	return p.answer(path, &q), nil
}

// saying returns people who answer each question in the same way.
func saying(d flow.Decision) *people {
	return &people{answer: func(string, *flow.Question) *flow.Decision { return &d }}
}

var approved = flow.Decision{Outcome: flow.OutcomeApproved, By: flow.Answerer{Name: "Ada"}}

// refunding is an agent with a tool that refunds, and one that reads a service. tool is more of the setting of the first.
const refunding = `
	n agent {"model": "fake/m", "prompt": "Help."}
	order input {"name": "order", "default": "o-1"}
	refund http_request {"method": "POST", "url": "SHOP/refunds/{{order}}/{{amount}}"} {"tool": {"description": "Refunds.", "params": {"amount": {"schema": {"type": "number", "maximum": 100}}}, "editable": ["amount"]TOOL}, "label": "Refund"}
	lookup http_request {"url": "SHOP/orders/{{id}}"} {"tool": {"description": "Finds."}}
	order.value -> refund.order
	refund.tool -> n.tools
	lookup.tool -> n.tools`

func (w *world) refund(t *testing.T, p *people, tool string) *record {
	t.Helper()
	w.people = p
	return w.execute(t, strings.Replace(refunding, "TOOL", tool, 1), nil)
}

// TestAgent_asks_after_content_from_outside: a write asks once the conversation has such content, and not before.
func TestAgent_asks_after_content_from_outside(t *testing.T) {
	t.Parallel()
	w := script(t, `refund {"amount": 1}`, `refund {"amount": 2}`, "Done.") // the first answer of the shop is from outside
	p := saying(approved)
	r := w.refund(t, p, "")
	if got := r.paths(); got != "n succeeded, n.1 succeeded, n.1.1 succeeded, n.2 succeeded, n.2.1 succeeded, n.2.1.ask succeeded, n.3 succeeded, order succeeded" {
		t.Errorf("rows: %s", got)
	}
	q := p.asked["n.2.1.ask"]
	if c := q.Call; q.Title != "Allow Refund?" || q.Audience != flow.AudienceMembers || c.Tool != "refund" || c.Effect != flow.EffectWrite || !c.Untrusted || !c.All || c.Destination != strings.TrimPrefix(w.shop.URL, "http://") {
		t.Errorf("the question is %+v, %+v", q, c)
	}
	if got := string(flow.EncodeJSON(q.Values)); got != `[{"name":"amount","value":2,"editable":true}]` {
		t.Errorf("the values are %s", got)
	}
	if bound := string(flow.EncodeJSON(q.Call.Bound)); !strings.Contains(bound, `{"name":"order","value":"o-1"}`) || strings.Contains(bound, `"amount"`) {
		t.Errorf("bound are %s", bound)
	}
	calls, _ := r.Outputs["calls"].([]any)
	if len(calls) != 2 || flow.Text(value.Get(calls[1], "approval")) != "approved" {
		t.Errorf("calls: %s", flow.EncodeJSON(calls))
	}
}

// TestAgent_asks_as_the_tool_says: auto, always, never, and conditions, which ask if they fail or are no boolean.
func TestAgent_asks_as_the_tool_says(t *testing.T) {
	t.Parallel()
	for approval, want := range map[string]string{
		"auto": "", "always": "n.1.1.ask n.1.2.ask ", "never": "", "amount > 50": "n.1.2.ask ", "amount / 0 > 1": "n.1.1.ask n.1.2.ask ", "[amount][0]": "n.1.1.ask n.1.2.ask ",
	} {
		w := script(t, "I must.\nrefund {\"amount\": 1}\nrefund {\"amount\": 99}", "Done.")
		p := saying(approved)
		r := w.refund(t, p, `, "approval": "`+approval+`"`)
		got := ""
		for _, path := range []string{"n.1.1.ask", "n.1.2.ask"} {
			if q, asked := p.asked[path]; asked {
				got += path + " "
				if q.Call.Reason != "I must." || q.Call.All != (approval != "always") {
					t.Errorf("%s: the call is %+v", approval, q.Call)
				}
			}
		}
		if got != want || len(w.shop.paths) != 2 || r.State != flow.StepSucceeded {
			t.Errorf("%s: asked %q, %d calls, %s", approval, got, len(w.shop.paths), r.paths())
		}
	}
}

// TestAgent_runs_what_was_approved: changed arguments are what runs, and the model learns of them. Bound values stay.
func TestAgent_runs_what_was_approved(t *testing.T) {
	t.Parallel()
	w := script(t, `refund {"amount": 80}`, "Done.")
	d := approved
	d.Values, d.Comment = map[string]any{"amount": flow.Number(20)}, "Too much."
	r := w.refund(t, saying(d), `, "approval": "always"`)
	if got := strings.Join(w.shop.paths, " "); got != "/refunds/o-1/20" {
		t.Errorf("called %s", got)
	}
	has(t, w.results(t, 2)[0], `[A person allowed this call with other arguments: {"amount":20}. Their comment: Too much.]`, `"status":200`)
	if row := r.rows["n.1.1.ask"]; flow.Text(row.Outputs["by"]) != "Ada" || flow.Text(row.Outputs["hash"]) == "" {
		t.Errorf("the question recorded %v", row.Outputs)
	}
}

// TestAgent_does_not_run_invalid_changes: arguments that do not match the schema of the tool never run.
func TestAgent_does_not_run_invalid_changes(t *testing.T) {
	t.Parallel()
	w := script(t, `refund {"amount": 80}`, "Done.")
	d := approved
	d.Values = map[string]any{"amount": flow.Number(500)}
	w.refund(t, saying(d), `, "approval": "always"`)
	has(t, w.results(t, 2)[0], "A person changed the arguments, and they are invalid now")
	if len(w.shop.paths) != 0 {
		t.Errorf("called %v", w.shop.paths)
	}
}

// TestAgent_tells_the_model_of_refusals: a rejected or expired call is not made, and the model reads why.
func TestAgent_tells_the_model_of_refusals(t *testing.T) {
	t.Parallel()
	for outcome, want := range map[flow.Outcome]string{
		flow.OutcomeRejected: "A person rejected this call, so it was not made. Their comment: Ask the customer.",
		flow.OutcomeExpired:  "Nobody answered in time, so it was not made.",
	} {
		w := script(t, "refund {\"amount\": 80}\nlookup {\"id\": \"1\"}", "Done.")
		r := w.refund(t, saying(flow.Decision{Outcome: outcome, Comment: "Ask the customer."}), `, "approval": "always"`)
		results := w.results(t, 2)
		has(t, results[0], want)
		has(t, results[1], "/orders/1")
		if len(w.shop.paths) != 1 || r.State != flow.StepSucceeded {
			t.Errorf("%s: %v, %s", outcome, w.shop.paths, r.paths())
		}
		calls, _ := r.Outputs["calls"].([]any)
		if flow.Text(value.Get(calls[0], "state")) != string(outcome) {
			t.Errorf("calls: %s", flow.EncodeJSON(calls))
		}
	}
}

// TestAgent_makes_other_calls_while_a_question_is_open (R6): each call has its own question, and none waits for another.
func TestAgent_makes_other_calls_while_a_question_is_open(t *testing.T) {
	t.Parallel()
	w := script(t, "refund {\"amount\": 1}\nlookup {\"id\": \"1\"}\nrefund {\"amount\": 3}", "Done.")
	p := &people{answer: func(path string, _ *flow.Question) *flow.Decision {
		if path == "n.1.3.ask" {
			return &approved
		}
		return nil
	}}
	r := w.refund(t, p, `, "approval": "always"`)
	if got := r.paths(); got != "n waiting, n.1 succeeded, n.1.1.ask waiting, n.1.2 succeeded, n.1.3 succeeded, n.1.3.ask succeeded, order succeeded" {
		t.Errorf("rows: %s", got)
	}
	if r.run.State != flow.RunWaiting || len(w.shop.paths) != 2 {
		t.Errorf("the run is %s, calls %v", r.run.State, w.shop.paths)
	}
}

// TestAgent_allows_all_calls_until_more_content_arrives: an answer for all calls covers later ones, and ends with the next
// content from outside.
func TestAgent_allows_all_calls_until_more_content_arrives(t *testing.T) {
	t.Parallel()
	lines := `
		question input {"name": "question", "untrusted": true, "default": "Please"}
		n agent {"model": "fake/m", "prompt": "{{question}}"}
		note expression {"expression": "value"} {"tool": {"description": "Notes.", "effect": "write", "params": {"value": {"description": "What."}}}}
		lookup http_request {"url": "SHOP/orders/{{id}}"} {"tool": {"description": "Finds."}}
		question.value -> n.question
		note.tool -> n.tools
		lookup.tool -> n.tools`
	w := script(t, `note {"value": "1"}`, `note {"value": "2"}`, `lookup {"id": "1"}`, `note {"value": "3"}`, "Done.")
	d := approved
	d.All = true
	w.people = saying(d)
	r := w.execute(t, lines, nil)
	got := ""
	for _, path := range []string{"n.1.1.ask", "n.2.1.ask", "n.4.1.ask"} {
		if _, asked := w.people.asked[path]; asked {
			got += path + " "
		}
	}
	if got != "n.1.1.ask n.4.1.ask " || r.State != flow.StepSucceeded {
		t.Errorf("asked %s, %s", got, r.paths())
	}
}

// TestAgent_asks_again_in_a_rerun unless a later turn has read the call: what was allowed in one run is not in another.
func TestAgent_asks_again_in_a_rerun(t *testing.T) {
	t.Parallel()
	w := script(t, `refund {"amount": 1}`, "!400", "Done.")
	p := saying(approved)
	first := w.refund(t, p, `, "approval": "always"`)
	if first.State != flow.StepFailed {
		t.Fatalf("the first run: %s", first.paths())
	}
	w.people = saying(approved)
	settled := w.execute(t, strings.Replace(refunding, "TOOL", `, "approval": "always"`, 1), nil, first)
	if len(w.people.asked) != 0 || settled.rows["n.1.1.ask"].State != flow.StepReused {
		t.Errorf("a settled call was asked about again: %s", settled.paths())
	}
	delete(first.rows, "n.2")
	delete(first.rows, "n.1.1")
	w.people = saying(approved)
	open := w.execute(t, strings.Replace(refunding, "TOOL", `, "approval": "always"`, 1), nil, first)
	if len(w.people.asked) != 1 {
		t.Errorf("a call that was not made is allowed by the answer in another run: %s", open.paths())
	}
}

// TestAgent_is_not_misled_by_results_that_look_like_approvals: only people allow a call.
func TestAgent_is_not_misled_by_results_that_look_like_approvals(t *testing.T) {
	t.Parallel()
	w := script(t, `lookup {"id": "1"}`, `refund {"amount": 1}`, "Done.")
	w.shop.answer = nil
	p := saying(flow.Decision{Outcome: flow.OutcomeRejected})
	r := w.refund(t, p, "")
	if _, asked := p.asked["n.2.1.ask"]; !asked || len(w.shop.paths) != 1 {
		t.Errorf("calls %v, %s", w.shop.paths, r.paths())
	}
}
