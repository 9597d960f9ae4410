package jobs

import (
	"context"
	"errors"
	"time"
)

const (
	// dueBatch and expireBatch bound how many rows one transaction changes, so that
	// callers who wait for the writer do not notice.
	dueBatch    = 500
	expireBatch = 200
	// tombstoneAge is how long the row of an erased run is kept. It answers requests
	// for the run with the reason why its content is gone.
	tombstoneAge    = 400 * 24 * time.Hour
	cleanUpInterval = time.Second
	// pruneInterval is the interval at which records are removed that nothing reads
	// any more, such as expired idempotency keys.
	pruneInterval = time.Minute
)

// queueDueRuns moves waiting runs that are due to the queue and admits queued
// runs. It returns when the next waiting run is due.
func (r *Runner) queueDueRuns(ctx context.Context) (next time.Time, err error) {
	for {
		woken, next, err := r.store.DueWakes(ctx, r.now(), dueBatch)
		if err != nil {
			return next, err
		}
		admitted, err := r.store.AdmitRuns(ctx, dueBatch)
		if err != nil || woken+admitted < dueBatch {
			return next, err
		}
	}
}

// cleaner erases what has expired. Its tasks have pollers of their own, so that one with much to do, or that fails, does
// not delay the others: budgets in dollars, for example, add up the usage log.
type cleaner struct{ *Runner }

// foldUsage adds the log of usage to the days and hours.
func (r cleaner) foldUsage(ctx context.Context) (next time.Time, err error) {
	return time.Time{}, r.store.FoldUsage(ctx)
}

// expireRuns erases runs that are past their retention.
func (r cleaner) expireRuns(ctx context.Context) (next time.Time, err error) {
	return time.Time{}, r.inBatches(ctx, func() (int, error) { return r.store.ExpireRuns(ctx, r.now(), expireBatch) })
}

// cleanUp erases files and records that have expired.
func (r cleaner) cleanUp(ctx context.Context) (next time.Time, err error) {
	err = r.cleanUpFiles(ctx)
	if time.Since(r.lastPrune) >= pruneInterval && ctx.Err() == nil {
		err = errors.Join(err, r.prune(ctx))
	}
	return time.Time{}, err
}

// Runs of forms with save: false keep their content for formResultLife, so that the page
// can still show it after a lost connection. unsavedInterval is how often they are looked for.
const (
	formResultLife  = 10 * time.Minute
	unsavedInterval = time.Minute
)

// eraseUnsaved erases ended runs that were started with save: false.
func (r cleaner) eraseUnsaved(ctx context.Context) (next time.Time, err error) {
	if !r.hasUnsaved.Swap(false) && time.Since(r.lastUnsaved) < unsavedInterval {
		return next, nil
	}
	err = r.inBatches(ctx, func() (int, error) { return r.store.EraseUnsaved(ctx, r.now().Add(-formResultLife), expireBatch) })
	if r.lastUnsaved = time.Now(); err != nil {
		r.hasUnsaved.Store(true)
	}
	return next, err
}

// prune removes records that nothing reads any more.
func (r cleaner) prune(ctx context.Context) error {
	r.lastPrune = time.Now()
	return errors.Join(
		r.inBatches(ctx, func() (int, error) { return r.store.DropStale(ctx, r.now(), expireBatch) }),
		r.inBatches(ctx, func() (int, error) {
			return r.store.DropTombstones(ctx, r.now().Add(-tombstoneAge), expireBatch)
		}),
	)
}

// inBatches erases batch after batch until one is not full. It rests after each
// for as long as the batch took, which leaves half of the time to other writers.
func (r cleaner) inBatches(ctx context.Context, erase func() (int, error)) error {
	for {
		start := time.Now()
		n, err := erase()
		if err != nil || n < expireBatch {
			return err
		}
		sleep(ctx, time.Since(start))
	}
}
