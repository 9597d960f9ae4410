package jobs_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"sluice/db"
	"sluice/flow"
)

// exec changes what is stored behind the store's back.
func (w *world) exec(statement string) {
	w.t.Helper()
	var err error
	if w.store.Pool() != nil {
		_, err = w.store.Pool().Exec(context.Background(), statement)
	} else {
		_, err = w.store.SQLite().Exec(statement)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// wantGivenUp waits until a run has failed as internal and wants workers to go on.
func (w *world) wantGivenUp(runs ...*flow.Run) {
	w.t.Helper()
	for _, run := range runs {
		w.endsAsInternal(run)
		steps, err := w.store.FindSteps(context.Background(), run.WorkspaceID, run.ID)
		for _, s := range steps {
			if err == nil && !s.State.Ended() {
				w.t.Errorf("the step %s is still %s", s.Path, s.State)
			}
		}
	}
	w.publish(passing)
	if end := w.ended(w.begin()); end.State != flow.RunSucceeded {
		w.t.Errorf("another run is %s: %+v", end.State, end.Error)
	}
}

// endsAsInternal waits for the end of a run that cannot be read before.
func (w *world) endsAsInternal(run *flow.Run) {
	w.t.Helper()
	for late := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		now, err := w.store.FindRun(context.Background(), run.WorkspaceID, run.FlowID, run.ID)
		if err == nil && now.State.Ended() {
			if now.State != flow.RunFailed || now.Error == nil || now.Error.Code != flow.CodeInternal {
				w.t.Errorf("the run is %s: %+v", now.State, now.Error)
			}
			return
		}
		if time.Now().After(late) {
			w.t.Fatalf("the run has not ended: %v", err)
		}
	}
}

func TestRunThatCannotBeReadIsGivenUp(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		w := open(t, cfg, passing)
		var runs []*flow.Run
		for range 17 { // more than there are workers
			runs = append(runs, w.begin())
		}
		w.exec(`UPDATE runs SET inputs = '{"x": '`)
		w.wire()
		w.start()
		w.wantGivenUp(runs...)
	})
}

func TestRunWhoseStepsCannotBeReadIsGivenUp(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		w := open(t, cfg, gated).start()
		run := w.begin()
		<-w.gate.begun
		if err := drain(w.runner, 0); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		w.exec(`UPDATE steps SET outputs = 'damaged' WHERE node = 'a'`)
		w.wire()
		w.start()
		w.wantGivenUp(run)
	})
}

// TestRowThatCannotBeScannedCostsNoWorker damages a row so that it cannot even be
// marked as failed.
func TestRowThatCannotBeScannedCostsNoWorker(t *testing.T) {
	t.Parallel()
	w := open(t, sqliteConfig(t), passing)
	var damaged *flow.Run
	for range 17 {
		damaged = w.begin()
	}
	w.exec(`UPDATE runs SET created_at = 'yesterday'`)
	w.wire()
	w.start()
	w.publish(passing)
	if end := w.ended(w.begin()); end.State != flow.RunSucceeded {
		t.Errorf("another run is %s: %+v", end.State, end.Error)
	}
	_, err := w.store.FindRun(t.Context(), damaged.WorkspaceID, "", damaged.ID)
	if e := flow.AsError(err); err == nil || e.Message == flow.AsError(nil).Message {
		t.Errorf("reading the damaged run says %v", err)
	}
}

// refusing is a store to which nothing of certain steps can be written.
type refusing struct{ *db.Store }

func (s refusing) WriteRun(ctx context.Context, w flow.RunWrite) error {
	for i := range w.Steps {
		if w.Steps[i].Node == "g" && w.Steps[i].State.Ended() {
			return flow.Permanent(errors.New("the value is too large"))
		}
	}
	return s.Store.WriteRun(ctx, w)
}

func TestRunThatCannotBeRecordedIsGivenUp(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		w := open(t, cfg, gated)
		w.wireTo(refusing{w.store})
		w.start()
		run := w.begin()
		w.gate.let <- nil
		w.wantGivenUp(run)
	})
}

// spoiling damages what is stored of a delivery right before it is read.
type spoiling struct{ *db.Store }

func (s spoiling) FindDelivery(ctx context.Context, id string, attempt int64) (*flow.Delivery, error) {
	var err error
	if s.Pool() != nil {
		_, err = s.Pool().Exec(ctx, `UPDATE deliveries SET secret = 'damaged'::bytea`)
	} else {
		_, err = s.SQLite().ExecContext(ctx, `UPDATE deliveries SET secret = CAST('damaged' AS BLOB)`)
	}
	if err != nil {
		return nil, err
	}
	return s.Store.FindDelivery(ctx, id, attempt)
}

func TestDeliveryThatCannotBeReadIsGivenUp(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		url, got := receiver(t, status(204))
		w := open(t, cfg, sending(url))
		w.wireTo(spoiling{w.store})
		w.start()
		w.ended(w.begin())
		if d := w.delivered(flow.DeliveryFailed, 1); d.Attempts[0].Error == "" || len(got) > 0 {
			t.Errorf("the delivery %+v reached the receiver %d times", d, len(got))
		}
	})
}

// away is a store whose runs and deliveries cannot be read for a transient reason.
type away struct {
	*db.Store
	asked chan struct{}
}

func (s away) LoadRun(context.Context, string, int64) (*flow.Run, []flow.Step, error) {
	select {
	case s.asked <- struct{}{}:
	default:
	}
	return nil, nil, errPassing
}

func TestDrainDoesNotWaitForAStoreThatIsAway(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		w := open(t, cfg, passing)
		run := w.begin()
		s := away{w.store, make(chan struct{}, 1)}
		w.wireTo(s)
		w.start()
		<-s.asked
		if err := drain(w.runner, time.Minute); err != nil {
			t.Errorf("drain: %v", err) // it would have waited out its time
		}
		w.wire()
		w.start()
		if end := w.ended(run); end.State != flow.RunSucceeded || end.Crashes > 0 {
			t.Errorf("handed back, the run is %s with %d crashes", end.State, end.Crashes)
		}
	})
}
