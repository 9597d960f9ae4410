// Package pgserver runs a private PostgreSQL server for tests and benchmarks.
// It owns that server's directory and process, and must not know what is stored.
//
// Start is all that a benchmark needs. Package dbtest takes the single steps
// (Prepare, Initialize, Launch, Stop) because its tests also crash servers, start
// them again and put their data on small disks.
package pgserver

import (
	"bytes"
	"context"
	"errors"
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

// Server is a PostgreSQL server that listens only on a socket in a temporary
// directory. It ends at the latest with this process. Its zero value is not
// prepared yet.
type Server struct {
	dir    string
	cred   *syscall.Credential // of the server process; nil for that of this process
	cmd    *exec.Cmd
	exited chan struct{} // closed when cmd has ended
	output output
}

// Installed reports whether the programs of a PostgreSQL server were found.
func Installed() bool { return Program("initdb") != "" && Program("postgres") != "" }

// Program returns the path of a PostgreSQL program in the newest installed version,
// or "". Distributions keep the server's programs outside PATH.
func Program(name string) string {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	slices.Sort(found)
	if len(found) > 0 {
		return found[len(found)-1]
	}
	path, _ := exec.LookPath(name)
	return path
}

// Start creates and starts an empty server and waits until it accepts connections.
// Settings, in the syntax of postgresql.conf, replace PostgreSQL's defaults, which
// are durable. ALTER SYSTEM can change them while the server runs.
func Start(settings ...string) (_ *Server, err error) {
	s := &Server{}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	if err := s.Prepare(); err != nil {
		return nil, err
	}
	data := filepath.Join(s.dir, "data")
	if err := s.Initialize(data); err != nil {
		return nil, err
	}
	// Settings on the command line could not be changed while the server runs.
	conf := strings.Join(settings, "\n") + "\n"
	if err := os.WriteFile(filepath.Join(data, "postgresql.auto.conf"), []byte(conf), 0o600); err != nil {
		return nil, err
	}
	if err := s.Launch(data); err != nil {
		return nil, err
	}
	conn, err := s.Connect(context.Background())
	if err != nil {
		return nil, err
	}
	return s, conn.Close(context.Background())
}

// Prepare creates the directory of the socket. It changes the owner of that and of
// other directories to the user that the server runs as.
func (s *Server) Prepare(others ...string) (err error) {
	if s.dir, err = os.MkdirTemp("", "sluice-pg-"); err != nil {
		return err
	}
	for _, dir := range append(others, s.dir) {
		if s.cred, err = Unprivileged(dir); err != nil {
			return err
		}
	}
	return nil
}

// Unprivileged returns the user to run the server as, which refuses to run as root,
// and makes it the owner of a directory.
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
	return nil, errors.New("there is no user postgres or nobody to run the server as")
}

// Initialize creates a data directory, with further options of initdb.
func (s *Server) Initialize(data string, options ...string) error {
	args := []string{"-D", data, "-U", "sluice", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync"}
	if out, err := s.command("initdb", append(args, options...)...).CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return nil
}

// Launch starts the server on a data directory without waiting for it. Settings
// have the form name=value.
func (s *Server) Launch(data string, settings ...string) error {
	args := []string{"-D", data, "-k", s.dir, "-h", ""}
	for _, setting := range settings {
		args = append(args, "-c", setting)
	}
	cmd, exited := s.command("postgres", args...), make(chan struct{})
	cmd.Stdout, cmd.Stderr = &s.output, &s.output
	cmd.WaitDelay = time.Second // children of a killed server may keep its output open for a moment
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("postgres: %w", err)
	}
	go func() {
		_ = cmd.Wait() // the exit code depends only on the signal
		close(exited)
	}()
	s.cmd, s.exited = cmd, exited
	return nil
}

// command returns a command that the kernel ends if this process is killed.
func (s *Server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(Program(name), args...)
	cmd.Dir = s.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.cred, Pdeathsig: syscall.SIGQUIT}
	return cmd
}

// Connect waits until the server accepts connections and returns one of its
// superuser.
func (s *Server) Connect(ctx context.Context) (*pgx.Conn, error) {
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		conn, err := pgx.Connect(ctx, s.URL("postgres"))
		if err == nil {
			return conn, nil
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("no connection after 30 s: %w\n%s", err, s.Output())
		}
	}
}

// URL returns the URL of a database for the superuser.
func (s *Server) URL(database string) string {
	return "postgres://sluice@/" + database + "?host=" + url.QueryEscape(s.dir)
}

// Dir returns the directory of the socket.
func (s *Server) Dir() string { return s.dir }

// PID returns the process ID of the postmaster, the parent of all other processes
// of the server.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Exited returns a channel that is closed when the process has ended.
func (s *Server) Exited() <-chan struct{} { return s.exited }

// Output returns everything that the server has printed.
func (s *Server) Output() string { return s.output.String() }

// Stop sends the server a signal and waits for its end: syscall.SIGINT is a fast
// shutdown, syscall.SIGQUIT an immediate one, and syscall.SIGKILL a crash.
func (s *Server) Stop(sig syscall.Signal) {
	if s.cmd != nil {
		_ = s.cmd.Process.Signal(sig)
		<-s.exited
	}
}

// Close stops the server without waiting for its clients and removes its files.
func (s *Server) Close() {
	s.Stop(syscall.SIGINT)
	if s.dir != "" {
		_ = os.RemoveAll(s.dir)
	}
}

// output collects what the server prints. It is safe for concurrent use.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
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
