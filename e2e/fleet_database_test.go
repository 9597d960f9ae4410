package e2e

import (
	"syscall"
	"testing"
	"time"

	"sluice/db/dbtest"
	"sluice/e2e/need"
)

// ends are the ways in which PostgreSQL stops.
var ends = map[string]syscall.Signal{"fast": syscall.SIGINT, "immediate": syscall.SIGQUIT, "killed": syscall.SIGKILL}

// TestFleetRestart stops PostgreSQL under load, in each way, until all servers report it, and
// starts it again. Waiting callers and open event streams get their results.
func TestFleetRestart(t *testing.T) {
	need.Slow(t)
	t.Parallel()
	f := newFleet(t, fleetConfig{})
	f.begin()
	for range fleetRounds(1) {
		for name, sig := range ends {
			f.restart(name, sig)
		}
	}
	f.check()
}

func (f *fleet) restart(name string, sig syscall.Signal) {
	f.t.Helper()
	upstream := newSlowUpstream(f.t)
	w := f.await(f.servers[0].publish(calling(upstream.URL)))
	waitUntil(f.t, "the calls hang", func() bool { return upstream.calls.Load() == int64(len(f.servers)) })
	f.awaitStarts(50) // by then the waiters' requests have arrived too
	stopped := time.Now()
	f.pg.Stop(sig)
	down := time.Now()
	slowest := f.awaitUnready(0, 1, 2)
	for i := range f.servers {
		f.probe(i)
	}
	f.pg.Start()
	up := time.Now()
	back := f.awaitReady()
	f.awaitStarts(20)
	again := time.Since(up)
	upstream.release()
	w.check()
	f.t.Logf("restart %s: stopped in %s, all said so after %s, up again after %s, ready %s and 20 starts accepted %s after that", name,
		down.Sub(stopped).Round(time.Millisecond), slowest.Round(time.Millisecond), up.Sub(down).Round(time.Millisecond),
		back.Round(time.Millisecond), again.Round(time.Millisecond))
}

// waiters are callers that wait for runs or follow their events during an outage.
type waiters struct {
	f    *fleet
	runs chan *run
	ends chan []event
}

// await starts a run on each server, with a caller that waits for it and an event stream.
func (f *fleet) await(flow string) *waiters {
	f.t.Helper()
	w := &waiters{f, make(chan *run, len(f.servers)), make(chan []event, len(f.servers))}
	for _, c := range f.load.any {
		r := c.start(flow, object{"n": "1"})
		go func() {
			for {
				a, err := c.try("GET", r.path()+"?wait=60", nil)
				if err == nil && a.status == 200 {
					if now, err := a.tryRun(); err == nil && !now.ended() {
						continue // the wait was shorter than the outage
					}
				}
				w.runs <- w.waited(a, err)
				return
			}
		}()
		go func() {
			resp, err := c.open(f.t.Context(), "GET", r.path()+"/events", nil, "Accept: text/event-stream")
			if err != nil {
				w.ends <- nil
				return
			}
			defer resp.Body.Close()
			w.ends <- readEvents(resp.Body, event.ends)
		}()
	}
	return w
}

// waited returns the run that a caller got, or nil after reporting an error.
func (w *waiters) waited(a *response, err error) *run {
	if err != nil {
		w.f.t.Errorf("a caller who waited got no answer: %v", err)
		return nil
	}
	r, err := a.tryRun()
	if err != nil {
		w.f.t.Errorf("a caller who waited got %v", err)
	}
	return r
}

// check checks that every waiter sees its run succeed.
func (w *waiters) check() {
	w.f.t.Helper()
	for range w.f.servers {
		if r := <-w.runs; r != nil && r.Status != "succeeded" {
			w.f.t.Errorf("a run that a caller waited for is %s: %+v", r.Status, r.Error)
		}
		if list := <-w.ends; len(list) == 0 || !list[len(list)-1].ends() {
			w.f.t.Errorf("a stream of events broke off after %d events", len(list))
		}
	}
}

// TestFleetTerminated terminates all sessions of the database repeatedly.
func TestFleetTerminated(t *testing.T) {
	need.Slow(t)
	t.Parallel()
	f := newFleet(t, fleetConfig{})
	f.begin()
	for range 8 * fleetRounds(1) {
		f.terminate()
		f.awaitStarts(20)
	}
	f.check()
}

func (f *fleet) terminate() {
	f.t.Helper()
	f.pg.Exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'sluice'")
}

// TestFleetTimeouts sets database timeouts that cancel statements and sessions early, as an
// operator may have done for other programs, and then holds a lock for 8 s.
func TestFleetTimeouts(t *testing.T) {
	need.Slow(t)
	t.Parallel()
	f := newFleet(t, fleetConfig{})
	f.begin()
	for range fleetRounds(1) {
		for _, setting := range []string{"statement_timeout = '5ms'", "lock_timeout = '1ms'", "idle_in_transaction_session_timeout = '5ms'"} {
			f.pg.Exec("ALTER DATABASE sluice RESET ALL", "ALTER DATABASE sluice SET "+setting)
			f.terminate()
			f.awaitStarts(50)
		}
		f.pg.Exec("ALTER DATABASE sluice RESET ALL")
		f.terminate()
		f.awaitStarts(20)
		f.pg.ExecIn("sluice", "BEGIN; LOCK TABLE runs IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(8); COMMIT")
		f.awaitStarts(50)
	}
	f.check()
}

// TestFleetFullDisk fills the disk of the database, or that of its write-ahead log, which
// ends the server, and frees it again.
func TestFleetFullDisk(t *testing.T) {
	need.Slow(t)
	t.Parallel()
	for _, which := range []string{"data", "log"} {
		t.Run(which, func(t *testing.T) {
			t.Parallel()
			disk := smallDisk(t, 128)
			cfg := dbtest.ServerConfig{Data: anyonesDir(t), WAL: disk, Settings: []string{"max_wal_size=32MB", "min_wal_size=32MB", "wal_recycle=off"}}
			if which == "data" {
				cfg.Data, cfg.WAL = cfg.WAL, cfg.Data
			}
			f := newFleet(t, fleetConfig{postgres: cfg})
			f.begin()
			for range fleetRounds(1) {
				free := fillDisk(t, disk)
				f.awaitFull()
				free()
				f.revive()
				f.awaitStarts(50)
			}
			f.check()
		})
	}
}

// revive restarts PostgreSQL if it has ended, as a service manager would, and waits until it
// responds.
func (f *fleet) revive() {
	f.t.Helper()
	waitUntil(f.t, "PostgreSQL answers", func() bool {
		if f.pg.HasEnded() {
			f.pg.Start()
		}
		var one int
		return f.query(&one, "SELECT 1") == nil
	})
}

// awaitFull waits until starts are rejected because the disk is full.
func (f *fleet) awaitFull() {
	f.t.Helper()
	rejected := func() int {
		f.load.mu.Lock()
		defer f.load.mu.Unlock()
		return f.load.statuses[503] + f.load.statuses[500] // check complains of the latter
	}
	before := rejected()
	var at string
	_ = f.query(&at, "SELECT pg_switch_wal()::text") // so that the log needs space
	waitUntil(f.t, "starts are refused on a full disk", func() bool { return rejected() > before+20 })
}

// TestFleetFewConnections has fewer database connections than three servers want, and more
// callers than either.
func TestFleetFewConnections(t *testing.T) {
	need.Slow(t)
	t.Parallel()
	f := newFleet(t, fleetConfig{postgres: dbtest.ServerConfig{Settings: []string{"max_connections=20"}}, callers: 64})
	f.begin()
	f.awaitStarts(500)
	f.check()
}
