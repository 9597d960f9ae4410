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

// cleanUp erases runs, files and records that have expired. A task that fails does not stop
// the others.
func (r *Runner) cleanUp(ctx context.Context) (next time.Time, err error) {
	expireRuns := func(ctx context.Context) error {
		return r.inBatches(ctx, func() (int, error) { return r.store.ExpireRuns(ctx, r.now(), expireBatch) })
	}
	tasks := []func(context.Context) error{r.store.FoldUsage, r.eraseUnsaved, expireRuns, r.cleanUpFiles}
	if time.Since(r.lastPrune) >= pruneInterval {
		tasks = append(tasks, r.prune)
	}
	var errs []error
	for _, task := range tasks {
		if ctx.Err() == nil {
			errs = append(errs, task(ctx))
		}
	}
	return time.Time{}, errors.Join(errs...)
}

// Runs of forms with save: false keep their content for formResultLife, so that the page
// can still show it after a lost connection. unsavedInterval is how often they are looked for.
const (
	formResultLife  = 10 * time.Minute
	unsavedInterval = time.Minute
)

// eraseUnsaved erases ended runs that were started with save: false.
func (r *Runner) eraseUnsaved(ctx context.Context) error {
	if !r.hasUnsaved.Swap(false) && time.Since(r.lastUnsaved) < unsavedInterval {
		return nil
	}
	err := r.inBatches(ctx, func() (int, error) { return r.store.EraseUnsaved(ctx, r.now().Add(-formResultLife), expireBatch) })
	if r.lastUnsaved = time.Now(); err != nil {
		r.hasUnsaved.Store(true)
	}
	return err
}

// prune removes records that nothing reads any more.
func (r *Runner) prune(ctx context.Context) error {
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
func (r *Runner) inBatches(ctx context.Context, erase func() (int, error)) error {
	for {
		start := time.Now()
		n, err := erase()
		if err != nil || n < expireBatch {
			return err
		}
		sleep(ctx, time.Since(start))
	}
}
