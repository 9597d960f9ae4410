package e2e

import (
	"os"
	"syscall"
	"testing"

	"sluice/db/dbtest"
)

// TestShutdown_during_an_outage sends SIGTERM while a run waits for its upstream and the database
// does not answer, has crashed, or accepts no writes. That is an orderly shutdown with exit code
// 0, and the run continues when the database is back.
func TestShutdown_during_an_outage(t *testing.T) {
	t.Parallel()
	pg := dbtest.NewServer(t, dbtest.ServerConfig{})
	proxy := dbtest.NewProxy(t, "unix", pg.Socket())
	store := pg.Config("sluice")
	s := stoppedServer(t, "DATABASE_URL=postgres://app@"+proxy.Addr()+"/sluice?sslmode=disable", "SLUICE_MASTER_KEY="+store.MasterKey)
	s.faulty = true
	s.start()
	upstream := newSlowUpstream(t)
	flowID := s.publish(calling(upstream.URL))
	c := s.client(s.key())
	var runs []*run
	readOnly := func(state string) {
		pg.Exec("ALTER DATABASE sluice SET default_transaction_read_only = "+state,
			"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'sluice'")
	}
	for i, outage := range []struct {
		name       string
		begin, end func()
	}{
		{"crashed", func() { pg.Stop(syscall.SIGKILL) }, pg.Start},
		{"stalled", proxy.Stall, proxy.Resume},
		{"read-only", func() { readOnly("on") }, func() { readOnly("off") }},
	} {
		if i > 0 {
			if os.Getenv("SLUICE_TEST_SLOW") != "1" {
				break // each shutdown waits for the step that hangs
			}
			s.start()
		}
		before := upstream.calls.Load()
		runs = append(runs, c.start(flowID, object{"n": "1"}))
		waitUntil(t, "the call hangs", func() bool { return upstream.calls.Load() > before })
		outage.begin()
		if code := s.stop(); code != 0 {
			t.Errorf("%s: exit code %d\n%s", outage.name, code, s.process().errs.end(4<<10))
		}
		outage.end()
	}
	s.start()
	upstream.release()
	for _, r := range runs {
		if r = c.await(r); r.Status != "succeeded" {
			t.Errorf("a run is %s", r.Status)
		}
	}
}
