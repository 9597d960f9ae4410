package e2e

import (
	"encoding/json"
	"strings"
	"testing"
)

// batchStatus is what the tests of budgets read of a batch.
type batchStatus struct {
	Run struct {
		run
		WaitingFor string `json:"waiting_for"`
	}
	Rows   struct{ Total, Pending, Running, Succeeded, Failed int }
	Budget *struct {
		Of, Unit string
		Limit    float64
	}
}

// batch reads a batch.
func (a *response) batch(t *testing.T) (b batchStatus) {
	t.Helper()
	if err := json.Unmarshal(a.body, &b); err != nil {
		t.Fatal(err)
	}
	return b
}

// TestBatch_waits_for_a_budget_in_dollars checks that rows wait when the budget of the day is used up, that the batch continues when the budget was raised, and
// that no row fails or is paid twice. An answer of the model costs 0.0025 dollars.
func TestBatch_waits_for_a_budget_in_dollars(t *testing.T) {
	t.Parallel()
	s := modelServer(t)
	s.must("price", "set", "openai/gpt-4o", "--input", "100", "--output", "200")
	id := s.publish(documentOf("Ask", []object{
		input("q"), node("first", "chat", object{"model": "openai/gpt-4o"}), node("second", "chat", object{"model": "openai/gpt-4o", "prompt": "greet {{text}}"}), output("text"),
	}, "q.value > first.prompt", "first.text > second.text", "second.text > out_text.value"))
	s.must("flow", "limits", id, "--usd-per-day", "0.006")
	c := s.client(s.key())
	path := "/v1/flow/" + id + "/batches"
	rows := []object{{"q": "greet"}, {"q": "greet"}, {"q": "greet"}}
	b := c.want(202, "POST", path, object{"rows": rows, "concurrency": 1}).batch(t)
	path += "/" + b.Run.ID
	s.waitUntil("the batch waits for the budget", func() bool {
		b = c.want(200, "GET", path, nil).batch(t)
		return b.Run.WaitingFor == "budget"
	})
	if b.Rows.Succeeded != 1 || b.Rows.Failed != 0 || b.Rows.Running != 1 || b.Rows.Pending != 1 || b.Budget == nil || b.Budget.Of != "flow" || b.Budget.Limit != 0.006 {
		t.Errorf("with a used-up budget: %+v, %+v", b, b.Budget)
	}
	s.must("flow", "limits", id, "--usd-per-day", "1")
	c.want(200, "PATCH", path, object{"paused": false})
	if run := c.await(&b.Run.run); run.Status != "succeeded" {
		t.Fatalf("the batch ended as %s: %+v", run.Status, run.Error)
	}
	b = c.want(200, "GET", path, nil).batch(t)
	if b.Rows.Succeeded != 3 || b.Rows.Failed != 0 {
		t.Errorf("at the end: %+v", b.Rows)
	}
	if shown := s.must("flow", "limits", id, "--json"); !strings.Contains(shown, `"usd_today": "0.015"`) {
		t.Errorf("six answers: %s", shown)
	}
}

// TestBatch_stops_at_max_usd checks that the rows that max_usd does not suffice for are not started, and that a rerun takes over those that succeeded.
func TestBatch_stops_at_max_usd(t *testing.T) {
	t.Parallel()
	s := modelServer(t)
	s.must("price", "set", "openai/gpt-4o", "--input", "100", "--output", "200")
	id := s.publish(documentOf("Ask", []object{input("q"), node("first", "chat", object{"model": "openai/gpt-4o"}), output("text")}, "q.value > first.prompt", "first.text > out_text.value"))
	c := s.client(s.key())
	var rows []object
	for range 12 {
		rows = append(rows, object{"q": "greet"})
	}
	path := "/v1/flow/" + id + "/batches"
	b := c.want(202, "POST", path, object{"rows": rows, "concurrency": 1, "max_usd": 0.005}).batch(t)
	c.await(&b.Run.run)
	b = c.want(200, "GET", path+"/"+b.Run.ID, nil).batch(t)
	if b.Run.Status != "failed" || b.Run.Error == nil || b.Run.Error.Code != "budget_exceeded" || b.Rows.Succeeded != 2 || b.Rows.Failed != 1 || b.Rows.Pending != 9 {
		t.Fatalf("got %+v, %+v", b, b.Run.Error)
	}
	run := c.await(c.want(202, "POST", b.Run.path()+"/rerun", object{}).run(t))
	b = c.want(200, "GET", path+"/"+run.ID, nil).batch(t)
	if b.Rows.Succeeded != 4 {
		t.Errorf("a rerun with the same limit: %+v", b.Rows)
	}
}
