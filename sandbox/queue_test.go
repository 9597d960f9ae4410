package sandbox

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"sluice/flow/worktime"
)

// TestQueue proves that one workspace cannot hold up another with much work, and that
// a caller who gives up leaks no slot: with all of them lost, a server would
// refuse all of that work until it is restarted.
func TestQueue(t *testing.T) {
	t.Parallel()
	t.Run("stop the clock of who waits", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			q := NewQueue(1)
			if err := q.Acquire(t.Context(), "a"); err != nil {
				t.Fatal(err)
			}
			time.AfterFunc(time.Hour, func() { q.Release("a") })
			ctx, stop := worktime.WithLimit(t.Context(), time.Second)
			defer stop()
			if err := q.Acquire(ctx, "b"); err != nil || ctx.Err() != nil {
				t.Errorf("%v, %v", err, ctx.Err())
			}
			q.Release("b")
		})
	})
	t.Run("take turns between workspaces", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			q := NewQueue(2)
			var order []string
			wait := func(workspaces ...string) {
				for _, ws := range workspaces {
					go func() {
						if q.Acquire(t.Context(), ws) == nil {
							order = append(order, ws)
						}
					}()
					synctest.Wait()
				}
			}
			wait("a", "a", "a", "a", "a", "b", "b", "c")
			for _, ws := range []string{"a", "b", "a", "c", "b", "a"} {
				q.Release(ws)
				synctest.Wait()
			}
			if want := []string{"a", "a", "b", "c", "a", "b", "a", "a"}; !slices.Equal(order, want) {
				t.Errorf("got %v, want %v", order, want)
			}
			q.Release("a")
			q.Release("a")
			if q.free != 2 || len(q.held) != 0 || len(q.lines) != 0 {
				t.Errorf("%d slots of 2 are free, %d groups hold some, %d wait", q.free, len(q.held), len(q.lines))
			}
		})
	})
	t.Run("may be left", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			q := NewQueue(1)
			if err := q.Acquire(t.Context(), "a"); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			left := make(chan error, 1)
			go func() { left <- q.Acquire(ctx, "b") }()
			synctest.Wait()
			cancel()
			if err := <-left; !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
			q.leave("a", make(chan struct{})) // it got a slot as it left
			if q.free != 1 || len(q.held) != 0 || len(q.lines) != 0 {
				t.Errorf("%d slots of 1 are free, %d groups hold some, %d wait", q.free, len(q.held), len(q.lines))
			}
		})
	})
}
