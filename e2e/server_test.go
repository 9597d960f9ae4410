package e2e

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// server is one `sluice serve` process and the directory it lives in. It can
// be killed and started again on the same directory.
type server struct {
	t   testing.TB
	dir string   // data directory
	cwd string   // where the process and commands run; "" is here
	env []string // of the process and of every command beside it

	// program is the binary of the process and of every command beside it.
	program string

	mu     sync.Mutex
	proc   *process
	faults []string // lines of the log that no test asked for

	// faulty is set where the test breaks what the server depends on: the log may
	// then tell of errors, but not of a panic.
	faulty bool
}

// process is one life of the server.
type process struct {
	cmd     *exec.Cmd
	out     *tail
	errs    *tail
	begun   time.Time
	ready   time.Duration // from start until /readyz answered
	base    string        // http://127.0.0.1:port
	exited  chan struct{} // closed when the process is gone
	exit    error
	ordered bool // its end was asked for
}

// patience bounds every wait. It is far longer than anything takes on a slow,
// busy machine, so that only what hangs fails; speed is measured by make bench.
const patience = 2 * time.Minute

// shutdownLimit bounds the time from SIGTERM to the end of the process. The contract
// is 35 s; TestShutdownTimeouts in cmd/sluice checks that the server's own timeouts
// add up to that. The wall time here also includes waiting for a busy machine.
const shutdownLimit = time.Minute

// newServer prepares a server in a directory of its own and starts it. Of the
// environment it has only what is given here.
func newServer(t testing.TB, env ...string) *server {
	t.Helper()
	s := stoppedServer(t, env...)
	s.start()
	return s
}

// stoppedServer is a server that has never been started.
func stoppedServer(t testing.TB, env ...string) *server {
	dir := filepath.Join(t.TempDir(), "data")
	s := &server{t: t, dir: dir, program: sluice}
	s.env = append([]string{"SLUICE_DATA_DIR=" + dir, "SLUICE_ADDR=127.0.0.1:0", "SLUICE_ALLOW_PRIVATE=127.0.0.0/8", "SLUICE_DRAIN_DELAY=0"}, env...)
	t.Cleanup(s.cleanUp)
	return s
}

// start starts the process and returns when it is ready.
func (s *server) start() {
	s.t.Helper()
	p := &process{out: newTail(), errs: newTail(), begun: time.Now(), exited: make(chan struct{})}
	p.cmd = exec.Command(s.program, "serve")
	p.cmd.Dir, p.cmd.Env = s.cwd, environment(s.env...)
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.errs
	dieWithTests(p.cmd)
	if err := p.cmd.Start(); err != nil {
		s.t.Fatalf("start the server: %v", err)
	}
	go func() {
		p.exit = p.cmd.Wait()
		close(p.exited)
	}()
	s.mu.Lock()
	s.proc = p
	s.mu.Unlock()
	s.awaitReady(p)
}

// awaitReady waits for the printed address and then for /readyz.
func (s *server) awaitReady(p *process) {
	s.t.Helper()
	s.waitUntil("the server is ready", func() bool {
		select {
		case <-p.exited:
			s.t.Fatalf("the server ended before it was ready: %v\n%s", p.exit, p.errs)
		default:
		}
		base := p.address()
		return base != "" && ready(base)
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	p.ready, p.base = time.Since(p.begun), p.address()
}

// address is what the greeting says, "" while it has not been printed.
func (p *process) address() string {
	_, rest, found := strings.Cut(p.out.String(), " is running at ")
	base, _, whole := strings.Cut(rest, "\n")
	if !found || !whole {
		return ""
	}
	return base
}

func ready(base string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	req, _ := http.NewRequestWithContext(ctx, http.MethodGet, base+"/readyz", nil)
	resp, err := plain.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode == http.StatusOK
}

// life is the present process; there may be none that runs.
func (s *server) life() *process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.proc
}

func (s *server) base() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.proc.base
}

// kill sends SIGKILL to the process, like a power cut.
func (s *server) kill() {
	p := s.signal(syscall.SIGKILL)
	<-p.exited
	s.examine(p)
}

// signal sends a signal to the process; its end is expected from then on.
func (s *server) signal(sig syscall.Signal) *process {
	p := s.life()
	p.ordered = true
	_ = p.cmd.Process.Signal(sig) // it may be gone already, which whoever waits finds out
	return p
}

// stop asks for an orderly end and returns the exit code.
func (s *server) stop() int {
	s.t.Helper()
	p := s.signal(syscall.SIGTERM)
	select {
	case <-p.exited:
	case <-time.After(shutdownLimit):
		s.kill()
		s.t.Fatalf("the server did not end within %s of SIGTERM\n%s", shutdownLimit, p.errs)
	}
	s.examine(p)
	return p.cmd.ProcessState.ExitCode()
}

// examine keeps the lines of a log that mean a fault of Sluice itself.
func (s *server) examine(p *process) {
	for line := range strings.SplitSeq(p.errs.String(), "\n") {
		if !s.faulty && strings.Contains(line, "level=ERROR") || strings.HasPrefix(line, "fatal error:") || strings.Contains(line, "DATA RACE") || strings.HasPrefix(line, "panic:") {
			s.mu.Lock()
			s.faults = append(s.faults, line)
			s.mu.Unlock()
		}
	}
}

// cleanUp ends the process and fails the test for what its log holds.
func (s *server) cleanUp() {
	p := s.life()
	if p != nil && p.cmd.ProcessState == nil {
		s.stop()
	} else if p != nil && !p.ordered {
		s.t.Errorf("the server ended by itself: %v", p.exit)
	}
	for i, line := range s.faults {
		if i < 10 {
			s.t.Errorf("the log has a fault: %s", line)
		}
	}
	if p != nil && s.t.Failed() && !s.faulty {
		s.t.Logf("end of the log:\n%s", p.errs.end(8<<10))
	}
}

// waitUntil polls a condition until it holds; the test fails when it does not
// in time.
func (s *server) waitUntil(what string, holds func() bool) {
	s.t.Helper()
	waitUntil(s.t, what, holds)
}

func waitUntil(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited %s in vain: %s", patience, what)
		}
	}
}

// environment is what a process needs to run at all, and what is given.
func environment(more ...string) []string {
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "TMPDIR=" + os.TempDir(), "TZ=UTC"}
	return append(env, more...)
}

// tail keeps what a process printed.
type tail struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func newTail() *tail { return &tail{} }

// Write takes output of the process.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.Write(p)
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.String()
}

// end is the last bytes.
func (t *tail) end(n int) string {
	s := t.String()
	return s[max(0, len(s)-n):]
}
