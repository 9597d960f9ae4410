package jobs_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"sluice/db"
	"sluice/db/dbtest"
	"sluice/flow"
	"sluice/jobs"
)

// counting is a store that counts how often it is asked whether a run is held.
type holdRunCounter struct {
	*db.Store
	calls atomic.Int32
}

func (s *holdRunCounter) HoldRun(ctx context.Context, id string, attempt int64) error {
	s.calls.Add(1)
	return s.Store.HoldRun(ctx, id, attempt)
}

// TestFrozenWorkerMakesNoCall asks before an outside call whether it may be made.
func TestFencing_stops_calls_of_frozen_worker(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		timeout time.Duration
		taken   bool // another instance has taken over
		asked   bool // the store was asked
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
			ask := make(chan func(context.Context) error, 10)
			fx.newRunnerWith(s, func(cfg *jobs.Config) {
				cfg.InstanceTimeout = c.timeout
				cfg.Calls = func(ctx context.Context, before func(context.Context) error, _ func(bool)) context.Context {
					ask <- before
					return ctx
				}
			})
			fx.start()
			run := fx.startRun()
			<-fx.gate.started
			before := <-ask
			if c.taken {
				fx.exec(`UPDATE instances SET heartbeat_at = 1`)
				if _, err := fx.store.Recover(t.Context(), "other"); err != nil {
					t.Fatal(err)
				}
			}
			if err := before(t.Context()); !errors.Is(err, c.want) || err == nil != (c.want == nil) {
				t.Errorf("asked before a call: %v, want %v", err, c.want)
			}
			if s.calls.Load() > 0 != c.asked {
				t.Errorf("the store was asked %d times", s.calls.Load())
			}
			fx.gate.release <- nil
			fx.gate.release <- nil
			fx.awaitEnd(run)
		})
	}
}

// stealing hands a delivery to another worker right after it was read.
type stealingStore struct {
	*db.Store
	stolen atomic.Bool
}

func (s *stealingStore) FindDelivery(ctx context.Context, id string, attempt int64) (*flow.Delivery, error) {
	d, err := s.Store.FindDelivery(ctx, id, attempt)
	if err == nil && !s.stolen.Swap(true) {
		_, err = s.Pool().Exec(ctx, `UPDATE deliveries SET fence = fence + 1, due_at = 1`)
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
		t.Errorf("the receiver got %d messages, want that of the worker that took over", len(got))
	}
}

// TestBusyStepIsSavedForOthers has a step work on an answer for a while. Other
// instances must be able to see that, and that it is over.
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
		for late := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
			var saved bool
			if err := fx.store.Pool().QueryRow(t.Context(), "SELECT busy = 1 FROM runs WHERE id = $1", run.ID).Scan(&saved); err != nil {
				t.Fatal(err)
			}
			if saved == busy {
				break
			}
			if time.Now().After(late) {
				t.Fatalf("20 s after the step reported %v the row says %v", busy, saved)
			}
		}
	}
	fx.gate.release <- nil
	fx.awaitEnd(run)
}
