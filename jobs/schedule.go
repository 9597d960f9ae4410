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
)

// takeDue moves due waiting runs to the queue.
func (r *Runner) takeDue(ctx context.Context) error {
	for {
		wakes, _, err := r.store.DueWakes(ctx, r.now(), dueBatch)
		if err != nil {
			return err
		}
		admitted, err := r.store.AdmitRuns(ctx, dueBatch)
		if err != nil || wakes+admitted < dueBatch {
			return err
		}
	}
}

// tidy erases what need not be kept any longer, at half duty: it rests as long
// as each batch took.
func (r *Runner) tidy(ctx context.Context) error {
	if err := r.store.FoldUsage(ctx); err != nil {
		return err
	}
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
