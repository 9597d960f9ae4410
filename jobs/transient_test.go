package jobs_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"sluice/db"
	"sluice/flow"
)

// flakyStore fails the next calls of some methods for a transient reason.
type flakyStore struct {
	*db.Store
	find, record, steps atomic.Int32 // number of calls to fail
}

var errTransient = errors.New("the database is unavailable")

func (f *flakyStore) FindDelivery(ctx context.Context, id string, attempt int64) (*flow.Delivery, error) {
	if f.find.Add(-1) >= 0 {
		return nil, errTransient
	}
	return f.Store.FindDelivery(ctx, id, attempt)
}

func (f *flakyStore) RecordAttempt(ctx context.Context, a flow.DeliveryAttempt, next flow.DeliveryOutcome) error {
	if f.record.Add(-1) >= 0 {
		return errTransient
	}
	return f.Store.RecordAttempt(ctx, a, next)
}

func (f *flakyStore) FindSteps(ctx context.Context, ws flow.WorkspaceID, id flow.RunID) ([]flow.Step, error) {
	if f.steps.Add(-1) >= 0 {
		return nil, errTransient
	}
	return f.Store.FindSteps(ctx, ws, id)
}

func TestDelivery_retries_transient_store_errors(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		url, _ := receiver(t, status(204))
		fx := newFixture(t, cfg, sendFlow(url))
		f := &flakyStore{Store: fx.store}
		f.find.Store(1)
		f.record.Store(1)
		fx.newRunnerOn(f)
		fx.start()
		fx.awaitEnd(fx.startRun())
		fx.awaitDelivery(flow.DeliveryDelivered, 1)
	})
}

func TestRerun_retries_transient_store_errors(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		fx := newFixture(t, cfg, passThroughFlow)
		f := &flakyStore{Store: fx.store}
		fx.newRunnerOn(f)
		fx.start()
		parent := fx.awaitEnd(fx.startRun())
		f.steps.Store(1)
		fx.rerun(t, fx.runner, parent, "o")
	})
}

// An attempt that the shutdown interrupts is repeated under the same ID.
func TestDrain_returns_deliveries(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		url, _ := receiver(t, status(204))
		fx := newFixture(t, cfg, sendFlow(url))
		f := &flakyStore{Store: fx.store}
		f.find.Store(1000)
		fx.newRunnerOn(f)
		fx.start()
		fx.awaitEnd(fx.startRun())
		for f.find.Load() == 1000 {
			time.Sleep(time.Millisecond)
		}
		if err := drain(fx.runner, 50*time.Millisecond); err != nil {
			t.Fatal(err)
		}
		fx.newRunner()
		fx.start()
		fx.awaitDelivery(flow.DeliveryDelivered, 1)
	})
}

// The log must not show a secret that the receiver sends back, not even one that the
// limit of the log cuts in two.
func TestDelivery_log_redacts_secrets(t *testing.T) {
	t.Parallel()
	pad := make([]byte, 4<<10-3)
	for i := range pad {
		pad[i] = '.'
	}
	url, _ := receiver(t, echo(string(pad)))
	fx := newFixture(t, sqliteConfig(t), sendFlow(url)).start()
	fx.awaitEnd(fx.startRun())
	d := fx.awaitDelivery(flow.DeliveryDelivered, 1)
	if got := d.Attempts[0].Response; len(got) != 4<<10 || got[len(got)-3:] == "cus" {
		t.Errorf("the log keeps %d bytes that end in %q", len(got), got[len(got)-10:])
	}
}
