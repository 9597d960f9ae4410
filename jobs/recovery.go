package jobs

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"sluice/flow"
)

const (
	// trialPatience bounds the trials of all suspects together.
	suspectTimeout = 30 * time.Second
	// recoverEvery is the interval between searches for dead instances on
	// PostgreSQL.
	recoverInterval = 5 * time.Second
	// busyLookEvery is the interval between checks of the marks of busy runs on
	// PostgreSQL.
	saveBusyInterval = 250 * time.Millisecond
)

// recover returns the runs of dead workers to the queue and tries suspects in
// the background.
func (r *Runner) recoverWork(ctx context.Context) error {
	report, err := r.store.Recover(ctx, r.cfg.Instance)
	if err != nil {
		return err
	}
	if report.Runs+report.Deliveries > 0 {
		r.log.Info("took over unfinished work", "runs", report.Runs, "deliveries", report.Deliveries)
	}
	if len(report.Suspects) > 0 {
		r.retrySuspects(ctx, report.Suspects)
	}
	return nil
}

// trySuspects tries suspects beside normal work, one group after the other,
// unless trials are already in progress. If a crash ends a trial, its cause is
// in that group, and the next start tries halves of the group.
func (r *Runner) retrySuspects(ctx context.Context, suspects []flow.Suspect) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.retryingSuspects || r.Draining() {
		return
	}
	r.retryingSuspects = true
	r.detached.Go(func() {
		err := r.retrySuspectGroups(ctx, suspects)
		r.mu.Lock()
		r.retryingSuspects = false
		r.mu.Unlock()
		if err != nil && ctx.Err() == nil {
			r.log.Error("try suspected runs", "error", err)
		}
	})
}

func (r *Runner) retrySuspectGroups(ctx context.Context, suspects []flow.Suspect) error {
	var errs []error
	suspects = slices.DeleteFunc(suspects, func(s flow.Suspect) bool {
		if s.Guilt >= flow.GuiltyAt {
			errs = append(errs, r.failPoisoned(ctx, s))
		}
		return s.Guilt >= flow.GuiltyAt
	})
	groups := flow.TrialGroups(suspects)
	for _, group := range groups {
		if r.Draining() { // the next start tries the remaining suspects
			break
		}
		errs = append(errs, r.retrySuspectGroup(ctx, group, r.cfg.SuspectTimeout/time.Duration(len(groups))))
	}
	return errors.Join(errs...)
}

// tryGroup works on a group of suspects concurrently and returns once each of
// them has recorded progress, ended or returned to the queue, or after the
// patience. Unfinished runs continue.
func (r *Runner) retrySuspectGroup(ctx context.Context, group []flow.Suspect, patience time.Duration) error {
	ids := make([]string, len(group))
	for i := range group {
		ids[i] = group[i].RunID
	}
	attempts, err := r.claimSuspects(ctx, ids)
	if err != nil || len(attempts) == 0 {
		return err
	}
	r.log.Warn("runs were cut short by several crashes; trying them apart from the others", "runs", len(attempts), "first", ids[0])
	patient, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var cleared sync.WaitGroup
	for _, s := range group {
		if attempt, mine := attempts[s.RunID]; mine {
			cleared.Go(func() { r.retrySuspect(ctx, patient, s, attempt) })
		}
	}
	cleared.Wait()
	return nil
}

// takeSuspects has the store hand suspects over, as soon as it can be written
// to: on SQLite nothing retries them before the next start.
func (r *Runner) claimSuspects(ctx context.Context, runIDs []string) (attempts map[string]int64, err error) {
	err = r.retry(ctx, "taking suspected runs", func() (err error) {
		attempts, err = r.store.TrySuspects(ctx, runIDs)
		return err
	})
	return attempts, err
}

// try works on a suspect and returns once it is cleared or patient ends.
func (r *Runner) retrySuspect(ctx, patient context.Context, s flow.Suspect, attempt int64) {
	w := r.broker.watch(s.RunID)
	defer r.broker.removeWatcher(s.RunID, w)
	done := make(chan struct{})
	r.detached.Go(func() {
		defer close(done)
		r.startJob(flow.Job{Kind: flow.JobRun, ID: s.RunID, Attempt: attempt})(ctx)
	})
	for {
		select {
		case <-w.changes:
			if run, err := r.store.FindRun(ctx, s.WorkspaceID, s.FlowID, s.RunID); err != nil || run.Crashes == 0 {
				return
			}
		case <-done:
			return
		case <-patient.Done():
			return
		case <-r.drain:
			return
		}
	}
}

// poison ends a run that crashes the process.
func (r *Runner) failPoisoned(ctx context.Context, s flow.Suspect) error {
	attempts, err := r.claimSuspects(ctx, []string{s.RunID})
	attempt, mine := attempts[s.RunID]
	if err != nil || !mine {
		return err
	}
	err = r.executeRun(ctx, r.claim(s.RunID), flow.Job{ID: s.RunID, Attempt: attempt}, flow.Errorf(flow.CodePoisoned,
		"Sluice crashed repeatedly while this run was at work, also when it was tried on its own, so the run was ended."))
	if errors.Is(err, flow.ErrFenced) {
		return nil // another instance has taken it over
	}
	return err
}

// waitTrials waits, once the Runner is draining, for the runs on trial, which
// have no job in the queue.
func (r *Runner) waitDetached(ctx context.Context) {
	done := make(chan struct{})
	go func() {
		r.detached.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// saveBusy stores which runs were busy in two consecutive checks. Shorter work
// is covered by the marks that a run's own writes store.
func (r *Runner) saveBusy() func(ctx context.Context) error {
	seen, saved := map[string]bool{}, map[string]bool{}
	return func(ctx context.Context) error {
		var begun, over []string
		now := map[string]bool{}
		for _, id := range r.cfg.Busy.Busy() {
			now[id] = true
			if seen[id] && !saved[id] {
				begun = append(begun, id)
			}
		}
		for id := range saved {
			if !now[id] {
				over = append(over, id)
			}
		}
		seen = now
		if err := r.store.SaveBusy(ctx, begun, over); err != nil {
			return err
		}
		for _, id := range begun {
			saved[id] = true
		}
		for _, id := range over {
			delete(saved, id)
		}
		return nil
	}
}
