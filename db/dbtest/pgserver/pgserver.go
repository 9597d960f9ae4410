// Package pgserver runs a private PostgreSQL server for tests and benchmarks.
// It owns that server's directory and process, and knows nothing of what is
// stored.
package pgserver

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// Server is a PostgreSQL server that listens only on a Unix socket in a temporary
// directory. Its process may be ended and started again. It ends with this
// process.
type Server struct {
	dir    string
	cred   *syscall.Credential // of the server; nil for those of this process
	cmd    *exec.Cmd
	exited chan struct{} // closed when cmd has ended
	output output
}

// Installed reports whether the programs of a PostgreSQL server were found.
func Installed() bool { return Program("initdb") != "" && Program("postgres") != "" }

// Program returns the path of a PostgreSQL program of the newest version in the
// directories that distributions use, or "" if it is not installed.
func Program(name string) string {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	slices.Sort(found)
	if len(found) > 0 {
		return found[len(found)-1]
	}
	path, _ := exec.LookPath(name)
	return path
}

// Start creates an empty server in a new temporary directory and waits until it
// accepts connections. Settings, in the syntax of postgresql.conf, replace
// PostgreSQL's defaults, which are durable.
func Start(settings ...string) (*Server, error) {
	s, err := New()
	if err != nil {
		return nil, err
	}
	return s.start(filepath.Join(s.dir, "data"), settings)
}

// StartAt is Start with a data directory that Remove leaves, in a directory that exists and has nothing else. If it has data, the server continues with that.
func StartAt(data string, settings ...string) (*Server, error) {
	s, err := New(filepath.Dir(data))
	if err != nil {
		return nil, err
	}
	return s.start(data, settings)
}

// start serves a data directory, which it creates if it is missing.
func (s *Server) start(data string, settings []string) (_ *Server, err error) {
	defer func() {
		if err != nil {
			s.Remove()
		}
	}()
	if _, missing := os.Stat(filepath.Join(data, "PG_VERSION")); missing != nil {
		if err := s.Init(data); err != nil {
			return nil, err
		}
	}
	// On the command line, settings could not be changed while the server runs.
	conf := strings.Join(settings, "\n") + "\n"
	if err := os.WriteFile(filepath.Join(data, "postgresql.auto.conf"), []byte(conf), 0o600); err != nil {
		return nil, err
	}
	if err := s.Serve(data); err != nil {
		return nil, err
	}
	if err := Await(s.URL("postgres")); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, s.Output())
	}
	return s, nil
}

// New creates the directory of a server, which is not running yet. The server also
// gets access to the other directories, which must exist.
func New(others ...string) (s *Server, err error) {
	s = &Server{}
	if s.dir, err = os.MkdirTemp("", "sluice-pg-"); err != nil {
		return nil, err
	}
	for _, dir := range append(others, s.dir) {
		if s.cred, err = Unprivileged(dir); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Init creates a data directory, with additional options of initdb.
func (s *Server) Init(data string, options ...string) error {
	args := []string{"-D", data, "-U", "sluice", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync"}
	if out, err := s.command("initdb", append(args, options...)...).CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return nil
}

// Clone copies the data of another running server, so that this one becomes its streaming replica.
func (s *Server) Clone(data string, other *Server) error {
	args := []string{"-D", data, "-d", "host=" + other.dir + " user=sluice", "-R", "-X", "stream", "-c", "fast", "--no-sync"}
	if out, err := s.command("pg_basebackup", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("pg_basebackup: %w\n%s", err, out)
	}
	return nil
}

// Serve starts the process on a data directory, with additional options of
// postgres. It does not wait until the server accepts connections.
func (s *Server) Serve(data string, options ...string) error {
	args := append([]string{"-D", data, "-k", s.dir, "-h", ""}, options...)
	cmd, exited := s.command("postgres", args...), make(chan struct{})
	cmd.Stdout, cmd.Stderr = &s.output, &s.output
	// Children of a server that was killed may keep its output open for a moment.
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("postgres: %w", err)
	}
	go func() {
		_ = cmd.Wait() // the exit code depends on how the server was stopped
		close(exited)
	}()
	s.cmd, s.exited = cmd, exited
	return nil
}

func (s *Server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(Program(name), args...)
	cmd.Dir = s.dir
	// If this process is killed, the server ends too.
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.cred, Pdeathsig: syscall.SIGQUIT}
	return cmd
}

// Unprivileged returns a user to run servers as if this process runs as root, which
// PostgreSQL refuses, and gives them the directory. Otherwise it returns nil.
func Unprivileged(dir string) (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, os.Chown(dir, uid, gid)
	}
	return nil, fmt.Errorf("there is no user postgres or nobody to run the server as")
}

// Await waits up to 30 seconds until a server accepts connections.
func Await(address string) error {
	cfg, err := pgx.ParseConfig(address)
	if err != nil {
		return err
	}
	delete(cfg.RuntimeParams, "pool_max_conns") // a setting of pools, not of connections
	ctx := context.Background()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		conn, err := pgx.ConnectConfig(ctx, cfg)
		if err == nil {
			return conn.Close(ctx)
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("no connection after 30 s: %w", err)
		}
	}
}

// Dir returns the temporary directory, which contains the socket.
func (s *Server) Dir() string { return s.dir }

// URL returns the address of a database for the superuser.
func (s *Server) URL(database string) string {
	return "postgres://sluice@/" + database + "?host=" + url.QueryEscape(s.dir)
}

// PID returns the process ID of the postmaster, the parent of all other processes of
// the server.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Exited returns a channel that is closed when the process has ended.
func (s *Server) Exited() <-chan struct{} { return s.exited }

// Output returns everything that the server has printed.
func (s *Server) Output() string { return s.output.String() }

// End sends the process a signal and waits until it has ended: SIGINT is a fast
// shutdown, SIGQUIT an immediate one, and SIGKILL a crash.
func (s *Server) End(sig syscall.Signal) {
	if s.cmd != nil {
		_ = s.cmd.Process.Signal(sig)
		<-s.exited
	}
}

// Remove ends the server without waiting for its clients and removes its directory.
func (s *Server) Remove() {
	s.End(syscall.SIGINT)
	_ = os.RemoveAll(s.dir)
}

// output collects the output of a process. It is safe for concurrent use.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write appends to the output.
func (o *output) Write(data []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(data)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}
