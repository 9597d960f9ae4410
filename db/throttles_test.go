package db_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/flow/fairness"
)

func TestThrottles(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		account, address := fairness.Try{Name: "account", Free: 2}, fairness.Try{Name: "address", Free: 10}
		take := func(what string, want time.Duration) {
			t.Helper()
			wait, err := w.TakeTry(w.ctx, account, address)
			w.must(err)
			wantEqual(t, what, wait, want)
		}
		take("first", 0)
		take("second", 0)
		take("third", 0)
		take("fourth, too soon", time.Second)
		w.clock.move(time.Second)
		take("fourth", 0)
		w.clock.move(time.Second)
		take("fifth, too soon", time.Second) // of two
		w.must(w.ForgiveTry(w.ctx, account.Name, address.Name))
		take("after success", 0)
		take("and again", 0)
		take("and a third", 0)
		w.clock.move(fairness.TriesForgotten + time.Second)
		take("forgotten", 0)
		take("twice", 0)
	})
}

// Of many concurrent guesses, no more pass than would pass one after the other.
func TestTakeTry_concurrent(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		var passed atomic.Int64
		var all sync.WaitGroup
		for range 12 {
			all.Go(func() {
				if wait, err := w.TakeTry(w.ctx, fairness.Try{Name: "account", Free: 4}); err == nil && wait == 0 {
					passed.Add(1)
				}
			})
		}
		all.Wait()
		wantEqual(t, "passed", passed.Load(), 5)
	})
}
