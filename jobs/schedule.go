package jobs

import (
	"context"
	"errors"
	"time"

	"sluice/flow"
)

// Sizes of batches: small enough that callers do not feel them.
const (
	dueBatch    = 500
	expireBatch = 200
	// tombstones are what erased runs leave; they go after this time.
	tombstoneAge = 400 * 24 * time.Hour
)

// takeDue hands waiting runs and deliveries whose time has come to the queue.
func (r *Runner) takeDue(ctx context.Context) error {
	for {
		wakes, _, err := r.store.DueWakes(ctx, r.now(), dueBatch)
		if err != nil {
			return err
		}
		deliveries, _, err := r.store.DueDeliveries(ctx, r.now(), dueBatch)
		if err != nil {
			return err
		}
		admitted, err := r.store.AdmitRuns(ctx, dueBatch)
		if err != nil || wakes+deliveries+admitted < dueBatch {
			return err
		}
	}
}

// tidy erases what need not be kept any longer, at half duty: it rests as long
// as each batch took.
func (r *Runner) tidy(ctx context.Context) error {
	if r.unsaved.Swap(false) {
		if err := r.batches(ctx, func() (int, error) { return r.store.EraseUnsaved(ctx, expireBatch) }); err != nil {
			r.unsaved.Store(true)
			return err
		}
	}
	if err := r.batches(ctx, func() (int, error) { return r.store.ExpireRuns(ctx, r.now(), expireBatch) }); err != nil {
		return err
	}
	if err := r.batches(ctx, func() (int, error) { return r.store.DropStale(ctx, r.now(), expireBatch) }); err != nil {
		return err
	}
	err := r.batches(ctx, func() (int, error) {
		return r.store.DropTombstones(ctx, r.now().Add(-tombstoneAge), expireBatch)
	})
	if err != nil {
		return err
	}
	return r.tidyFiles(ctx)
}

func (r *Runner) batches(ctx context.Context, erase func() (int, error)) error {
	for {
		begun := time.Now()
		n, err := erase()
		if err != nil || n < expireBatch {
			return err
		}
		pause(ctx, time.Since(begun))
	}
}

// Suspected runs are tried once alone before they are given up.
const (
	alonePatience = 30 * time.Second
	poisonedAfter = 3 // crashes in a row with nothing recorded between
)

// recover hands dead workers' runs back to the queue. A run that was cut twice
// with nothing recorded is tried alone, so that it cannot harm its neighbours;
// if that ends in a crash too, the next recovery ends it as poisoned.
func (r *Runner) recover(ctx context.Context) error {
	report, err := r.store.Recover(ctx, r.cfg.Instance)
	if err != nil {
		return err
	}
	if report.Runs+report.Deliveries > 0 {
		r.log.Info("took over unfinished work", "runs", report.Runs, "deliveries", report.Deliveries)
	}
	for _, s := range report.Suspects {
		if s.Crashes >= poisonedAfter {
			err = r.poison(ctx, s)
		} else {
			err = r.tryAlone(ctx, s)
		}
		if err != nil && !errors.Is(err, flow.ErrFenced) { // fenced: somebody else looks after it
			return err
		}
	}
	return nil
}

// tryAlone works on a suspect before others are started, until it has recorded
// something, ended, or run for a while.
func (r *Runner) tryAlone(ctx context.Context, s flow.Suspect) error {
	r.log.Warn("a run was cut by two crashes; trying it alone", "run", s.RunID)
	attempt, err := r.store.TryAlone(ctx, s.RunID)
	if err != nil {
		return err
	}
	w := r.hub.watch(s.RunID)
	defer r.hub.leave(s.RunID, w)
	done := make(chan struct{})
	r.alone.Go(func() {
		defer close(done)
		r.work(ctx, flow.Job{Kind: flow.JobRun, ID: s.RunID, Attempt: attempt})
	})
	timer := time.NewTimer(alonePatience)
	defer timer.Stop()
	for {
		select {
		case <-w.changes:
			if run, err := r.store.FindRun(ctx, s.WorkspaceID, s.FlowID, s.RunID); err != nil || run.Crashes == 0 {
				return err
			}
		case <-done:
			return nil
		case <-timer.C:
			return nil
		}
	}
}

// poison ends a run that takes the process down with it.
func (r *Runner) poison(ctx context.Context, s flow.Suspect) error {
	attempt, err := r.store.TryAlone(ctx, s.RunID)
	if err != nil {
		return err
	}
	plan, err := r.prepare(ctx, nil, s.RunID, attempt)
	if err != nil {
		return err
	}
	plan.Fail(flow.Errorf(flow.CodePoisoned, "Sluice stopped three times while this run was working and nothing of it had been recorded, so it was given up."))
	_, err = r.engine.Carry(ctx, plan, flow.Signals{})
	return err
}
