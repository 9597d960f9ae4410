package jobs

import (
	"context"
	"errors"
	"time"

	"sluice/flow"
)

const (
	// reconcileEvery is the interval between comparisons of the tables with what
	// this process has in hand.
	reconcileInterval = 3 * time.Second
	// releaseLooks is how many consecutive comparisons must miss a hold before it
	// is released: one may fall into the middle of a hand-over.
	releaseAfter = 2
	// endLooks is how many consecutive comparisons may find a run that should
	// have ended before it is taken from its holder, which ends it within
	// abortPatience if it can.
	takeOverAfter = 4
)

// reconcile compares what the tables say that this process works on with what
// it has in hand, and what nobody works on at all. A connection that breaks
// after a commit loses the answer, so that a job may be taken, or a run handed
// over, without the taker ever hearing of it. Such work goes back to the queue.
//
// It also ends runs that are past their deadline or were asked to cancel, and
// that go on regardless, whoever holds them.
func (r *Runner) reconcile() func(ctx context.Context) error {
	looks, last := map[flow.Hold]int{}, time.Now()
	return func(ctx context.Context) error {
		if r.Draining() { // what is left is handed back at the end
			return nil
		}
		holds, err := r.store.ListHolds(ctx, r.cfg.Instance)
		if err != nil {
			return err
		}
		if time.Since(last) > 2*r.cfg.Reconcile { // this process stood still, and hand-overs with it
			clear(looks)
		}
		last = time.Now()
		missed := r.unaccountedHolds(holds)
		var lost []flow.Hold
		for h := range missed {
			missed[h] += looks[h]
			switch {
			case h.By != flow.HeldTooLong && missed[h] >= releaseAfter:
				lost = append(lost, h)
			case h.By == flow.HeldTooLong && missed[h] >= takeOverAfter:
				r.endOverdueRun(ctx, h)
			}
		}
		looks = missed
		if len(lost) == 0 {
			return nil
		}
		r.log.Warn("work that was taken, but that nobody has in hand, goes back to the queue", "count", len(lost), "first", lost[0].ID)
		return r.store.ReleaseHolds(ctx, r.cfg.Instance, lost)
	}
}

// missing returns the holds that this process does not have in hand although
// the tables say so, and those of no process, each once.
func (r *Runner) unaccountedHolds(holds []flow.Hold) map[flow.Hold]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	missed := map[flow.Hold]int{}
	for _, h := range holds {
		inHand := r.active[h.ID] != nil || r.sending[h.ID] > 0
		if h.By != flow.HeldHere || !inHand {
			missed[h] = 1
		}
	}
	return missed
}

// endLate takes a run that should have ended from its holder and works on it
// only until it has ended, beside the workers, since all of those may be busy.
func (r *Runner) endOverdueRun(ctx context.Context, h flow.Hold) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.Draining() {
		return
	}
	r.detached.Go(func() {
		attempt, err := r.store.TakeHold(ctx, h.ID, h.Attempt)
		if errors.Is(err, flow.ErrFenced) {
			return // it has ended, or another instance ends it
		}
		if err != nil {
			r.log.Error("a run that should have ended goes on", "run", h.ID, "error", err)
			return
		}
		r.log.Warn("a run that should have ended was taken from its holder", "run", h.ID)
		r.startJob(flow.Job{Kind: flow.JobRun, ID: h.ID, Attempt: attempt})(ctx)
	})
}

// sends notes that an attempt at a delivery is in hand, until done is called.
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
