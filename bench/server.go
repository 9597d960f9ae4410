package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// server is a `sluice serve` process on a data directory. It can be stopped or killed and
// started again on the same data.
type server struct {
	binary, dir string
	env         []string
	cmd         *exec.Cmd
	out         *output
	addr        string        // host:port
	ready       time.Duration // from start until /readyz answered
}

// newServer starts a server in a new directory with default settings, because those are
// what users run. The only exception is the drain delay, which would only make the
// benchmark longer.
func (b *benchmark) newServer(env ...string) (*server, error) { return b.serve(b.binary, env...) }

// serve starts a server of any build.
func (b *benchmark) serve(binary string, env ...string) (*server, error) {
	dir, err := os.MkdirTemp(b.dir, "data-")
	if err != nil {
		return nil, err
	}
	s := &server{binary: binary, dir: dir}
	s.env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "SLUICE_DATA_DIR=" + dir, "SLUICE_ADDR=127.0.0.1:0", "SLUICE_DRAIN_DELAY=0"}, env...)
	if b.profile != "" {
		s.env = append(s.env, "SLUICE_CPUPROFILE="+b.profile)
	}
	return s, s.start()
}

// start starts the process and waits until it is ready. It polls every millisecond, which
// is the resolution of the figures on starting.
func (s *server) start() error {
	s.out = &output{}
	s.cmd = exec.Command(s.binary, "serve")
	s.cmd.Env, s.cmd.Stdout, s.cmd.Stderr = s.env, s.out, s.out
	start := time.Now()
	if err := s.cmd.Start(); err != nil {
		return err
	}
	for time.Since(start) < time.Minute {
		if s.isReady() {
			s.ready = time.Since(start)
			return nil
		}
		time.Sleep(time.Millisecond)
	}
	s.kill()
	return fmt.Errorf("the server was not ready within a minute:\n%s", s.out)
}

// isReady requests /readyz at the address that the server printed.
func (s *server) isReady() bool {
	_, rest, found := strings.Cut(s.out.String(), " is running at http://")
	addr, _, whole := strings.Cut(rest, "\n")
	if !found || !whole {
		return false
	}
	s.addr = addr
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Get("http://" + addr + "/readyz")
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode == http.StatusOK
}

// stop shuts the server down and waits for its end.
func (s *server) stop() error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	if err := s.cmd.Wait(); err != nil {
		return fmt.Errorf("the server ended with %w:\n%s", err, s.out)
	}
	return nil
}

// kill ends the process immediately. It does nothing after stop.
func (s *server) kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// rss returns the resident memory of the process in MiB, 0 where it is unknown.
func (s *server) rss() float64 { return s.memory("VmRSS:") }

// peak returns the maximum of rss so far.
func (s *server) peak() float64 { return s.memory("VmHWM:") }

// memory returns a field of the server's /proc/PID/status in MiB. field includes the
// colon, as in "VmHWM:".
func (s *server) memory(field string) float64 { return memoryOf(s.cmd.Process.Pid, field) }

// memoryOf returns a field of /proc/PID/status in MiB.
func memoryOf(pid int, field string) float64 {
	if runtime.GOOS != "linux" {
		return 0
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), field)
	kib, _ := strconv.ParseFloat(strings.Fields(rest + " 0")[0], 64)
	return kib / 1024
}

// command runs a sluice command while the server is running and returns its output. It is
// how benchmarks create flows and keys: the API cannot create the first key.
func (s *server) command(stdin []byte, args ...string) (string, error) {
	cmd := exec.Command(s.binary, args...)
	cmd.Env, cmd.Stdin = s.env, bytes.NewReader(stdin)
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("sluice %s: %w: %s", strings.Join(args, " "), err, exit.Stderr)
	}
	return strings.TrimSpace(string(out)), err
}

// publish imports and publishes a flow and returns its ID.
func (s *server) publish(document []byte) (string, error) {
	return s.command(document, "flow", "import", "--publish", "-")
}

// key creates an API key.
func (s *server) key() (string, error) { return s.command(nil, "key", "create", "--name", "bench") }

// output collects what a process prints. It is safe for concurrent use.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}
