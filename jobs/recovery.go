package jobs

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"sluice/flow"
	"sluice/flow/fairness"
)

const (
	// suspectTimeout bounds the retries of all suspects of one recovery together.
	suspectTimeout = 30 * time.Second
	// recoverInterval is the interval between searches for dead instances on
	// PostgreSQL.
	recoverInterval = 5 * time.Second
	// saveBusyInterval is the interval at which changes of the set of busy runs are
	// stored on PostgreSQL.
	saveBusyInterval = 250 * time.Millisecond
)

// recoverWork returns the runs of dead workers to the queue and retries suspects
// in the background. A suspect is a run that may have crashed the process; see
// flow.Suspect.
func (r *Runner) recoverWork(ctx context.Context) error {
	report, err := r.store.Recover(ctx, r.cfg.Instance)
	if err != nil {
		return err
	}
	if report.Runs+report.Deliveries > 0 {
		r.log.Info("took over unfinished work", "runs", report.Runs, "deliveries", report.Deliveries)
		if !r.recovered { // at the start: this process, or one that shared its machine, was killed
			rampUp(ctx, r)
		}
	}
	if len(report.Suspects) > 0 {
		suspectRetrier{r}.retrySuspects(ctx, report.Suspects)
	}
	return nil
}

// suspectRetrier executes runs alone or in small groups, to find those that crash the process.
type suspectRetrier struct{ runner *Runner }

// retrySuspects retries suspects in parallel to normal work, one group after the
// other, unless retries are already in progress. If one of them crashes the
// process, the cause is in the group being retried, and the next start retries
// halves of that group: a binary search across crashes.
func (r suspectRetrier) retrySuspects(ctx context.Context, suspects []flow.Suspect) {
	r.runner.mu.Lock()
	defer r.runner.mu.Unlock()
	if r.runner.retryingSuspects || r.runner.Draining() {
		return
	}
	r.runner.retryingSuspects = true
	r.runner.detached.Go(func() {
		err := r.retrySuspectGroups(ctx, suspects)
		r.runner.mu.Lock()
		r.runner.retryingSuspects = false
		r.runner.mu.Unlock()
		if err != nil && ctx.Err() == nil {
			r.runner.log.Error("cannot retry suspected runs", "error", err)
		}
	})
}

// retrySuspectGroups decides what happens to runs that were at work when their instance
// died. A run that is guilty by now fails; the others run again in groups, so that the
// one that kills the process is found in few crashes.
func (r suspectRetrier) retrySuspectGroups(ctx context.Context, suspects []flow.Suspect) error {
	var errs []error
	suspects = slices.DeleteFunc(suspects, func(s flow.Suspect) bool {
		if s.Guilt >= flow.GuiltyAt {
			errs = append(errs, r.failPoisoned(ctx, s))
		}
		return s.Guilt >= flow.GuiltyAt
	})
	groups := fairness.TrialGroups(suspects)
	for _, group := range groups {
		if r.runner.Draining() { // the next start retries the rest
			break
		}
		errs = append(errs, r.retrySuspectGroup(ctx, group, r.runner.cfg.SuspectTimeout/time.Duration(len(groups))))
	}
	return errors.Join(errs...)
}

// retrySuspectGroup works on the suspects of a group concurrently. It returns
// once each of them has recorded progress, ended or returned to the queue, or
// after the timeout. Runs that are still at work then continue.
func (r suspectRetrier) retrySuspectGroup(ctx context.Context, group []flow.Suspect, timeout time.Duration) error {
	ids := make([]flow.RunID, len(group))
	for i := range group {
		ids[i] = group[i].RunID
	}
	attempts, err := r.claimSuspects(ctx, ids)
	if err != nil || len(attempts) == 0 {
		return err
	}
	r.runner.log.Warn("retrying runs that were at work in several crashes, apart from other runs", "runs", len(attempts), "first", ids[0])
	waitCtx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var waiting sync.WaitGroup
	for _, s := range group {
		if attempt, claimed := attempts[s.RunID]; claimed {
			waiting.Go(func() { r.retrySuspect(ctx, waitCtx, s, attempt) })
		}
	}
	waiting.Wait()
	return nil
}

// claimSuspects has the store hand suspects over to this process. It retries
// while the store cannot be written to: on SQLite nothing else would retry the
// suspects before the next start. The result is keyed by run ID and lacks runs
// that another instance has claimed.
func (r suspectRetrier) claimSuspects(ctx context.Context, runIDs []flow.RunID) (attempts map[flow.RunID]int64, err error) {
	err = r.runner.retry(ctx, "claiming suspected runs", func() (err error) {
		attempts, err = r.runner.store.TrySuspects(ctx, runIDs)
		return err
	})
	return attempts, err
}

