package e2e

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"sluice/db/dbtest"
)

// crashing is a server that is killed and restarted. In between, other instances consider it
// dead.
type crashing struct {
	*server
	url string // of PostgreSQL, or ""
}

// onBothDatabases runs a test on SQLite and on PostgreSQL.
func onBothDatabases(t *testing.T, test func(t *testing.T, s crashing)) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, crashing{server: newServer(t)})
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		cfg := dbtest.PostgresConfig(t)
		test(t, crashing{newServer(t, "DATABASE_URL="+cfg.DatabaseURL, "SLUICE_MASTER_KEY="+cfg.MasterKey), cfg.DatabaseURL})
	})
}

// crash kills the process and starts another on the same store.
func (s crashing) crash() {
	s.t.Helper()
	s.kill()
	if s.url != "" { // instead of waiting until its heartbeat has expired
		ctx := context.Background()
		pool, err := pgxpool.New(ctx, s.url)
		if err != nil {
			s.t.Fatal(err)
		}
		defer pool.Close()
		if _, err := pool.Exec(ctx, "UPDATE instances SET heartbeat_at = 1"); err != nil {
			s.t.Fatal(err)
		}
	}
	s.start()
}

// TestServer_serves_while_interrupted_runs_wait kills the server twice while 64 calls wait for responses. Each time it
// must accept and execute runs while they still wait, and in the end all of them succeed.
func TestServer_serves_while_interrupted_runs_wait(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, s crashing) {
		const slow = 64
		up := newSlowUpstream(t)
		greet, call := s.publish(greeting()), s.publish(calling(up.URL))
		key := s.key()
		var runs []*run
		for range slow {
			runs = append(runs, s.client(key).start(call, object{"n": "1"}))
		}
		for crashes := range 3 {
			s.waitUntil("the calls hang", func() bool { return up.calls.Load() >= int64(slow*(crashes+1)) })
			if crashes == 2 {
				break
			}
			s.crash()
			c := s.client(key)
			for _, path := range []string{"/livez", "/readyz"} {
				c.want(200, "GET", path, nil)
			}
			c.succeed(greet, object{"name": "Ada"}) // no call has been answered
		}
		up.release()
		c := s.client(key)
		for _, r := range runs {
			if r = c.await(r); r.Status != "succeeded" {
				t.Errorf("a run that was in flight is %s: %+v", r.Status, r.Error)
			}
		}
	})
}

// TestPoisoned_ends_run_that_crashes_server kills the server whenever it executes a certain run, as if that run
// crashed it. That run ends as poisoned, and the runs beside it succeed.
func TestPoisoned_ends_run_that_crashes_server(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, s crashing) {
		up := newSlowUpstream(t)
		call := s.publish(calling(up.URL))
		// This takes about ten seconds of CPU time.
		deadly := s.publish(documentOf("Deadly", []object{input("text"), node("sum", "summarize", object{}), output("summary")},
			"text.value > sum.text", "sum.summary > out_summary.value"))
		long := strings.Repeat("The museum opens a new wing in May, and shows what the rivers brought. ", 200_000/72)
		key := s.key()
		c := s.client(key)
		var beside []*run
		for range 4 {
			beside = append(beside, c.start(call, object{"n": "1"}))
		}
		victim := c.start(deadly, object{"text": long})
		for crashes := range 3 {
			c := s.client(key)
			s.waitUntil("the deadly run is at work and the others wait", func() bool {
				sum := c.steps(victim)["sum"]
				return up.calls.Load() >= int64(len(beside)*(crashes+1)) && sum.State == "running" && sum.Attempts == crashes+1
			})
			s.crash()
		}
		c = s.client(key)
		if r := c.await(victim); r.Status != "failed" || r.Error == nil || r.Error.Code != "poisoned" {
			t.Errorf("the deadly run is %s: %+v", r.Status, r.Error)
		}
		up.release()
		for _, r := range beside {
			if r = c.await(r); r.Status != "succeeded" {
				t.Errorf("a run beside it is %s: %+v", r.Status, r.Error)
			}
		}
	})
}
