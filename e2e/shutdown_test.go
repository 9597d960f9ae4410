package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"sluice/e2e/need"
)

// slowUpstream holds every call until it is released, and counts the calls.
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

func (u *slowUpstream) release() { close(u.hold) }

// twoCalls returns a flow that calls one URL and then another.
func twoCalls(first, second string) []byte {
	return documentOf("Two calls", []object{
		input("n"), post("a", first),
		node("b", "http_request", object{"method": "POST", "url": second, "body": object{"n": "{{n}}"}}),
		output("got"),
	}, "n.value > a.n", "a.body > b.n", "b.body > out_got.value")
}

// TestShutdown sends SIGTERM while a step runs: the server reports that it is not ready, the
// step finishes, the run is handed back, and it continues after a start.
func TestShutdown(t *testing.T) {
	t.Parallel()
	first, second := newSlowUpstream(t), newSlowUpstream(t)
	second.release()
	s := newServer(t)
	id := s.publish(twoCalls(first.URL, second.URL))
	c := s.client(s.key())
	r := c.start(id, object{"n": "1"})
	waitUntil(t, "the first step runs", func() bool { return first.calls.Load() == 1 })

	startedAt := time.Now()
	p := s.signal(syscall.SIGTERM)
	waitUntil(t, "the server says it drains", func() bool {
		a, err := c.try("GET", "/readyz", nil)
		return err == nil && a.status == 503
	})
	c.rejected(503, "draining", "POST", "/v1/flow/"+id+"/run", object{"n": "2"})
	if now := c.do("GET", r.path(), nil).run(t); now.Status != "running" {
		t.Errorf("while draining the run reads as %s", now.Status)
	}
	first.release()
	<-p.exited
	if took := time.Since(startedAt); p.cmd.ProcessState.ExitCode() != 0 || took > shutdownLimit {
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

// TestShutdown_with_hanging_step checks that the server ends although a step does not finish,
// and that the step runs again after a start.
func TestShutdown_with_hanging_step(t *testing.T) {
	need.Slow(t)
	t.Parallel()
	up := newSlowUpstream(t)
	s := newServer(t)
	id := s.publish(calling(up.URL))
	c := s.client(s.key())
	r := c.start(id, object{"n": "1"})
	waitUntil(t, "the step runs", func() bool { return up.calls.Load() == 1 })
	startedAt := time.Now()
	if code := s.stop(); code != 0 || time.Since(startedAt) > shutdownLimit {
		t.Fatalf("the end took %s with exit code %d", time.Since(startedAt), code)
	}
	// The upstream never responded, so the server did not wait for the step's end.
	waitUntil(t, "the step's call was aborted", func() bool { return up.gone.Load() == 1 })
	up.release()
	s.start()
	if r = c.await(r); r.Status != "succeeded" || up.calls.Load() != 2 {
		t.Errorf("after the start the run %s; %d calls, wanted 2", r.Status, up.calls.Load())
	}
}

// caller sends requests to a server until its address stops accepting connections.
type caller struct {
	address  string
	keep     bool // a connection, until an answer ends it
	request  func() string
	answered func(status int, body string)
}

// run returns the error of a request that was sent and got no response.
func (c *caller) run() error {
	for {
		conn, err := net.DialTimeout("tcp", c.address, time.Second)
		if err != nil {
			return nil
		}
		err = c.calls(conn)
		conn.Close()
		if err != nil {
			return err
		}
	}
}

func (c *caller) calls(conn net.Conn) error {
	for answers := bufio.NewReader(conn); ; {
		if _, err := io.WriteString(conn, c.request()); err != nil {
			return err
		}
		resp, err := http.ReadResponse(answers, nil)
		if err != nil {
			return err
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			return err
		}
		c.answered(resp.StatusCode, string(body))
		if !c.keep || resp.Close {
			return nil
		}
	}
}

// TestShutdown_answers_all_requests sends SIGTERM while clients send requests on new and on kept
// connections. Every request gets a response, runs are accepted for SLUICE_DRAIN_DELAY after
// /readyz returns 503, and all of them end.
func TestShutdown_answers_all_requests(t *testing.T) {
	t.Parallel()
	const delay = 2 * time.Second
	s := newServer(t, "SLUICE_DRAIN_DELAY="+delay.String())
	id := s.publish(greeting())
	key := s.key()
	start := func(headers string) string {
		body := `{"name": "Ada"}`
		return fmt.Sprintf("POST /v1/flow/%s/run HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%s\r\n%s", id, key, len(body), headers, body)
	}
	show := "GET /v1/flow/" + id + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + key + "\r\n\r\n"
	requests := []string{start(""), start("Prefer: wait=5\r\n"), start("Connection: close\r\n"), show}
	var mu sync.Mutex
	var runs []string
	var leaving atomic.Bool
	before, during := 0, 0 // accepted runs
	lost := make(chan error, 8)
	var callers sync.WaitGroup
	for i := range cap(lost) {
		n := i
		c := &caller{address: strings.TrimPrefix(s.base(), "http://"), keep: i%2 == 0, request: func() string { n++; return requests[n%len(requests)] }}
		c.answered = func(status int, body string) {
			mu.Lock()
			defer mu.Unlock()
			var run struct {
				ID   string `json:"run_id"`
				Code string
			}
			_ = json.Unmarshal([]byte(body), &run)
			switch {
			case run.ID != "":
				runs = append(runs, run.ID)
				if leaving.Load() {
					during++
				} else {
					before++
				}
			case status != 200 && run.Code != "draining":
				t.Errorf("got %d %s", status, body)
			}
		}
		callers.Go(func() {
			if err := c.run(); err != nil {
				lost <- fmt.Errorf("caller %d: %w", i, err)
			}
		})
	}
	waitUntil(t, "runs are accepted", func() bool { mu.Lock(); defer mu.Unlock(); return before > 50 })
	p := s.signal(syscall.SIGTERM)
	waitUntil(t, "the server says it shuts down", func() bool {
		a, err := s.client("").try("GET", "/readyz", nil)
		return err == nil && a.status == 503
	})
	leaving.Store(true)
	<-p.exited
	callers.Wait()
	close(lost)
	for err := range lost {
		t.Error(err)
	}
	if p.cmd.ProcessState.ExitCode() != 0 || during == 0 {
		t.Errorf("exit code %d; %d runs were accepted after /readyz said 503, %d before", p.cmd.ProcessState.ExitCode(), during, before)
	}
	s.start()
	c := s.client(key)
	for _, run := range runs {
		if r := c.await(c.do("GET", "/v1/flow/"+id+"/run/"+run, nil).run(t)); r.Status != "succeeded" {
			t.Errorf("run %s %s", run, r.Status)
		}
	}
	t.Logf("%d runs accepted before /readyz said 503, %d after", before, during)
}

// TestShutdown_second_signal_exits checks that a second signal ends the process at once.
func TestShutdown_second_signal_exits(t *testing.T) {
	t.Parallel()
	s := newServer(t, "SLUICE_DRAIN_DELAY=5m")
	p := s.signal(syscall.SIGTERM)
	waitUntil(t, "the server says it shuts down", func() bool {
		a, err := s.client("").try("GET", "/readyz", nil)
		return err == nil && a.status == 503
	})
	for exited := false; !exited; { // until the first signal no longer shields the process
		s.signal(syscall.SIGTERM)
		select {
		case <-p.exited:
			exited = true
		case <-time.After(50 * time.Millisecond):
		}
	}
	if status := p.cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != syscall.SIGTERM {
		t.Errorf("the process ended with %v", p.exit)
	}
}

// TestStart_answers_half_closed_client checks that a client that closes its sending side before it reads gets
// every response.
func TestStart_answers_half_closed_client(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	id, key := s.publish(greeting()), s.key()
	body := `{"name": "Ada"}`
	for i := range 200 {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.base(), "http://"))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "POST /v1/flow/%s/run HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", id, key, len(body), body)
		if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || resp.StatusCode != http.StatusAccepted {
			t.Fatalf("call %d: %v, %v", i, resp, err)
		}
		conn.Close()
	}
}
