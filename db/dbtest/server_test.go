package dbtest_test

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"sluice/db/dbtest"
)

// TestProxy stalls and cuts connections, and loses the answer to a completed commit.
func TestProxy(t *testing.T) {
	t.Parallel()
	server := dbtest.NewServer(t, dbtest.ServerConfig{})
	proxy := dbtest.NewProxy(t, "unix", server.Socket())
	connect := func() *pgx.Conn {
		t.Helper()
		conn, err := pgx.Connect(t.Context(), proxy.URL("postgres"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close(context.Background()) })
		return conn
	}
	insert := func(conn *pgx.Conn, n int) error {
		tx, err := conn.Begin(t.Context())
		if err != nil {
			return err
		}
		if _, err := tx.Exec(t.Context(), "INSERT INTO kept VALUES ($1)", n); err != nil {
			return err
		}
		return tx.Commit(t.Context())
	}
	count := func() (n int) {
		t.Helper()
		if err := connect().QueryRow(t.Context(), "SELECT count(*) FROM kept").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	server.Exec("CREATE TABLE kept (n int)")

	conn := connect()
	if err := insert(conn, 1); err != nil {
		t.Fatal(err)
	}
	proxy.LoseAnswers(dbtest.LosesAnswersTo("COMMIT"))
	if err := insert(conn, 2); err == nil || !conn.IsClosed() {
		t.Errorf("an answer that was lost gave %v", err)
	}
	proxy.LoseAnswers(dbtest.LosesAnswersTo("into kept"))
	if err := insert(connect(), 3); err == nil {
		t.Error("the answer to a prepared statement was not lost")
	}
	proxy.LoseAnswers(nil)
	if n := count(); n != 2 || proxy.Lost() != 2 {
		t.Errorf("%d rows and %d lost answers, wanted 2 and 2: the first commit succeeded, the second statement rolled back", n, proxy.Lost())
	}

	conn = connect()
	proxy.Stall()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := conn.Exec(ctx, "SELECT 1"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a stalled statement gave %v", err)
	}
	proxy.Resume()
	conn = connect()
	if proxy.Cut(1) == 0 {
		t.Error("no connection was cut")
	}
	if _, err := conn.Exec(t.Context(), "SELECT 1"); err == nil {
		t.Error("a connection that was cut answered")
	}
}

// TestServer_keeps_commits_across_restarts checks that commits survive every way of stopping the server.
func TestServer_keeps_commits_across_restarts(t *testing.T) {
	t.Parallel()
	server := dbtest.NewServer(t, dbtest.ServerConfig{Settings: []string{"max_connections=20"}})
	server.Exec("CREATE TABLE kept (n int)")
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGQUIT, syscall.SIGKILL} {
		server.Exec("INSERT INTO kept VALUES (1)")
		server.Stop(sig)
		server.Start()
	}
	conn, err := pgx.Connect(t.Context(), server.AdminURL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	var n, most int
	if err := conn.QueryRow(t.Context(), "SELECT count(*), current_setting('max_connections')::int FROM kept").Scan(&n, &most); err != nil || n != 3 || most != 20 {
		t.Errorf("%d rows, max_connections=%d, %v; wanted 3 rows and 20", n, most, err)
	}
}
