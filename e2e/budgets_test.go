package e2e

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// TestBudget_stops_second_paid_step checks that a flow whose budget is used up by its first
// paid step does not start the second.
func TestBudget_stops_second_paid_step(t *testing.T) {
	t.Parallel()
	s := modelServer(t)
	s.must("price", "set", "openai/gpt-4o", "--input", "100", "--output", "200") // an answer costs 0.0025
	id := s.publish(documentOf("Ask twice", []object{
		input("q"), node("first", "chat", object{"model": "openai/gpt-4o"}), node("second", "chat", object{"model": "openai/gpt-4o", "prompt": "greet {{text}}"}), output("text"),
	}, "q.value > first.prompt", "first.text > second.text", "second.text > out_text.value"))
	if shown := s.must("flow", "limits", id, "--usd-per-day", "0.002"); !strings.Contains(shown, "0.002") || !strings.Contains(shown, "0 today") {
		t.Errorf("flow limits:\n%s", shown)
	}
	key := s.key()
	c := s.client(key)
	run := c.await(c.start(id, object{"q": "greet"}))
	if run.Status != "failed" || run.Error == nil || run.Error.Code != "budget_exceeded" || run.Error.Node != "second" {
		t.Fatalf("the run is %s: %+v", run.Status, run.Error)
	}
	refused := c.want(402, "POST", "/v1/flow/"+id+"/run", object{"q": "greet"}).object(t)
	if b, _ := refused["budget"].(object); b["of"] != "flow" || b["unit"] != "usd" || b["limit"] != 0.002 || b["used"] != 0.0025 {
		t.Errorf("the refusal: %v", refused)
	}
	c.want(402, "POST", "/v1/flow/"+id+"/run/"+run.ID+"/rerun", object{})
	s.must("flow", "limits", id, "--usd-per-day", "0.02") // it holds at once
	if run := c.await(c.start(id, object{"q": "greet"})); run.Status != "succeeded" {
		t.Errorf("with a larger budget: %s %+v", run.Status, run.Error)
	}
	if shown := s.must("flow", "limits", id, "--json"); !strings.Contains(shown, `"usd_today": "0.0075"`) {
		t.Errorf("after three answers: %s", shown)
	}
}

// TestBudget_rejects_runs_beyond_daily_limit checks that runs beyond the daily budget are rejected, also when
// they are started concurrently.
func TestBudget_rejects_runs_beyond_daily_limit(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	id := s.publish(documentOf("Echo", []object{input("q"), output("text")}, "q.value > out_text.value"))
	s.must("flow", "limits", id, "--runs-per-day", "5", "--max-running", "2")
	c := s.client(s.key())
	var accepted, refused atomic.Int64
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			switch a := c.do("POST", "/v1/flow/"+id+"/run", object{"q": "x"}); a.status {
			case 202:
				accepted.Add(1)
			case 402:
				refused.Add(1)
			default:
				t.Errorf("a start: %d", a.status)
			}
		})
	}
	all.Wait()
	if accepted.Load() != 5 || refused.Load() != 15 {
		t.Errorf("%d accepted and %d refused, want 5 and 15", accepted.Load(), refused.Load())
	}
	if r := s.command("flow", "limits", id, "--runs-per-day", "-1"); r.code != 2 {
		t.Errorf("a limit below zero: %+v", r)
	}
	if r := s.command("flow", "limits", "flow_none"); r.code != 1 || !strings.Contains(r.errs, "no such flow") {
		t.Errorf("no flow: %+v", r)
	}
}
