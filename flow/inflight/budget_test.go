package inflight

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
)

const mib = 1 << 20

// waiting starts a Take and returns once it waits. The channel receives its result.
func waiting(ctx context.Context, t *testing.T, h *Hold, n int64) <-chan error {
	t.Helper()
	before := len(h.group.waiting)
	done := make(chan error, 1)
	go func() { done <- h.Take(ctx, n) }()
	for {
		h.b.mu.Lock()
		waits := len(h.group.waiting) > before
		h.b.mu.Unlock()
		if waits {
			return done
		}
		select {
		case err := <-done:
			t.Fatalf("Take(%d) did not wait: %v", n, err)
		default:
		}
	}
}

// full returns a budget without free memory: one hold has the shared part, another one the reserve.
func full(t *testing.T) (b *Budget, other *Hold) {
	t.Helper()
	b = New(100*mib, t.TempDir())
	other = b.Open("other")
	other.Add(60 * mib)
	blocker := b.Open("blocker")
	if err := blocker.Take(context.Background(), mib); err != nil || b.reserve != blocker {
		t.Fatalf("the reserve is not in use: %v", err)
	}
	return b, other
}

func TestTake_shares_memory(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	t.Run("workspaces_take_turns", func(t *testing.T) {
		t.Parallel()
		b, other := full(t)
		first, second, neighbor := b.Open("a"), b.Open("a"), b.Open("b")
		got := []<-chan error{waiting(ctx, t, first, 20*mib), waiting(ctx, t, second, 20*mib), waiting(ctx, t, neighbor, 20*mib)}
		other.Close()
		for _, i := range []int{0, 2} {
			if err := <-got[i]; err != nil {
				t.Fatal(err)
			}
		}
		if b.mu.Lock(); len(b.groups["a"].waiting) != 1 {
			t.Error("the second request of the same workspace was served before its turn")
		}
		b.mu.Unlock()
		first.Close()
		if err := <-got[1]; err != nil {
			t.Fatal(err)
		}
	})
	t.Run("refuses_what_no_hold_gets", func(t *testing.T) {
		t.Parallel()
		h := New(100*mib, "").Open("a")
		if err := h.Take(ctx, 60*mib+1); !errors.Is(err, ErrTooLarge) {
			t.Fatalf("got %v, want ErrTooLarge", err)
		}
		if err := h.Take(ctx, 60*mib); err != nil || h.Held() != 60*mib {
			t.Fatalf("%v; the hold has %d bytes", err, h.Held())
		}
	})
	t.Run("leaves_a_part_to_other_workspaces", func(t *testing.T) {
		t.Parallel()
		b := New(100*mib, "")
		many, neighbor := b.Open("a"), b.Open("b")
		for range 30 {
			if !many.TryTake(mib) {
				t.Fatal("a workspace gets less than three quarters")
			}
		}
		if many.TryTake(mib) {
			t.Error("a workspace gets more than three quarters")
		}
		if !neighbor.TryTake(10 * mib) {
			t.Error("the neighbor gets nothing")
		}
	})
	t.Run("ends_with_the_context", func(t *testing.T) {
		t.Parallel()
		b, other := full(t)
		ending, cancel := context.WithCancel(ctx)
		h, behind := b.Open("a"), b.Open("a")
		got := waiting(ending, t, h, 30*mib)
		next := waiting(ctx, t, behind, mib)
		cancel()
		if err := <-got; !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v", err)
		}
		other.Close()
		if err := <-next; err != nil || h.Held() != 0 {
			t.Fatalf("%v; the canceled hold has %d bytes", err, h.Held())
		}
	})
	t.Run("steps_of_a_run_wait_for_each_other", func(t *testing.T) {
		t.Parallel()
		h := New(100*mib, "").Open("a")
		one, two := h.Lease(ctx), h.Lease(ctx)
		if err := one.Take(50 * mib); err != nil {
			t.Fatal(err)
		}
		got := make(chan error, 1)
		go func() { got <- two.Take(50 * mib) }()
		for h.b.mu.Lock(); len(h.group.waiting) == 0; h.b.mu.Lock() {
			h.b.mu.Unlock()
		}
		h.b.mu.Unlock()
		h.Add(5 * mib) // the outputs of the first
		one.Close()
		if err := <-got; err != nil {
			t.Fatal(err)
		}
		two.Close()
		if h.Held() != 5*mib {
			t.Errorf("the hold has %d bytes", h.Held())
		}
	})
}

