package e2e

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
)

// TestRerun fixes the cause of a failure and runs the run again. Successful steps are reused
// and not called again.
func TestRerun(t *testing.T) {
	t.Parallel()
	var first, second atomic.Int64
	var broken atomic.Bool
	broken.Store(true)
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/first" {
			first.Add(1)
		} else if second.Add(1); broken.Load() {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	t.Cleanup(up.Close)
	s := newServer(t)
	id := s.publish(twoCalls(up.URL+"/first", up.URL+"/second"))
	c := s.client(s.key())
	failed := c.await(c.start(id, object{"n": "1", "run_options": object{"metadata": object{"order": "17"}}}))
	if failed.Status != "failed" || failed.Error.Code != "http_failed" || failed.Error.Node != "b" {
		t.Fatalf("the run %s: %+v", failed.Status, failed.Error)
	}
	broken.Store(false)
	again := c.await(c.want(202, "POST", failed.path()+"/rerun", nil).run(t))
	if again.Status != "succeeded" || *again.Parent != failed.ID || again.Trigger != "rerun" || again.Metadata["order"] != "17" {
		t.Errorf("the rerun is %+v", again)
	}
	if first.Load() != 1 || second.Load() != 2 || c.steps(again)["a"].State != "reused" {
		t.Errorf("calls %d and %d, wanted 1 and 2; the step a is %s", first.Load(), second.Load(), c.steps(again)["a"].State)
	}
	c.await(c.want(202, "POST", again.path()+"/rerun", object{"from": "a"}).run(t))
	if first.Load() != 2 || second.Load() != 3 {
		t.Errorf("a rerun from a: calls %d and %d, wanted 2 and 3", first.Load(), second.Load())
	}
	other := c.await(c.want(202, "POST", again.path()+"/rerun", object{"inputs": object{"n": "2"}}).run(t))
	if other.Inputs["n"] != "2" || first.Load() != 3 {
		t.Errorf("a rerun with other inputs has %v; calls %d, wanted 3", other.Inputs, first.Load())
	}
	c.rejected(422, "input_invalid", "POST", again.path()+"/rerun", object{"from": "nothing"})
}
