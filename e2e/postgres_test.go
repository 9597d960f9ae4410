package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"sluice/db/dbtest"
	"sluice/e2e/need"
)

// twoServers starts two servers on one PostgreSQL database.
func twoServers(t *testing.T, env ...string) (a, b *server) {
	t.Helper()
	list := serversOn(t, 2, env...)
	return list[0], list[1]
}

// serversOn starts servers on one database.
func serversOn(t *testing.T, n int, env ...string) (list []*server) {
	t.Helper()
	cfg := dbtest.PostgresConfig(t)
	env = append([]string{"DATABASE_URL=" + cfg.DatabaseURL, "SLUICE_MASTER_KEY=" + cfg.MasterKey}, env...)
	for range n {
		list = append(list, newServer(t, env...))
	}
	return list
}

// TestTwoServers starts runs at one server and awaits, follows and cancels them at the other.
// Each works on one run at a time, so both have to.
func TestTwoServers(t *testing.T) {
	t.Parallel()
	up := newSlowUpstream(t)
	a, b := twoServers(t)
	greet, call := a.publish(greeting()), a.publish(calling(up.URL))
	key := a.key()
	here, there := a.client(key), b.client(key)
	for range 20 {
		r := there.await(here.start(greet, object{"name": "Ada"}))
		if r.Outputs["text"] != "Hello Ada!" {
			t.Errorf("the other server reports %s %v", r.Status, r.Outputs)
		}
	}
	checkOrder(t, there.events(here.start(greet, object{"name": "Ada"}), 0))
	var hanging []*run
	for range 4 {
		hanging = append(hanging, here.start(call, object{"n": "1"}))
	}
	waitUntil(t, "the steps hang", func() bool { return up.calls.Load() == 4 })
	for i, r := range hanging {
		c := []*client{here, there}[i%2]
		c.want(200, "POST", r.path()+"/cancel", nil)
		if r = c.await(r); r.Status != "canceled" {
			t.Errorf("canceled through one of two servers, the run is %s", r.Status)
		}
	}
	waitUntil(t, "the calls were aborted", func() bool { return up.gone.Load() == 4 })
}

// TestSetUpLink_survives_an_outage ends the database session of a new server at the moment in
// which it reads whether there are users. The server is in service by then, so it keeps
// running and prints the set-up link once the database answers.
func TestSetUpLink_survives_an_outage(t *testing.T) {
	t.Parallel()
	cfg := dbtest.PostgresConfig(t)
	s := stoppedServer(t, "DATABASE_URL="+cfg.DatabaseURL, "SLUICE_MASTER_KEY="+cfg.MasterKey)
	s.faulty = true
	conn, err := pgx.Connect(t.Context(), toolURL(t, cfg))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	exec := func(sql string) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	exec("BEGIN")
	exec("LOCK TABLE users IN ACCESS EXCLUSIVE MODE")
	s.start()
	const blocked = "SELECT pid FROM pg_locks WHERE relation = 'users'::regclass AND NOT granted"
	running := func() {
		t.Helper()
		if s.hasExited() {
			t.Fatalf("the server ended: %v\n%s", s.process().exit, s.process().errs)
		}
	}
	ended := map[int]bool{}
	waitUntil(t, "the server tried three times", func() bool {
		running()
		var pid int
		if conn.QueryRow(t.Context(), blocked).Scan(&pid) != nil {
			return false
		}
		ended[pid] = true
		exec(fmt.Sprintf("SELECT pg_terminate_backend(%d)", pid))
		return len(ended) == 3
	})
	exec("COMMIT")
	waitUntil(t, "the set-up link is printed", func() bool {
		running()
		return strings.Contains(s.process().out.String(), "/setup?token=")
	})
}

// TestFailover_takes_over_runs kills one of two servers under load. The other takes over its runs.
func TestFailover_takes_over_runs(t *testing.T) {
	need.Slow(t)
	t.Parallel()
	a, b := twoServers(t)
	l := newLoad(t, 1, a, b)
	l.begin()
	time.Sleep(time.Second) // of load
	l.gate.close()
	b.kill()
	killed := time.Now()
	l.awaitSilence()
	cut := l.ledger.killed()
	l.gate.open()
	time.Sleep(time.Second) // of load on one server
	l.end()
	l.check(waitTimeout)
	t.Logf("%d steps were in doubt; all had ended %s after the loss", len(cut), time.Since(killed))
}
