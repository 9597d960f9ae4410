package e2e

import (
	"testing"
	"time"

	"sluice/db/dbtest"
	"sluice/e2e/need"
)

// twoServers starts two servers on one PostgreSQL database.
func twoServers(t *testing.T, env ...string) (a, b *server) {
	t.Helper()
	cfg := dbtest.PostgresConfig(t)
	env = append([]string{"DATABASE_URL=" + cfg.DatabaseURL, "SLUICE_MASTER_KEY=" + cfg.MasterKey}, env...)
	return newServer(t, env...), newServer(t, env...)
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
