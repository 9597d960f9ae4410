package e2e

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
)

// TestWaitingRun checks that a run with a long back-off waits without occupying a worker, also
// after a crash, and that a cancel ends it.
func TestWaitingRun(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	t.Cleanup(up.Close)
	s := newServer(t, "SLUICE_WORKERS=1")
	id := s.publish(calling(up.URL, object{"retry": object{"attempts": 3, "backoff_s": 3600}}))
	greet := s.publish(greeting())
	c := s.client(s.key())
	r := c.start(id, object{"n": "1"})
	waiting := func() bool { return c.do("GET", r.path(), nil).run(t).Status == "waiting" }
	s.waitUntil("the run waits", waiting)
	c.succeed(greet, object{"name": "Ada"}) // by the only worker
	s.kill()
	s.start()
	c.succeed(greet, object{"name": "Ada"})
	if st := c.steps(r)["call"]; !waiting() || calls.Load() != 1 || st.State != "waiting" || st.Attempts != 1 {
		t.Errorf("after the crash: waiting %v, %d calls, step %+v", waiting(), calls.Load(), st)
	}
	if now := c.want(200, "POST", r.path()+"/cancel", nil).run(t); now.Status != "canceled" {
		t.Errorf("a waiting run that is canceled is %s", now.Status)
	}
}
