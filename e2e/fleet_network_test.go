package e2e

import (
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"sluice/db/dbtest"
	"sluice/e2e/need"
)

// TestFleetStall stops all traffic between one server and the database, with connections
// left open, until the others have taken over its runs.
func TestFleetStall(t *testing.T) {
	need.Slow(t)
	t.Parallel()
	f := newFleet(t, fleetConfig{proxied: true})
	f.begin()
	for round := range fleetRounds(1) {
		f.stall(round % len(f.servers))
	}
	f.check()
}

func (f *fleet) stall(i int) {
	f.t.Helper()
	calm := time.Now()
	f.awaitStarts(200)
	stalled := time.Now()
	f.load.shun(i)
	f.proxies[i].Stall()
	defer f.proxies[i].Resume()
	unready := f.awaitUnready(i)
	f.probe(i)
	took := f.awaitTakeover(i, stalled)
	f.compare(i, calm, stalled)
	f.t.Logf("server %d was cut off; it said so after %s, and its runs were taken over after %s", i, unready.Round(time.Millisecond), took.Round(time.Millisecond))
	f.proxies[i].Resume()
	f.load.shun(-1)
	f.awaitReady()
	f.awaitStarts(100)
}

// unreadyTimeout bounds how long a server may take to report at /readyz that its
// database is unavailable. The contract is a second; package db checks that with a
// fake outage. Here it only tells "soon" from "after the takeover", which takes 20 s.
const unreadyTimeout = 10 * time.Second

// awaitUnready waits until servers report that the database is unavailable.
func (f *fleet) awaitUnready(servers ...int) time.Duration {
	f.t.Helper()
	startedAt := time.Now()
	for _, i := range servers {
		for !f.servers[i].hasExited() && !f.unready(i) {
			if time.Since(startedAt) > unreadyTimeout {
				f.t.Errorf("for %s server %d did not say at /readyz that its database is away", unreadyTimeout, i)
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	return time.Since(startedAt)
}

// unready reports whether a server responds at /readyz that it is not ready.
func (f *fleet) unready(i int) bool {
	a, err := f.load.any[i].tryWithin(unreadyTimeout, "GET", "/readyz", nil)
	return err == nil && a.status == http.StatusServiceUnavailable
}

// probe reads and starts runs at a server whose database is unavailable. Both must be
// rejected with 503 while it is: the order is what matters, since the database comes
// back only after probe returns. The bound only ends a test that hangs.
func (f *fleet) probe(i int) {
	f.t.Helper()
	c, flow := f.load.any[i], f.load.flows["pure"]
	for method, path := range map[string]string{"GET": "/v1/flow/" + flow + "/runs?limit=1", "POST": "/v1/flow/" + flow + "/run"} {
		var body any
		if method == "POST" {
			body = object{"n": "probe"}
		}
		a, err := c.tryWithin(waitTimeout, method, path, body)
		if err != nil {
			f.t.Errorf("without its database server %d did not answer %s %s within %s: %v", i, method, path, waitTimeout, err)
		} else if f.load.saw(i, a); a.status != http.StatusServiceUnavailable {
			f.t.Errorf("without its database server %d answered %s %s with %d, wanted 503: %s", i, method, path, a.status, a.body)
		}
	}
}

// TestFleetCuts closes connections to the database at random, at all servers.
func TestFleetCuts(t *testing.T) {
	need.Slow(t)
	t.Parallel()
	f := newFleet(t, fleetConfig{proxied: true})
	f.begin()
	cut := 0
	for range 8 * fleetRounds(1) {
		for _, p := range f.proxies {
			cut += p.Cut(0.5)
		}
		f.awaitStarts(20)
	}
	f.t.Logf("%d connections were cut", cut)
	f.check()
}

// TestFleetLostAnswers executes statements and closes the connection before the response:
// first commits, then fetches of jobs and so on, then any statement.
func TestFleetLostAnswers(t *testing.T) {
	need.Slow(t)
	t.Parallel()
	f := newFleet(t, fleetConfig{proxied: true})
	f.begin()
	for range fleetRounds(1) {
		for _, part := range []string{"commit", "JobGetAvailable", "ClaimRun", "HoldRun", "JobSetState", ""} {
			for _, p := range f.proxies {
				p.LoseAnswers(someOf(part))
			}
			f.awaitStarts(30)
		}
		for _, p := range f.proxies {
			p.LoseAnswers(nil)
		}
		f.awaitStarts(20)
	}
	lost := 0
	for _, p := range f.proxies {
		lost += p.Lost()
	}
	if lost == 0 {
		t.Error("no answer was lost")
	}
	f.t.Logf("%d answers were lost", lost)
	f.check()
}

// someOf selects the first three statements that contain a text, and one in a hundred of
// the others.
func someOf(part string) func(sql string) bool {
	contains := dbtest.LosesAnswersTo(part)
	var n atomic.Int64
	return func(sql string) bool { return contains(sql) && (n.Add(1) <= 3 || rand.IntN(100) == 0) }
}
