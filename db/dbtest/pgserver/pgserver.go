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
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// Server is a running PostgreSQL server that listens only on a socket in a
// temporary directory. It ends with this process.
type Server struct {
	dir    string
	cmd    *exec.Cmd
	output bytes.Buffer
}

// Installed reports whether the programs of a PostgreSQL server were found.
func Installed() bool { return binary("initdb") != "" && binary("postgres") != "" }

// binary finds a server program where distributions put it, newest first.
func binary(name string) string {
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
func Start(settings ...string) (_ *Server, err error) {
	s := &Server{}
	if s.dir, err = os.MkdirTemp("", "sluice-pg-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			s.Stop()
		}
	}()
	cred, err := unprivileged(s.dir)
	if err != nil {
		return nil, err
	}
	data := filepath.Join(s.dir, "data")
	init := s.command(cred, "initdb", "-D", data, "-U", "sluice", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")
	if out, err := init.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	// On the command line, settings could not be changed while the server runs.
	conf := strings.Join(settings, "\n") + "\n"
	if err := os.WriteFile(filepath.Join(data, "postgresql.auto.conf"), []byte(conf), 0o600); err != nil {
		return nil, err
	}
	s.cmd = s.command(cred, "postgres", "-D", data, "-k", s.dir, "-h", "")
	s.cmd.Stdout, s.cmd.Stderr = &s.output, &s.output
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	return s, s.await()
}

func (s *Server) command(cred *syscall.Credential, name string, args ...string) *exec.Cmd {
	cmd := exec.Command(binary(name), args...)
	cmd.Dir = s.dir
	// Should this process be killed, the server must not stay behind.
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: cred, Pdeathsig: syscall.SIGQUIT}
	return cmd
}

// unprivileged finds a user to run the server as, because it refuses root, and
// gives them the directory.
func unprivileged(dir string) (*syscall.Credential, error) {
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

// await returns when the server accepts connections.
func (s *Server) await() error {
	ctx := context.Background()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		conn, err := pgx.Connect(ctx, s.URL("postgres"))
		if err == nil {
			return conn.Close(ctx)
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("no connection after 30 s: %w\n%s", err, s.output.String())
		}
	}
}

// URL is the address of a database on the server.
func (s *Server) URL(database string) string {
	return "postgres://sluice@/" + database + "?host=" + url.QueryEscape(s.dir)
}

// PID is the process ID of the postmaster, the parent of all other processes of
// the server.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Stop ends the server without waiting for its clients and removes its files.
func (s *Server) Stop() {
	if s.cmd != nil && s.cmd.Process != nil {
		_ = s.cmd.Process.Signal(syscall.SIGINT) // fast shutdown
		_ = s.cmd.Wait()
	}
	_ = os.RemoveAll(s.dir)
}
