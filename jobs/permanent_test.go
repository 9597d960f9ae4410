package jobs_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"sluice/db"
	"sluice/flow"
)

// wantFailedInternal waits until runs have failed as internal, without leaving open
// steps, and checks that the workers are free for another run.
func (fx *fixture) wantFailedInternal(runs ...*flow.Run) {
	fx.t.Helper()
	for _, run := range runs {
		fx.awaitInternalFailure(run)
		steps, err := fx.store.FindSteps(context.Background(), run.WorkspaceID, run.ID)
		for _, s := range steps {
			if err == nil && !s.State.Ended() {
				fx.t.Errorf("the step %s is still %s", s.Path, s.State)
			}
		}
	}
	fx.publish(passThroughFlow)
	if end := fx.awaitEnd(fx.startRun()); end.State != flow.RunSucceeded {
		fx.t.Errorf("another run is %s: %+v", end.State, end.Error)
	}
}

// awaitInternalFailure waits until a run has failed as internal. Until then reading
// it may fail.
func (fx *fixture) awaitInternalFailure(run *flow.Run) {
	fx.t.Helper()
	var now *flow.Run
	fx.waitUntil("the run has ended", func() bool {
		var err error
		now, err = fx.store.FindRun(context.Background(), run.WorkspaceID, run.FlowID, run.ID)
		return err == nil && now.State.Ended()
	})
	if now.State != flow.RunFailed || now.Error == nil || now.Error.Code != flow.CodeInternal {
		fx.t.Errorf("the run is %s: %+v", now.State, now.Error)
	}
}

func TestPermanentError_fails_unreadable_run(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		fx := newFixture(t, cfg, passThroughFlow)
		var runs []*flow.Run
		for range 17 { // more than there are workers
			runs = append(runs, fx.startRun())
		}
		fx.exec(`UPDATE runs SET inputs = '{"x": '`)
		fx.newRunner()
		fx.start()
		fx.wantFailedInternal(runs...)
	})
}

func TestPermanentError_fails_run_with_unreadable_steps(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		fx := newFixture(t, cfg, gatedFlow).start()
		run := fx.startRun()
		<-fx.gate.started
		if err := drain(fx.runner, 0); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		fx.exec(`UPDATE steps SET outputs = 'damaged' WHERE node = 'a'`)
		fx.newRunner()
		fx.start()
		fx.wantFailedInternal(run)
	})
}

// TestPermanentError_frees_worker_if_row_cannot_be_scanned damages rows so that the
// runs cannot even be marked as failed.
func TestPermanentError_frees_worker_if_row_cannot_be_scanned(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, sqliteConfig(t), passThroughFlow)
	var damaged *flow.Run
	for range 17 {
		damaged = fx.startRun()
	}
	fx.exec(`UPDATE runs SET created_at = 'yesterday'`)
	fx.newRunner()
	fx.start()
	fx.publish(passThroughFlow)
	if end := fx.awaitEnd(fx.startRun()); end.State != flow.RunSucceeded {
		t.Errorf("another run is %s: %+v", end.State, end.Error)
	}
	_, err := fx.store.FindRun(t.Context(), damaged.WorkspaceID, "", damaged.ID)
	if e := flow.AsError(err); err == nil || e.Message == flow.AsError(nil).Message {
		t.Errorf("reading the damaged run returned %v", err)
	}
}

// rejectingStore fails permanently to record the end of the step g.
type rejectingStore struct{ *db.Store }

func (s rejectingStore) WriteRun(ctx context.Context, w flow.RunWrite) error {
	for i := range w.Steps {
		if w.Steps[i].Node == "g" && w.Steps[i].State.Ended() {
			return flow.Permanent(errors.New("the value is too large"))
		}
	}
	return s.Store.WriteRun(ctx, w)
}

func TestPermanentError_fails_run_that_cannot_be_recorded(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		fx := newFixture(t, cfg, gatedFlow)
		fx.newRunnerOn(rejectingStore{fx.store})
		fx.start()
		run := fx.startRun()
		fx.gate.release <- nil
		fx.wantFailedInternal(run)
	})
}

// corruptingStore damages the stored data of a delivery right before it is read.
type corruptingStore struct{ *db.Store }

func (s corruptingStore) FindDelivery(ctx context.Context, id string, attempt int64) (*flow.Delivery, error) {
	var err error
	if s.IsPostgres() {
		_, err = db.Pool(s.Store).Exec(ctx, `UPDATE deliveries SET secret = 'damaged'::bytea`)
	} else {
		_, err = s.SQLite().ExecContext(ctx, `UPDATE deliveries SET secret = CAST('damaged' AS BLOB)`)
	}
	if err != nil {
		return nil, err
	}
	return s.Store.FindDelivery(ctx, id, attempt)
}

func TestPermanentError_fails_unreadable_delivery(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		url, got := receiver(t, status(204))
		fx := newFixture(t, cfg, sendFlow(url))
		fx.newRunnerOn(corruptingStore{fx.store})
		fx.start()
		fx.awaitEnd(fx.startRun())
		if d := fx.awaitDelivery(flow.DeliveryFailed, 1); d.Attempts[0].Error == "" || len(got) > 0 {
			t.Errorf("the delivery %+v reached the receiver %d times", d, len(got))
		}
	})
}

// unavailableStore cannot read runs, for a transient reason.
type unavailableStore struct {
	*db.Store
	called chan struct{}
}

func (s unavailableStore) LoadRun(context.Context, flow.RunID, int64) (*flow.Run, []flow.Step, error) {
	select {
	case s.called <- struct{}{}:
	default:
	}
	return nil, nil, errTransient
}

func TestDrain_does_not_wait_for_unavailable_store(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		fx := newFixture(t, cfg, passThroughFlow)
		run := fx.startRun()
		s := unavailableStore{fx.store, make(chan struct{}, 1)}
		fx.newRunnerOn(s)
		fx.start()
		<-s.called
		if err := drain(fx.runner, time.Minute); err != nil {
			t.Errorf("drain: %v", err) // the error of a drain that timed out
		}
		fx.newRunner()
		fx.start()
		if end := fx.awaitEnd(run); end.State != flow.RunSucceeded || end.Crashes > 0 {
			t.Errorf("handed back, the run is %s with %d crashes", end.State, end.Crashes)
		}
	})
}
