package dbtest

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"sluice/db"
	"sluice/e2e/need"
)

// Server is a PostgreSQL server of one test, which may stop, kill and start it
// again. Tests that only need a database share one through Postgres.
type Server struct {
	t        testing.TB
	p        postgres
	settings []string
	data     string
	seen     int // bytes of the log that were there before the present start
}

// ServerConfig says where a server keeps its data and how it is set up.
type ServerConfig struct {
	Data     string   // an empty directory, "" for a temporary one
	WAL      string   // another one for the write-ahead log, "" for the same
	Settings []string // such as "max_connections=20"
}

// NewServer starts a server that is gone after the test. It listens on a Unix
// socket only; a Proxy gives it a TCP port.
func NewServer(t testing.TB, cfg ServerConfig) *Server {
	t.Helper()
	s := &Server{t: t, settings: cfg.Settings, data: cfg.Data}
	need.Tool(t, "PostgreSQL server binaries not found", s.p.installed())
	t.Cleanup(s.p.stop)
	var given, options []string
	if cfg.Data != "" {
		given = append(given, cfg.Data)
	}
	if cfg.WAL != "" {
		given, options = append(given, cfg.WAL), append(options, "-X", cfg.WAL)
	}
	if err := s.p.prepare(given...); err != nil {
		t.Fatalf("prepare PostgreSQL: %v", err)
	}
	if s.data == "" {
		s.data = filepath.Join(s.p.dir, "data")
	}
	if err := s.p.initialize(s.data, options...); err != nil {
		t.Fatal(err)
	}
	s.Start()
	s.Exec("CREATE ROLE app LOGIN")
	return s
}

// Config is the configuration of a store on a new database of this server, which
// is not migrated. It belongs to the role app, which is no superuser.
func (s *Server) Config(database string) db.Config {
	s.t.Helper()
	s.Exec("CREATE DATABASE " + database + " OWNER app")
	return db.Config{DataDir: s.t.TempDir(), DatabaseURL: s.URL(database), MasterKey: masterKey}
}

// URL is the address of a database by the socket, for the role app.
func (s *Server) URL(database string) string {
	return "postgres://app@/" + database + "?host=" + url.QueryEscape(s.p.dir)
}

// AdminURL is the address of a database for the superuser.
func (s *Server) AdminURL(database string) string { return s.p.address(database) }

// Socket is the path of the server's Unix socket, the target of a Proxy.
func (s *Server) Socket() string { return filepath.Join(s.p.dir, ".s.PGSQL.5432") }

// DataDir is where the server keeps its data.
func (s *Server) DataDir() string { return s.data }

// Stop ends the server and returns when it is gone: syscall.SIGINT is a fast
// shutdown, syscall.SIGQUIT an immediate one, and syscall.SIGKILL a crash.
func (s *Server) Stop(sig syscall.Signal) { s.p.end(sig) }

// Start starts the stopped server and returns when it takes connections. After
// a crash it tries again until the sessions of the former server are gone.
func (s *Server) Start() {
	s.t.Helper()
	if err := s.TryStart(30 * time.Second); err != nil {
		s.t.Fatal(err)
	}
}

// TryStart is Start for a server that may be unable to.
func (s *Server) TryStart(patience time.Duration) error {
	s.seen = len(s.p.output.String())
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		err := s.p.serve(s.data, s.settings...)
		if err != nil {
			return err
		}
		if err = s.answers(deadline); err == nil {
			return nil
		}
		s.p.end(syscall.SIGQUIT)
		if time.Now().After(deadline) {
			return fmt.Errorf("PostgreSQL did not start in %s: %w\n%s", patience, err, s.Log())
		}
	}
}

// answers waits for the server to take connections. It returns early when the
// process has ended.
func (s *Server) answers(deadline time.Time) (err error) {
	for time.Now().Before(deadline) {
		if err = s.try("postgres", "SELECT 1"); err == nil {
			return nil
		}
		select {
		case <-s.p.exited:
			return err
		case <-time.After(10 * time.Millisecond):
		}
	}
	return err
}

// Exec runs statements, each in a transaction of its own, as the superuser.
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

// HasEnded reports whether the server is gone without having been stopped.
func (s *Server) HasEnded() bool {
	select {
	case <-s.p.exited:
		return true
	default:
		return false
	}
}

// Log is what the server has printed since it was last started.
func (s *Server) Log() string { return s.p.output.String()[s.seen:] }
