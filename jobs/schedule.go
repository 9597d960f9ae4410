package jobs

import (
	"context"
	"time"
)

// Sizes of batches: small enough that callers do not feel them.
const (
	dueBatch    = 500
	expireBatch = 200
	// tombstones are what erased runs leave; they go after this time.
	tombstoneAge    = 400 * 24 * time.Hour
	cleanUpInterval = time.Second
	// dropEvery is the interval at which records are removed that nothing reads
	// any more, such as idempotency keys of yesterday.
	pruneInterval = time.Minute
)

// takeDue moves due waiting runs to the queue and admits queued runs. next is
// when the earliest of the other waiting runs is due.
func (r *Runner) queueDueRuns(ctx context.Context) (next time.Time, err error) {
	for {
		wakes, next, err := r.store.DueWakes(ctx, r.now(), dueBatch)
		if err != nil {
			return next, err
		}
		admitted, err := r.store.AdmitRuns(ctx, dueBatch)
		if err != nil || wakes+admitted < dueBatch {
			return next, err
		}
	}
}

// tidy erases what need not be kept any longer.
func (r *Runner) cleanUp(ctx context.Context) (next time.Time, err error) {
	if err = r.store.FoldUsage(ctx); err == nil {
		err = r.eraseUnsaved(ctx)
	}
	if err == nil {
		err = r.expire(ctx)
	}
	if err == nil && time.Since(r.lastPrune) >= pruneInterval {
		if err = r.prune(ctx); err == nil {
			r.lastPrune = time.Now()
		}
	}
	return time.Time{}, err
}

// eraseUnsaved erases runs that were started with save: false.
func (r *Runner) eraseUnsaved(ctx context.Context) error {
	if r.hasUnsaved.Swap(false) {
		if err := r.inBatches(ctx, func() (int, error) { return r.store.EraseUnsaved(ctx, expireBatch) }); err != nil {
			r.hasUnsaved.Store(true)
			return err
		}
	}
	return nil
}

// expire erases runs and files whose time is over.
func (r *Runner) expire(ctx context.Context) error {
	if err := r.inBatches(ctx, func() (int, error) { return r.store.ExpireRuns(ctx, r.now(), expireBatch) }); err != nil {
		return err
	}
	return r.cleanUpFiles(ctx)
}

// drop removes records that nothing reads any more.
func (r *Runner) prune(ctx context.Context) error {
	if err := r.inBatches(ctx, func() (int, error) { return r.store.DropStale(ctx, r.now(), expireBatch) }); err != nil {
		return err
	}
	return r.inBatches(ctx, func() (int, error) {
		return r.store.DropTombstones(ctx, r.now().Add(-tombstoneAge), expireBatch)
	})
}

// batches erases batch after batch at half duty: it rests as long as each took.
func (r *Runner) inBatches(ctx context.Context, erase func() (int, error)) error {
	for {
		begun := time.Now()
		n, err := erase()
		if err != nil || n < expireBatch {
			return err
		}
		sleep(ctx, time.Since(begun))
	}
}
