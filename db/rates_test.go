package db_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/db"
	"sluice/db/dbtest"
	"sluice/flow/fairness"
)

// TestTakeRate checks that several instances together accept as many concurrent
// requests as one would, and then one more per step.
func TestTakeRate(t *testing.T) {
	t.Parallel()
	c := &clock{now: time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)}
	cfg := dbtest.PostgresConfig(t)
	cfg.Now = c.Now
	stores := []*db.Store{openOn(t, cfg), openOn(t, cfg)}
	take := func(i int, name string) *fairness.Rate {
		r, err := stores[i%2].TakeRate(t.Context(), name, 10)
		if err != nil {
			t.Error(err)
			return &fairness.Rate{}
		}
		return r
	}
	var taken atomic.Int64
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			if take(i, "a").OK {
				taken.Add(1)
			}
		})
	}
	all.Wait()
	wantEqual(t, "taken at once", taken.Load(), 10)
	wantEqual(t, "then", *take(0, "a"), fairness.Rate{Full: time.Minute, Wait: 6 * time.Second})
	wantEqual(t, "another name", *take(1, "b"), fairness.Rate{OK: true, Left: 9, Full: 6 * time.Second})
	c.move(6 * time.Second)
	wantEqual(t, "a step later", *take(1, "a"), fairness.Rate{OK: true, Full: time.Minute})
	wantEqual(t, "not two", take(0, "a").OK, false)
	c.move(25 * time.Hour)
	wantEqual(t, "a day later", *take(0, "a"), fairness.Rate{OK: true, Left: 9, Full: 6 * time.Second})
	if r, err := dbtest.SQLite(t).TakeRate(t.Context(), "a", 10); r != nil || err != nil {
		t.Errorf("on SQLite %v %v", r, err)
	}
}
