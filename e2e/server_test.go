package e2e

import (
	"bytes"
	"context"
	"fmt"
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

// server is a `sluice serve` process with its data directory. It can be killed and started
// again on the same directory.
type server struct {
	t   testing.TB
	dir string   // data directory
	cwd string   // working directory of the process and of commands; "" is that of the tests
	env []string // environment of the process and of commands

	// program is the binary of the process and of commands.
	program string

	mu     sync.Mutex
	proc   *process
	faults []string // unexpected lines of the log

	// faulty is set if the test breaks what the server depends on: the log may then
	// contain errors, but no panic.
	faulty bool
}

// process is one process of the server.
type process struct {
	cmd       *exec.Cmd
	out       *processOutput
	errs      *processOutput
	startedAt time.Time
	ready     time.Duration // from start until /readyz answered
	base      string        // http://127.0.0.1:port
	exited    chan struct{} // closed when the process is gone
	exit      error
	ordered   bool // its end is expected
}

// waitTimeout bounds every wait. It is far longer than anything takes on a slow, busy
// machine, so only a hang fails. Speed is measured by "make bench".
const waitTimeout = 2 * time.Minute

// shutdownLimit bounds the time from SIGTERM to the end of the process. The contract
// is 35 s; TestShutdownTimeouts in cmd/sluice checks that the server's own timeouts
// add up to that. The wall time here also includes waiting for a busy machine.
const shutdownLimit = time.Minute

// newServer creates a server in a directory of its own and starts it. It has only the given
// environment.
func newServer(t testing.TB, env ...string) *server {
	t.Helper()
	s := stoppedServer(t, env...)
	s.start()
	return s
}

// stoppedServer returns a server that has not been started.
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
	if err := s.tryStart(); err != nil {
		s.t.Fatal(err)
	}
}

// tryStart is start, and returns an error if the process ended before it was ready.
func (s *server) tryStart() error {
	s.t.Helper()
	p := &process{out: newProcessOutput(), errs: newProcessOutput(), startedAt: time.Now(), exited: make(chan struct{})}
	p.cmd = exec.Command(s.program, "serve")
	p.cmd.Dir, p.cmd.Env = s.cwd, environment(s.env...)
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.errs
	dieWithTests(p.cmd)
	if err := p.cmd.Start(); err != nil {
		return fmt.Errorf("start the server: %w", err)
	}
	go func() {
		p.exit = p.cmd.Wait()
		close(p.exited)
	}()
	s.mu.Lock()
	s.proc = p
	s.mu.Unlock()
	return s.awaitReady(p)
}

// awaitReady waits for the printed address and then for /readyz.
func (s *server) awaitReady(p *process) error {
	s.t.Helper()
	exited := false
	s.waitUntil("the server is ready", func() bool {
		select {
		case <-p.exited:
			exited = true
			return true
		default:
		}
		base := p.address()
		return base != "" && ready(base)
	})
	if exited {
		p.ordered = true // the caller reports it
		return fmt.Errorf("the server ended before it was ready: %v\n%s", p.exit, p.errs)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p.ready, p.base = time.Since(p.startedAt), p.address()
	return nil
}

// address returns the printed address, or "" before it is printed.
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
func (s *server) process() *process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.proc
}

func (s *server) base() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.proc.base
}

// kill sends SIGKILL to the process, like a power failure.
func (s *server) kill() {
	p := s.signal(syscall.SIGKILL)
	<-p.exited
	s.examine(p)
}

// signal sends a signal to the process, whose end is expected from then on.
func (s *server) signal(sig syscall.Signal) *process {
	p := s.process()
	p.ordered = true
	_ = p.cmd.Process.Signal(sig) // an error means that it has ended already
	return p
}

// stop shuts the server down and returns its exit code.
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

// examine records the lines of a log that mean a fault of Sluice itself.
func (s *server) examine(p *process) {
	for line := range strings.SplitSeq(p.errs.String(), "\n") {
		if !s.faulty && strings.Contains(line, "level=ERROR") || strings.HasPrefix(line, "fatal error:") || strings.Contains(line, "DATA RACE") || strings.HasPrefix(line, "panic:") {
			s.mu.Lock()
			s.faults = append(s.faults, line)
			s.mu.Unlock()
		}
	}
}

// cleanUp stops the server and fails the test for faults in its log.
func (s *server) cleanUp() {
	p := s.process()
	if p != nil && p.cmd.ProcessState == nil {
		s.stop()
	} else if p != nil && !p.ordered {
		s.t.Errorf("the server ended unexpectedly: %v\n%s", p.exit, crashReason(p.errs.String()))
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

// waitUntil polls a condition and fails the test after waitTimeout.
func (s *server) waitUntil(what string, holds func() bool) {
	s.t.Helper()
	waitUntil(s.t, what, holds)
}

func waitUntil(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(waitTimeout); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("timed out after %s waiting until: %s", waitTimeout, what)
		}
	}
}

// environment returns what any process needs, and the given variables.
func environment(more ...string) []string {
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "TMPDIR=" + os.TempDir(), "TZ=UTC"}
	return append(env, more...)
}

// processOutput collects what a process prints. It is safe for concurrent use.
type processOutput struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func newProcessOutput() *processOutput { return &processOutput{} }

// Write implements io.Writer.
func (t *processOutput) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.Write(p)
}

func (t *processOutput) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.String()
}

// end returns the last n bytes.
func (t *processOutput) end(n int) string {
	s := t.String()
	return s[max(0, len(s)-n):]
}
