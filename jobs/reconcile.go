package jobs

import (
	"context"
	"errors"
	"time"

	"sluice/flow"
)

const (
	// reconcileInterval is the interval between comparisons of the tables with the
	// work that this process really has.
	reconcileInterval = 3 * time.Second
	// releaseAfter is how many consecutive comparisons must miss a hold before it is
	// released: a single one may fall into the middle of a hand-over.
	releaseAfter = 2
	// takeOverAfter is how many consecutive comparisons may find an overdue run
	// before it is taken from its holder. A healthy holder ends such a run within
	// abortTimeout.
	takeOverAfter = 4
)

// reconciler compares the work that the tables attribute to this process with the
// work that it has.
//
// A connection that breaks after a commit loses the answer, so a job can be
// fetched, or a run handed over, without the process ever learning of it. The
// reconciler returns such work to the queue. It also ends runs that are past
// their deadline or were canceled but continue anyway, on any instance.
type reconciler struct {
	runner  *Runner
	misses  map[flow.Hold]int // consecutive comparisons that found the hold unaccounted for
	lastRun time.Time
}

// newReconciler returns a reconciler without misses. Its time of the last run is now, so that
// a new process does not look like one that was suspended.
func newReconciler(r *Runner) *reconciler {
	return &reconciler{runner: r, misses: map[flow.Hold]int{}, lastRun: time.Now()}
}

// run makes one comparison.
func (c *reconciler) run(ctx context.Context) error {
	if c.runner.Draining() { // Drain hands back what is left
		return nil
	}
	holds, err := c.runner.store.ListHolds(ctx, c.runner.cfg.Instance)
	if err != nil {
		return err
	}
	if time.Since(c.lastRun) > 2*c.runner.cfg.ReconcileInterval { // the process was frozen, and its hand-overs with it
		clear(c.misses)
	}
	c.lastRun = time.Now()
	misses := map[flow.Hold]int{}
	var lost []flow.Hold
	for h := range c.runner.unaccountedHolds(holds) {
		misses[h] = c.misses[h] + 1
		switch {
		case h.By != flow.HeldTooLong && misses[h] >= releaseAfter:
			lost = append(lost, h)
		case h.By == flow.HeldTooLong && misses[h] >= takeOverAfter:
			c.runner.endOverdueRun(ctx, h)
		}
	}
	c.misses = misses
	if len(lost) == 0 {
		return nil
	}
	c.runner.log.Warn("returning lost work to the queue", "count", len(lost), "first", lost[0].ID)
	return c.runner.store.ReleaseHolds(ctx, c.runner.cfg.Instance, lost)
}

// unaccountedHolds returns the holds that the tables attribute to this process
// although it does not have them, and all holds of other holders, each once.
func (r *Runner) unaccountedHolds(holds []flow.Hold) map[flow.Hold]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	set := map[flow.Hold]bool{}
	for _, h := range holds {
		atWork := r.active[flow.RunID(h.ID)] != nil || r.sending[h.ID] > 0
		if h.By != flow.HeldHere || !atWork {
			set[h] = true
		}
	}
	return set
}

// endOverdueRun takes a run that should have ended from its holder and executes
// it only until it has ended. It uses a goroutine of its own because all workers
// may be busy.
func (r *Runner) endOverdueRun(ctx context.Context, h flow.Hold) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.Draining() {
		return
	}
	r.detached.Go(func() {
		attempt, err := r.store.TakeOverRun(ctx, flow.RunID(h.ID), h.Attempt)
		if errors.Is(err, flow.ErrFenced) {
			return // it has ended, or another instance is ending it
		}
		if err != nil {
			r.log.Error("cannot take over an overdue run", "run_id", h.ID, "error", err)
			return
		}
		r.log.Warn("took an overdue run from its holder", "run_id", h.ID)
		r.startJob(flow.Job{Kind: flow.JobRun, ID: h.ID, Attempt: attempt})(ctx)
	})
}

// trackDelivery notes that this process makes an attempt at a delivery, until
// done is called. A delivery can be counted twice: after a takeover the old
// attempt may still be ending.
func (r *Runner) trackDelivery(deliveryID string) (done func()) {
	add := func(n int) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.sending[deliveryID] += n; r.sending[deliveryID] == 0 {
			delete(r.sending, deliveryID)
		}
	}
	add(1)
	return func() { add(-1) }
}
