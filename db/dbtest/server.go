package dbtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"sluice/db"
	"sluice/db/dbtest/pgserver"
	"sluice/e2e/need"
)

// Server is a PostgreSQL server of one test, which may stop, kill and restart it.
// Tests that only need a database share a server through Postgres.
type Server struct {
	t         testing.TB
	p         *pgserver.Server
	settings  []string
	data      string
	logOffset int // size of the log before the last start
}

// ServerConfig configures a server.
type ServerConfig struct {
	Data     string   // an empty directory, "" for a temporary one
	WAL      string   // another one for the write-ahead log, "" for the same
	Settings []string // such as "max_connections=20"
}

// NewServer starts a server that is removed after the test. It listens only on a Unix
// socket; a Proxy gives it a TCP port.
func NewServer(t testing.TB, cfg ServerConfig) *Server {
	t.Helper()
	s := &Server{t: t, settings: cfg.Settings, data: cfg.Data}
	need.Tool(t, "PostgreSQL server binaries not found", pgserver.Installed())
	var given, options []string
	if cfg.Data != "" {
		given = append(given, cfg.Data)
	}
	if cfg.WAL != "" {
		given, options = append(given, cfg.WAL), append(options, "-X", cfg.WAL)
	}
	var err error
	if s.p, err = pgserver.New(given...); err != nil {
		t.Fatalf("prepare PostgreSQL: %v", err)
	}
	t.Cleanup(s.p.Remove)
	if s.data == "" {
		s.data = filepath.Join(s.p.Dir(), "data")
	}
	if err := s.p.Init(s.data, options...); err != nil {
		t.Fatal(err)
	}
	s.Start()
	s.Exec("CREATE ROLE app LOGIN")
	return s
}

// NewReplica starts a streaming replica of the server, which is removed after the test.
func (s *Server) NewReplica() *Server {
	s.t.Helper()
	r := &Server{t: s.t, settings: s.settings}
	var err error
	if r.p, err = pgserver.New(); err != nil {
		s.t.Fatalf("prepare PostgreSQL: %v", err)
	}
	s.t.Cleanup(r.p.Remove)
	r.data = filepath.Join(r.p.Dir(), "data")
	if err := r.p.Clone(r.data, s.p); err != nil {
		s.t.Fatal(err)
	}
	r.Start()
	return r
}

// Config returns the configuration of a store on a new database, which is not
// migrated yet. The database belongs to the role app, which is not a superuser.
func (s *Server) Config(database string) db.Config {
	s.t.Helper()
	s.Exec("CREATE DATABASE " + database + " OWNER app")
	return db.Config{DataDir: s.t.TempDir(), DatabaseURL: s.URL(database), MasterKey: masterKey}
}

// URL returns the address of a database on the socket, for the role app.
func (s *Server) URL(database string) string {
	return "postgres://app@/" + database + "?host=" + url.QueryEscape(s.p.Dir())
}

// AdminURL returns the address of a database for the superuser.
func (s *Server) AdminURL(database string) string { return s.p.URL(database) }

// Socket returns the path of the server's Unix socket, the target of a Proxy.
func (s *Server) Socket() string { return filepath.Join(s.p.Dir(), ".s.PGSQL.5432") }

// Stop sends the server a signal and waits until it has ended: syscall.SIGINT is a
// fast shutdown, syscall.SIGQUIT an immediate one, and syscall.SIGKILL a crash.
func (s *Server) Stop(sig syscall.Signal) { s.p.End(sig) }

// Start starts the stopped server and waits until it accepts connections. After a
// crash it retries until the processes of the previous server are gone.
func (s *Server) Start() {
	s.t.Helper()
	if err := s.TryStart(30 * time.Second); err != nil {
		s.t.Fatal(err)
	}
}

// TryStart is Start for a server that may fail to start.
func (s *Server) TryStart(timeout time.Duration) error {
	s.logOffset = len(s.p.Output())
	for deadline := time.Now().Add(timeout); ; time.Sleep(20 * time.Millisecond) {
		err := s.p.Serve(s.data, testOptions(s.settings...)...)
		if err != nil {
			return err
		}
		if err = s.awaitConnections(deadline); err == nil {
			return nil
		}
		s.p.End(syscall.SIGQUIT)
		if time.Now().After(deadline) {
			return fmt.Errorf("PostgreSQL did not start in %s: %w\n%s", timeout, err, s.Log())
		}
	}
}

// awaitConnections waits until the server accepts connections. It returns early if the process
// has ended.
func (s *Server) awaitConnections(deadline time.Time) (err error) {
	for time.Now().Before(deadline) {
		if err = s.try("postgres", "SELECT 1"); err == nil {
			return nil
		}
		select {
		case <-s.p.Exited():
			return err
		case <-time.After(10 * time.Millisecond):
		}
	}
	return err
}

// Exec runs statements as the superuser, each in its own transaction.
func (s *Server) Exec(statements ...string) {
	s.t.Helper()
	for _, sql := range statements {
		s.ExecIn("postgres", sql)
	}
}

// ExecIn runs a statement in a database, as the superuser.
func (s *Server) ExecIn(database, sql string) {
	s.t.Helper()
	if err := s.try(database, sql); err != nil {
		s.t.Fatalf("%s: %v", sql, err)
	}
}

// try runs a statement on a connection of its own, within 30 seconds.
func (s *Server) try(database, sql string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.AdminURL(database))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, sql)
	return err
}

// DamagePage overwrites a page of a table or index, whose file is given relative to the data
// directory, as pg_relation_filepath does. The server is stopped meanwhile.
func (s *Server) DamagePage(file string, page int) {
	s.t.Helper()
	s.Stop(syscall.SIGINT)
	f, err := os.OpenFile(filepath.Join(s.data, file), os.O_WRONLY, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	const pageSize = 8192
	_, err = f.WriteAt(bytes.Repeat([]byte{0xff}, pageSize), int64(page)*pageSize)
	if err = errors.Join(err, f.Close()); err != nil {
		s.t.Fatal(err)
	}
	s.Start()
}

// HasEnded reports whether the process of the server has ended.
func (s *Server) HasEnded() bool {
	select {
	case <-s.p.Exited():
		return true
	default:
		return false
	}
}

// Log returns the output of the server since it was last started.
func (s *Server) Log() string { return s.p.Output()[s.logOffset:] }
