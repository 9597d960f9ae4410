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

// flaky is a store whose next calls of a kind fail for a passing reason.
type flaky struct {
	*db.Store
	find, record, steps atomic.Int32
}

var errPassing = errors.New("the database is away for a moment")

func (f *flaky) FindDelivery(ctx context.Context, id string, attempt int64) (*flow.Delivery, error) {
	if f.find.Add(-1) >= 0 {
		return nil, errPassing
	}
	return f.Store.FindDelivery(ctx, id, attempt)
}

func (f *flaky) RecordAttempt(ctx context.Context, a flow.DeliveryAttempt, next flow.DeliveryOutcome) error {
	if f.record.Add(-1) >= 0 {
		return errPassing
	}
	return f.Store.RecordAttempt(ctx, a, next)
}

func (f *flaky) FindSteps(ctx context.Context, ws, id string) ([]flow.Step, error) {
	if f.steps.Add(-1) >= 0 {
		return nil, errPassing
	}
	return f.Store.FindSteps(ctx, ws, id)
}

func TestDeliveryOutlivesAPassingFault(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		url, _ := receiver(t, status(204))
		w := open(t, cfg, sending(url))
		f := &flaky{Store: w.store}
		f.find.Store(1)
		f.record.Store(1)
		w.wireTo(f)
		w.start()
		w.ended(w.begin())
		w.delivered(flow.DeliveryDelivered, 1)
	})
}

func TestRerunOutlivesAPassingFault(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		w := open(t, cfg, passing)
		f := &flaky{Store: w.store}
		w.wireTo(f)
		w.start()
		parent := w.ended(w.begin())
		f.steps.Store(1)
		w.rerun(t, w.runner, parent, "o")
	})
}

// A delivery that is cut by the shutdown is made again, under the same ID.
func TestDrainReturnsDeliveries(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		url, _ := receiver(t, status(204))
		w := open(t, cfg, sending(url))
		f := &flaky{Store: w.store}
		f.find.Store(1000)
		w.wireTo(f)
		w.start()
		w.ended(w.begin())
		for f.find.Load() == 1000 {
			time.Sleep(time.Millisecond)
		}
		if err := drain(w.runner, 50*time.Millisecond); err != nil {
			t.Fatal(err)
		}
		w.wire()
		w.start()
		w.delivered(flow.DeliveryDelivered, 1)
	})
}

// The log must not show a secret that the receiver sends back, not even one
// that is cut in two.
func TestDeliveryLogHidesSecrets(t *testing.T) {
	t.Parallel()
	pad := make([]byte, 4<<10-3)
	for i := range pad {
		pad[i] = '.'
	}
	url, _ := receiver(t, echoing(string(pad)))
	w := open(t, sqliteConfig(t), sending(url)).start()
	w.ended(w.begin())
	d := w.delivered(flow.DeliveryDelivered, 1)
	if got := d.Attempts[0].Response; len(got) != 4<<10 || got[len(got)-3:] == "cus" {
		t.Errorf("the log keeps %d bytes that end in %q", len(got), got[len(got)-10:])
	}
}
