package db_test

import (
	"sync"
	"testing"
	"time"

	"sluice/db"
	"sluice/flow"
)

// TestExpireRuns_of_two_instances checks that instances erase different runs, none of them twice.
func TestExpireRuns_of_two_instances(t *testing.T) {
	onTwoStores(t, func(t *testing.T, here, there *fixture) {
		there.flow = here.flow
		const runs = 60
		many(runs, func(int) { here.startAndFinish() })
		later := here.clock.move(31 * 24 * time.Hour)
		var mu sync.Mutex
		erased := 0
		var both sync.WaitGroup
		for _, w := range []*fixture{here, there} {
			both.Go(func() {
				for {
					n, err := w.ExpireRuns(w.ctx, later, 7)
					w.must(err)
					mu.Lock()
					erased += n
					mu.Unlock()
					if n == 0 {
						return
					}
				}
			})
		}
		both.Wait()
		for { // rows that the last batch of the other had locked
			n, err := here.ExpireRuns(here.ctx, later, 7)
			here.must(err)
			if erased += n; n == 0 {
				break
			}
		}
		wantEqual(t, "erased", erased, runs)
		here.wantStorage()
	})
}

// TestExpireRuns_passes_over_locked_runs checks that clean-up does not wait for a run that another
// transaction has locked.
func TestExpireRuns_passes_over_locked_runs(t *testing.T) {
	onTwoStores(t, func(t *testing.T, w, _ *fixture) {
		pool := db.Pool(w.Store)
		if pool == nil {
			return // SQLite has no locks of rows
		}
		first, second := w.startAndFinish(), w.startAndFinish()
		later := w.clock.move(31 * 24 * time.Hour)
		tx, err := pool.Begin(w.ctx)
		w.must(err)
		_, err = tx.Exec(w.ctx, "SELECT FROM runs WHERE id = $1 FOR UPDATE", string(first.ID))
		w.must(err)
		n, err := w.ExpireRuns(w.ctx, later, 10)
		w.must(err)
		wantEqual(t, "erased", n, 1)
		w.wantTombstone(second.ID, flow.CodeRunExpired)
		w.must(tx.Rollback(w.ctx))
		n, err = w.ExpireRuns(w.ctx, later, 10)
		w.must(err)
		wantEqual(t, "erased after the lock", n, 1)
	})
}

func TestBacklog_counts_what_is_due(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		r := w.startAndFinish()
		w.startAndFinish()
		b, err := w.Backlog(w.ctx)
		w.must(err)
		wantEqual(t, "before the retention", b, db.Backlog{})
		w.clock.move(r.ExpiresAt.Add(time.Hour).Sub(w.clock.Now()))
		b, err = w.Backlog(w.ctx)
		w.must(err)
		wantEqual(t, "expired", b.Runs, 2)
		wantEqual(t, "delay", b.Delay, time.Hour)
		_, err = w.ExpireRuns(w.ctx, w.clock.Now(), 10)
		w.must(err)
		b, err = w.Backlog(w.ctx)
		w.must(err)
		wantEqual(t, "erased", b, db.Backlog{})
	})
}