// retrySuspect works on a suspect and returns once it is cleared or waitCtx ends.
// Recorded progress clears a suspect: the store resets its count of crashes.
func (r suspectRetrier) retrySuspect(ctx, waitCtx context.Context, s flow.Suspect, attempt int64) {
	w := r.runner.broker.watch(s.RunID)
	defer r.runner.broker.removeWatcher(s.RunID, w)
	done := make(chan struct{})
	r.runner.detached.Go(func() {
		defer close(done)
		trial := context.WithValue(ctx, trialKey{}, s.RunID)
		r.runner.startJob(flow.Job{Kind: flow.JobRun, ID: string(s.RunID), Attempt: attempt})(trial)
	})
	for {
		select {
		case <-w.changes:
			if run, _, err := r.runner.store.FindRunHead(ctx, s.WorkspaceID, s.FlowID, s.RunID); err != nil || run.Crashes == 0 {
				return
			}
		case <-done:
			return
		case <-waitCtx.Done():
			return
		case <-r.runner.drain:
			return
		}
	}
}

// trialKey is the context key for the ID of a suspect that is on trial.
type trialKey struct{}

// calls returns Config.Calls for instances that share a database. Their marks are stored
// by a timer, which misses a run that crashes the process soon after data has arrived. The
// marks of a run on trial are stored before it processes the data.
func (r suspectRetrier) calls() func(ctx context.Context, before func(context.Context) error, working func(bool)) context.Context {
	calls := r.runner.cfg.Calls
	if calls == nil || !r.runner.shared {
		return calls
	}
	return func(ctx context.Context, before func(context.Context) error, working func(bool)) context.Context {
		runID, onTrial := ctx.Value(trialKey{}).(flow.RunID)
		if !onTrial {
			return calls(ctx, before, working)
		}
		var last atomic.Bool
		return calls(ctx, before, func(busy bool) {
			working(busy)
			if last.Swap(busy) == busy {
				return
			}
			lists := map[bool][]flow.RunID{busy: {runID}}
			if err := r.runner.store.SaveBusy(ctx, lists[true], lists[false]); err != nil && ctx.Err() == nil {
				r.runner.log.Warn("cannot mark a run on trial", "run_id", runID, "error", err)
			}
		})
	}
}

// failPoisoned fails a run that repeatedly crashes the process, without executing
// any step of it.
func (r suspectRetrier) failPoisoned(ctx context.Context, s flow.Suspect) error {
	attempts, err := r.claimSuspects(ctx, []flow.RunID{s.RunID})
	attempt, claimed := attempts[s.RunID]
	if err != nil || !claimed {
		return err
	}
	err = r.runner.executeRun(ctx, r.runner.claim(s.RunID), flow.Job{ID: string(s.RunID), Attempt: attempt}, flow.Errorf(flow.CodePoisoned,
		"Sluice crashed repeatedly while this run was at work, also when it was tried on its own, so the run was ended."))
	if errors.Is(err, flow.ErrFenced) {
		return nil // another instance has taken it over
	}
	return err
}

// waitGroup waits for a group, or returns the error of ctx if that ends first.
func waitGroup(ctx context.Context, group *sync.WaitGroup) error {
	done := make(chan struct{})
	go func() {
		group.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// busySaver stores which runs are at work, so that after a crash other instances
// can tell suspects from bystanders. On SQLite a memory-mapped file holds the
// same marks.
type busySaver struct {
	runner *Runner
	seen   map[flow.RunID]bool // run IDs that were busy in the last check
	saved  map[flow.RunID]bool // run IDs that are stored as busy
}

// newBusySaver returns a saver that has seen no step yet.
func newBusySaver(r *Runner) *busySaver {
	return &busySaver{runner: r, seen: map[flow.RunID]bool{}, saved: map[flow.RunID]bool{}}
}

// run makes one check. It stores runs that were busy in two consecutive checks;
// shorter work is covered by the marks that a run's own writes store.
func (b *busySaver) run(ctx context.Context) error {
	var started, ended []flow.RunID
	busy := map[flow.RunID]bool{}
	for _, text := range b.runner.cfg.Busy.Busy() {
		id := flow.RunID(text)
		busy[id] = true
		if b.seen[id] && !b.saved[id] {
			started = append(started, id)
		}
	}
	for id := range b.saved {
		if !busy[id] {
			ended = append(ended, id)
		}
	}
	b.seen = busy
	if err := b.runner.store.SaveBusy(ctx, started, ended); err != nil {
		return err
	}
	for _, id := range started {
		b.saved[id] = true
	}
	for _, id := range ended {
		delete(b.saved, id)
	}
	return nil
}
