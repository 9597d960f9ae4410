package e2e

import (
	"testing"
	"time"
)

// TestCancel wants a cancel to reach the service that a step hangs on.
func TestCancel(t *testing.T) {
	t.Parallel()
	up := newSlowUpstream(t)
	s := newServer(t)
	id := s.publish(calling(up.URL))
	c := s.client(s.key())
	r := c.start(id, object{"n": "1"})
	waitUntil(t, "the step hangs", func() bool { return up.calls.Load() == 1 })
	begun := time.Now()
	if now := c.want(200, "POST", r.path()+"/cancel", nil).run(t); now.Status != "canceled" {
		t.Errorf("the cancel was answered with a run that is %s", now.Status)
	}
	waitUntil(t, "the call was aborted", func() bool { return up.gone.Load() == 1 })
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("the cancel took %s", took)
	}
	c.refused(424, "run_canceled", "GET", r.path()+"/result", nil)
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
