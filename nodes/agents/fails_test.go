package agents_test

import (
	"net/http"
	"testing"

	"sluice/flow"
)

// TestAgent_fails_without_waiting_for_people: once a call has failed the agent, nobody has to answer the question of another call.
// The call that the question is about is not made.
func TestAgent_fails_without_waiting_for_people(t *testing.T) {
	t.Parallel()
	w := script(t, "refund {\"amount\": 1}\nlookup {\"id\": \"1\"}", "Done.")
	w.shop.answer = func(out http.ResponseWriter, _ *http.Request) { out.WriteHeader(http.StatusTeapot) }
	w.people = &people{answer: func(string, *flow.Question) *flow.Decision { return nil }} // nobody answers
	r := w.execute(t, `
		n agent {"model": "fake/m", "prompt": "Go."}
		refund http_request {"method": "POST", "url": "SHOP/refunds/{{amount}}"} {"tool": {"description": "Refunds.", "approval": "always"}}
		lookup http_request {"url": "SHOP/orders/{{id}}"} {"tool": {"description": "Finds.", "on_error": "fail"}}
		refund.tool -> n.tools
		lookup.tool -> n.tools`, nil)
	if r.State != flow.StepFailed || r.Error.Code != flow.CodeToolFailed || r.rows["n.1.1.ask"].State != flow.StepCanceled {
		t.Errorf("%s: %v, %s", r.State, r.Error, r.paths())
	}
	if len(w.shop.paths) != 1 || w.shop.paths[0] != "/orders/1" {
		t.Errorf("made %v", w.shop.paths)
	}
}
