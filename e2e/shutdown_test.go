package e2e

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// slowUpstream holds every call until it is let go, and counts them.
type slowUpstream struct {
	*httptest.Server
	calls atomic.Int64
	gone  atomic.Int64 // callers that hung up
	hold  chan struct{}
}

func newSlowUpstream(t testing.TB) *slowUpstream {
	u := &slowUpstream{hold: make(chan struct{})}
	u.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then a caller that hangs up is noticed
		u.calls.Add(1)
		select {
		case <-u.hold:
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"ok": true}`))
		case <-r.Context().Done():
			u.gone.Add(1)
		}
	}))
	t.Cleanup(func() {
		u.CloseClientConnections() // a failed test may leave a call hanging
		u.Close()
	})
	return u
}

func (u *slowUpstream) letGo() { close(u.hold) }

// twoCalls calls first one URL and then another.
func twoCalls(first, second string) []byte {
	return document("Two calls", []object{
		input("n"), post("a", first),
		node("b", "http_request", object{"method": "POST", "url": second, "body": object{"n": "{{n}}"}}),
		output("got"),
	}, "n.value > a.n", "a.body > b.n", "b.body > out_got.value")
}

// TestShutdown sends SIGTERM while a step runs: the server says it is not
// ready, the step finishes, the run is handed back, and goes on after a start.
func TestShutdown(t *testing.T) {
	t.Parallel()
	first, second := newSlowUpstream(t), newSlowUpstream(t)
	second.letGo()
	s := newServer(t)
	id := s.publish(twoCalls(first.URL, second.URL))
	c := s.client(s.key())
	r := c.start(id, object{"n": "1"})
	waitUntil(t, "the first step runs", func() bool { return first.calls.Load() == 1 })

	begun := time.Now()
	p := s.signal(syscall.SIGTERM)
	waitUntil(t, "the server says it drains", func() bool {
		a, err := c.try("GET", "/readyz", nil)
		return err == nil && a.status == 503
	})
	c.refused(503, "draining", "POST", "/v1/flow/"+id+"/run", object{"n": "2"})
	if now := c.do("GET", r.path(), nil).run(t); now.Status != "running" {
		t.Errorf("while draining the run reads as %s", now.Status)
	}
	first.letGo()
	<-p.exited
	if took := time.Since(begun); p.cmd.ProcessState.ExitCode() != 0 || took > 30*time.Second {
		t.Fatalf("the end took %s with exit code %d\n%s", took, p.cmd.ProcessState.ExitCode(), p.errs)
	}
	if second.calls.Load() != 0 {
		t.Error("a step was started while draining")
	}
	s.start()
	if r = c.await(r); r.Status != "succeeded" || first.calls.Load() != 1 || second.calls.Load() != 1 {
		t.Errorf("after the start the run %s; calls %d and %d, wanted 1 and 1", r.Status, first.calls.Load(), second.calls.Load())
	}
}

// TestShutdownWithHangingStep wants the end within 30 s although a step does
// not finish; the step runs again after a start.
func TestShutdownWithHangingStep(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes as long as the server's patience, 25 s")
	}
	up := newSlowUpstream(t)
	s := newServer(t)
	id := s.publish(calling(up.URL))
	c := s.client(s.key())
	r := c.start(id, object{"n": "1"})
	waitUntil(t, "the step runs", func() bool { return up.calls.Load() == 1 })
	begun := time.Now()
	if code := s.stop(); code != 0 || time.Since(begun) > 30*time.Second {
		t.Fatalf("the end took %s with exit code %d", time.Since(begun), code)
	}
	up.letGo()
	s.start()
	if r = c.await(r); r.Status != "succeeded" || up.calls.Load() != 2 {
		t.Errorf("after the start the run %s; %d calls, wanted 2", r.Status, up.calls.Load())
	}
}