// TestTakeBody_bounds_all_requests checks that the bodies of all requests together take a fixed part
// of a large budget, and that a workspace leaves a part of that to others.
func TestTakeBody_bounds_all_requests(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	b := New(1000*mib, "")
	if err := b.Open("a").TakeBody(ctx, eachBody+1); !errors.Is(err, ErrTooLarge) {
		t.Fatalf("got %v, want ErrTooLarge", err)
	}
	large, waits, neighbor := b.Open("a"), b.Open("a"), b.Open("b")
	for _, n := range []int64{eachBody / 2, eachBody / 2} {
		if err := large.TakeBody(ctx, n); err != nil {
			t.Fatal(err)
		}
	}
	ending, cancel := context.WithCancel(ctx)
	defer cancel()
	waits.body = b.bodies.Open("a")
	waiting(ending, t, waits.body, sharedBody)
	if err := neighbor.TakeBody(ctx, sharedBody/4); err != nil {
		t.Fatal(err)
	}
	if got := b.bodies.used + large.body.extra; got > eachBody+sharedBody {
		t.Errorf("%d bytes are taken", got)
	}
	next := make(chan error, 1)
	go func() { next <- b.Open("a").TakeBody(ctx, eachBody) }()
	cancel()
	large.ReleaseBody()
	if err := <-next; err != nil || large.Held() != 0 || neighbor.Held() != sharedBody/4 {
		t.Errorf("%v, %d bytes held after the release", err, large.Held())
	}
}

// TestTake_never_deadlocks lets many runs take memory step by step, each more than its part of the shared
// memory, so that all of them wait for each other sooner or later.
func TestTake_never_deadlocks(t *testing.T) {
	t.Parallel()
	const total = 100 * mib
	b := New(total, "")
	var most atomic.Int64
	var runs sync.WaitGroup
	for i := range 60 {
		runs.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(i)))
			h := b.Open(fmt.Sprint("workspace", i%3))
			defer h.Close()
			for left := int64(60 * mib); left > 0; {
				n := min(left, 1+random.Int64N(20*mib))
				if err := h.Take(context.Background(), n); err != nil {
					t.Errorf("run %d: %v", i, err)
					return
				}
				left -= n
				b.mu.Lock()
				used := b.used
				if b.reserve != nil {
					used += b.reserve.extra
				}
				b.mu.Unlock()
				for now := most.Load(); used > now && !most.CompareAndSwap(now, used); now = most.Load() {
				}
			}
		})
	}
	runs.Wait()
	if most.Load() > total {
		t.Errorf("%d bytes were in use, the budget has %d", most.Load(), total)
	}
	if b.used != 0 || b.reserve != nil || len(b.groups) != 0 || len(b.turns) != 0 {
		t.Errorf("after the end: %d bytes in use, reserve %v, %d groups, %d turns", b.used, b.reserve, len(b.groups), len(b.turns))
	}
}

func TestWeigher_counts_shared_values_once(t *testing.T) {
	t.Parallel()
	w := &Weigher{}
	large := []any{make([]any, 1000), string(make([]byte, 5000))}
	first := w.Keep(map[string]any{"body": large})
	if first < 16_000+5000 {
		t.Errorf("%d bytes are less than the list and the text have", first)
	}
	if again := w.Keep(map[string]any{"value": large}); again > 500 {
		t.Errorf("the same value counts %d bytes again", again)
	}
	if size := w.Weigh(map[string]any{"value": large}); size.Heap < first || size.Text < 5000 {
		t.Errorf("its weight is %+v, and was %d", size, first)
	}
}
