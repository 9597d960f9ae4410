package e2e

import (
	"encoding/json"
	"testing"
)

// TestCancel checks that a cancel aborts the request that a step waits for. The
// upstream never responds and the step may take an hour, so nothing but the cancel can
// end the run, however slow the machine is. Its speed is not checked.
func TestCancel(t *testing.T) {
	t.Parallel()
	up := newSlowUpstream(t)
	s := newServer(t)
	id := s.publish(calling(up.URL, object{"timeout_s": 3600}))
	c := s.client(s.key())
	r := c.start(id, object{"n": "1"})
	waitUntil(t, "the step hangs", func() bool { return up.calls.Load() == 1 })
	// The response holds the ended run if it ends within 2 s.
	if now := c.await(c.want(200, "POST", r.path()+"/cancel", nil).run(t)); now.Status != "canceled" {
		t.Errorf("the canceled run %s", now.Status)
	}
	waitUntil(t, "the call was aborted", func() bool { return up.gone.Load() == 1 })
	c.rejected(424, "run_canceled", "GET", r.path()+"/result", nil)
	if again := c.want(200, "POST", r.path()+"/cancel", nil).run(t); again.Status != "canceled" {
		t.Errorf("a second cancel made it %s", again.Status)
	}
	if st := c.steps(r)["call"].State; st != "canceled" {
		t.Errorf("the step is %s", st)
	}
	if up.calls.Load() != 1 {
		t.Errorf("%d calls, wanted 1", up.calls.Load())
	}
}

// TestRevokedKey_ends_waiting_requests checks that a revoked key receives nothing more of a run, not even in
// response to a request that was waiting when the key was revoked.
func TestRevokedKey_ends_waiting_requests(t *testing.T) {
	t.Parallel()
	up := newSlowUpstream(t)
	s := newServer(t)
	id := s.publish(calling(up.URL))
	owner := s.client(s.key())
	var made struct{ ID, Key string }
	if err := json.Unmarshal([]byte(s.key("--json")), &made); err != nil {
		t.Fatal(err)
	}
	c := s.client(made.Key)
	r := c.start(id, object{"n": "1"})
	waitUntil(t, "the step hangs", func() bool { return up.calls.Load() == 1 })
	held := make(chan *response)
	go func() {
		a, err := c.try("GET", r.path()+"?wait=30", nil)
		if err != nil {
			t.Error(err)
		}
		held <- a
	}()
	s.must("key", "revoke", made.ID)
	owner.want(200, "POST", r.path()+"/cancel", nil)
	if a := <-held; a != nil && a.status != 401 {
		t.Errorf("the held request was answered with %d: %s", a.status, a.body)
	}
}
