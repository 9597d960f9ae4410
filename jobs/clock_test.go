package jobs_test

import (
	"context"
	"testing"
	"time"

	"sluice/db/dbtest"
	"sluice/flow"
	"sluice/jobs"
)

// TestRunner_with_skewed_clocks has two instances on machines whose clocks are an hour
// off in opposite directions. One accepts a run and makes the first attempt at its
// webhook, which fails. After it has stopped, the other one makes the next attempt when
// that is due.
func TestRunner_with_skewed_clocks(t *testing.T) {
	t.Parallel()
	for name, skew := range map[string]time.Duration{"first instance ahead": time.Hour, "first instance behind": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, _ := receiver(t, status(500), status(204))
			cfg := dbtest.PostgresConfig(t)
			start := time.Now()
			first, second := cfg, cfg
			first.MachineNow = func() time.Time { return time.Now().Add(skew) }
			second.MachineNow = func() time.Time { return time.Now().Add(-skew) }
			soon := func(cfg *jobs.Config) {
				cfg.Backoff = func(int64, float64) (time.Duration, bool) { return 2 * time.Second, true }
				cfg.EndpointBackoff = func(int64) time.Duration { return 0 }
			}
			a := newFixture(t, first, sendFlow(url))
			a.newRunnerWith(a.store, soon)
			a.start()
			run := a.awaitEnd(a.startRun())
			a.waitUntil("an attempt has failed", func() bool {
				list, err := a.store.ListDeliveries(context.Background(), flow.DefaultWorkspace, a.flowID, "", 1)
				return err == nil && len(list) == 1 && list[0].Attempt == 1
			})
			if err := drain(a.runner, 5*time.Second); err != nil {
				t.Fatal(err)
			}
			b := newFixture(t, second, passThroughFlow)
			b.flowID = a.flowID
			b.newRunnerWith(b.store, soon)
			b.start()
			d := b.awaitDelivery(flow.DeliveryDelivered, 2)
			for what, at := range map[string]time.Time{
				"run was created": run.CreatedAt, "run was started": run.StartedAt, "run ended": run.EndedAt,
				"first attempt was made": d.Attempts[0].StartedAt, "second attempt was made": d.Attempts[1].StartedAt,
			} {
				if at.Before(start.Add(-time.Minute)) || at.After(time.Now().Add(time.Minute)) {
					t.Errorf("the %s at %v, %v after the start of the test", what, at, at.Sub(start))
				}
			}
		})
	}
}
