package e2e

import (
	"syscall"
	"testing"
	"time"

	"sluice/e2e/need"
)

// TestFleetFreeze stops one of three servers under load with SIGSTOP, as a paused machine
// would be, until the others have taken over its runs, and then continues it. The others
// must respond all the time.
func TestFleetFreeze(t *testing.T) {
	need.Slow(t)
	t.Parallel()
	f := newFleet(t, fleetConfig{})
	f.begin()
	for round := range fleetRounds(1) {
		f.freeze(round % len(f.servers))
	}
	f.check()
}

// freeze stops a server, waits for the takeover and continues the server.
func (f *fleet) freeze(i int) {
	f.t.Helper()
	calm := time.Now()
	f.awaitStarts(200)
	frozen := time.Now()
	f.load.shun(i)
	f.signal(i, syscall.SIGSTOP)
	defer f.signal(i, syscall.SIGCONT)
	took := f.awaitTakeover(i, frozen)
	f.compare(i, calm, frozen)
	f.t.Logf("server %d was frozen; its runs were taken over after %s", i, took.Round(time.Millisecond))
	f.signal(i, syscall.SIGCONT)
	f.load.shun(-1)
	f.awaitStarts(100)
}

// awaitTakeover waits until an instance holds no open run any more, for takeoverHeartbeats
// heartbeats of another server.
func (f *fleet) awaitTakeover(i int, since time.Time) time.Duration {
	f.t.Helper()
	survivor := f.ids[(i+1)%len(f.ids)]
	var last int64
	for beats := -1; ; time.Sleep(50 * time.Millisecond) { // the first look counts as a heartbeat
		n, err := f.held(i)
		if err == nil && n == 0 {
			return time.Since(since)
		}
		var at int64
		if f.query(&at, "SELECT heartbeat_at FROM instances WHERE id = $1", survivor) == nil && at != last {
			last = at
			beats++
		}
		if beats > takeoverHeartbeats || time.Since(since) > waitTimeout {
			f.t.Errorf("after %s and %d heartbeats of %s server %d still holds %d runs, %v", time.Since(since).Round(time.Second), beats, survivor, i, n, err)
			f.t.Logf("sessions meanwhile: %s", f.sessions())
			return time.Since(since)
		}
	}
}

// compare checks that the other servers are not much slower than before. The bounds are
// loose because they are ratios on a shared machine; exact figures are logged.
func (f *fleet) compare(i int, calm, since time.Time) {
	f.t.Helper()
	before, n := f.load.latency(calm, since, i)
	during, m := f.load.latency(since, time.Now(), i)
	f.t.Logf("p95 of the others: %s before (%d answers in %s), %s during (%d in %s)", before.Round(time.Microsecond), n, since.Sub(calm).Round(time.Millisecond),
		during.Round(time.Microsecond), m, time.Since(since).Round(time.Millisecond))
	if bound := max(20*before, 2*time.Second); during > bound {
		f.t.Errorf("while server %d was away, the others' p95 was %s, and %s before", i, during, before)
	}
	// At the former rate there would be many times as many.
	if least := n / 4; m < least {
		f.t.Errorf("while server %d was away for %s, the others answered %d starts; %d in the %s before", i, time.Since(since), m, n, since.Sub(calm))
	}
}
