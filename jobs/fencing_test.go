package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"sluice/db"
	"sluice/db/dbtest"
	"sluice/flow"
	"sluice/jobs"
)

// holdRunCounter counts calls of HoldRun.
type holdRunCounter struct {
	*db.Store
	calls atomic.Int32
}

func (s *holdRunCounter) HoldRun(ctx context.Context, id flow.RunID, attempt int64) error {
	s.calls.Add(1)
	return s.Store.HoldRun(ctx, id, attempt)
}

// TestFencing_stops_calls_of_frozen_worker checks the hook that the engine calls before
// a request to an external service.
func TestFencing_stops_calls_of_frozen_worker(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		timeout time.Duration
		taken   bool // another instance has taken over
		checks  bool // the store is asked who holds the run
		want    error
	}{
		{"after a recent heartbeat", time.Hour, false, false, nil},
		{"after an old one, still in charge", 1, false, true, nil},
		{"after an old one, taken over", 1, true, true, flow.ErrFenced},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			fx := newFixture(t, dbtest.PostgresConfig(t), gatedFlow)
			s := &holdRunCounter{Store: fx.store}
			hooks := make(chan func(context.Context) error, 10)
			fx.newRunnerWith(s, func(cfg *jobs.Config) {
				cfg.InstanceTimeout = c.timeout
				cfg.Calls = func(ctx context.Context, before func(context.Context) error, _ func(bool)) context.Context {
					hooks <- before
					return ctx
				}
			})
			fx.start()
			run := fx.startRun()
			<-fx.gate.started
			before := <-hooks
			if c.taken {
				fx.exec(`UPDATE instances SET heartbeat_at = 1`)
				if _, err := fx.store.Recover(t.Context(), "other"); err != nil {
					t.Fatal(err)
				}
			}
			if err := before(t.Context()); !errors.Is(err, c.want) || err == nil != (c.want == nil) {
				t.Errorf("the hook returned %v, want %v", err, c.want)
			}
			if s.calls.Load() > 0 != c.checks {
				t.Errorf("HoldRun was called %d times", s.calls.Load())
			}
			fx.gate.release <- nil
			fx.gate.release <- nil
			fx.awaitEnd(run)
		})
	}
}

// stealingStore hands a delivery to another worker right after it was read.
type stealingStore struct {
	*db.Store
	stolen atomic.Bool
}

func (s *stealingStore) FindDelivery(ctx context.Context, id string, attempt int64) (*flow.Delivery, error) {
	d, err := s.Store.FindDelivery(ctx, id, attempt)
	if err == nil && !s.stolen.Swap(true) {
		_, err = db.Pool(s.Store).Exec(ctx, `UPDATE deliveries SET fence = fence + 1, due_at = 1`)
	}
	return d, err
}

func TestFencing_stops_webhooks_of_frozen_worker(t *testing.T) {
	t.Parallel()
	url, got := receiver(t, status(204))
	fx := newFixture(t, dbtest.PostgresConfig(t), sendFlow(url))
	fx.newRunnerWith(&stealingStore{Store: fx.store}, func(cfg *jobs.Config) { cfg.InstanceTimeout = 1 })
	fx.start()
	fx.awaitEnd(fx.startRun())
	fx.awaitDelivery(flow.DeliveryDelivered, 1)
	if len(got) != 1 {
		t.Errorf("the receiver got %d messages, want only that of the worker that took over", len(got))
	}
}

// TestRecovery_saves_busy_runs has a step process data for a while. Other instances must see its start and its end in the database.
func TestRecovery_saves_busy_runs(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, dbtest.PostgresConfig(t), gatedFlow)
	reports := make(chan func(bool), 1)
	fx.newRunnerWith(fx.store, func(cfg *jobs.Config) {
		cfg.Calls = func(ctx context.Context, _ func(context.Context) error, working func(bool)) context.Context {
			reports <- working
			return ctx
		}
	})
	fx.start()
	run := fx.startRun()
	<-fx.gate.started
	working := <-reports
	for _, busy := range []bool{false, true, false} {
		working(busy)
		fx.waitUntil(fmt.Sprintf("the run is stored with busy = %v", busy), func() bool {
			return fx.queryInt("SELECT busy FROM runs") == map[bool]int{true: 1}[busy]
		})
	}
	fx.gate.release <- nil
	fx.awaitEnd(run)
}
