package console_test

import (
	"net/url"
	"path"
	"strings"
	"testing"

	"sluice/flow"
)

// TestAgentPage_runs_a_call_again_with_edits sends the form of a call with another amount.
func TestAgentPage_runs_a_call_again_with_edits(t *testing.T) {
	t.Parallel()
	s := newAgentShop(t, [][]string{{`refund {"order": "48213", "amount": "12.90", "reason": "Charged twice"}`}})
	run := s.run()
	b := s.As(flow.MemberEditor)
	if page := b.Get("/runs/" + run + "?step=agent.1.1").Body; !strings.Contains(page, `name="arg.amount"`) || !strings.Contains(page, "Run again with edits") {
		t.Fatal("the page has no form for the arguments")
	}
	a := b.Post("/runs/"+run+"/rerun", url.Values{"from": {"agent.1.1"}, "edit": {"1"}, "arg.order": {"48213"}, "arg.amount": {"9.90"}, "arg.reason": {"Charged twice"}})
	if a.Status != 303 {
		t.Fatalf("status %d", a.Status)
	}
	again := path.Base(a.Header.Get("Location"))
	s.ended(again, "succeeded")
	if page := b.Get("/runs/" + again + "?step=agent.1.1").Body; !strings.Contains(page, "<del>12.90</del>") || !strings.Contains(page, "9.90") {
		t.Error("the page does not show what was changed")
	}
	if page := b.Get("/runs/" + again + "?step=agent.2").Body; !strings.Contains(page, "A person changed the arguments") {
		t.Error("the model did not learn of the change")
	}
	if n := s.refunds.Load(); n != 2 {
		t.Errorf("%d refunds", n)
	}
}

// TestAgentPage_stops_after_the_turn sends the form of the button while a call runs: the call ends.
func TestAgentPage_stops_after_the_turn(t *testing.T) {
	t.Parallel()
	s := newAgentShop(t, [][]string{{`refund {"order": "48213", "amount": "12.90", "reason": "Charged twice"}`}, {`search_orders {"about": "a"}`}})
	s.hold.Store(true)
	run := string(start(s.Env, s.id, map[string]any{"ticket": "I was charged twice.", "customer": "ch_3QK8vT2eZ"}))
	<-s.begun
	b := s.As(flow.MemberEditor)
	if a := b.Post("/runs/"+run+"/cancel", url.Values{"after": {"turn"}}); a.Status != 303 {
		t.Fatalf("status %d", a.Status)
	}
	if page := b.Get("/runs/" + run).Body; !strings.Contains(page, "Stopping after this turn") {
		t.Error("the page does not say that the run is to stop")
	}
	close(s.let)
	s.ended(run, "canceled")
	steps, err := s.Store.FindStepOutlines(t.Context(), flow.DefaultWorkspace, flow.RunID(run))
	if err != nil || len(steps) != 2 || steps[1].State != flow.StepSucceeded {
		t.Errorf("steps %+v, %v", steps, err)
	}
}
