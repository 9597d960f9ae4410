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
	tombstoneAge = 400 * 24 * time.Hour
	tidyEvery    = time.Second
	// dropEvery is the interval at which records are removed that nothing reads
	// any more, such as idempotency keys of yesterday.
	dropEvery = time.Minute
)

// takeDue moves due waiting runs to the queue and admits queued runs. next is
// when the earliest of the other waiting runs is due.
func (r *Runner) takeDue(ctx context.Context) (next time.Time, err error) {
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
func (r *Runner) tidy(ctx context.Context) (next time.Time, err error) {
	if err = r.store.FoldUsage(ctx); err == nil {
		err = r.eraseUnsaved(ctx)
	}
	if err == nil {
		err = r.expire(ctx)
	}
	if err == nil && time.Since(r.dropped) >= dropEvery {
		if err = r.drop(ctx); err == nil {
			r.dropped = time.Now()
		}
	}
	return time.Time{}, err
}

// eraseUnsaved erases runs that were started with save: false.
func (r *Runner) eraseUnsaved(ctx context.Context) error {
	if r.unsaved.Swap(false) {
		if err := r.batches(ctx, func() (int, error) { return r.store.EraseUnsaved(ctx, expireBatch) }); err != nil {
			r.unsaved.Store(true)
			return err
		}
	}
	return nil
}

// expire erases runs and files whose time is over.
func (r *Runner) expire(ctx context.Context) error {
	if err := r.batches(ctx, func() (int, error) { return r.store.ExpireRuns(ctx, r.now(), expireBatch) }); err != nil {
		return err
	}
	return r.tidyFiles(ctx)
}

// drop removes records that nothing reads any more.
func (r *Runner) drop(ctx context.Context) error {
	if err := r.batches(ctx, func() (int, error) { return r.store.DropStale(ctx, r.now(), expireBatch) }); err != nil {
		return err
	}
	return r.batches(ctx, func() (int, error) {
		return r.store.DropTombstones(ctx, r.now().Add(-tombstoneAge), expireBatch)
	})
}

// batches erases batch after batch at half duty: it rests as long as each took.
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
