package jobs

import (
	"context"
	"sync"
	"time"
)

const (
	// lookEvery is the interval between checks whether something was written or
	// is due.
	pollInterval = 250 * time.Millisecond
	// idleLookEvery is the interval at which background work queries the database
	// although nothing was heard of a change. It bounds how late work begins that
	// another instance left behind.
	idlePollInterval = 5 * time.Second
)

// background is work that queries the database for something to do. It does so
// when something was written, when work that it knows of is due, and otherwise
// seldom, so that a server that nobody uses costs next to nothing.
type poller struct {
	// look does what there is to do, and returns when the earliest other work is
	// due, or the zero time.
	poll func(ctx context.Context) (next time.Time, err error)
	// every is the shortest interval between looks that a change or due work
	// causes.
	minInterval time.Duration
	wake        chan struct{} // has room for one; whoever sends causes a look

	mu          sync.Mutex
	lastChanges int64     // Store.Changes before the last look
	next        time.Time // when the earliest known work is due
	lastPoll    time.Time // end of the last look, by the monotonic clock
	failed      bool
}

// due reports whether to look again.
func (b *poller) due(changes int64, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	since := time.Since(b.lastPoll)
	known := b.failed || changes != b.lastChanges || !b.next.IsZero() && !b.next.After(now)
	if since < idlePollInterval && (!known || since < b.minInterval) {
		return false
	}
	b.lastChanges = changes
	return true
}

func (b *poller) finish(next time.Time, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.next, b.lastPoll, b.failed = next, time.Now(), err != nil
}

// startBackground runs background work until the Runner stops.
func (r *Runner) startPollers(ctx context.Context, list ...*poller) {
	for _, b := range list {
		r.loops.Go(func() {
			for {
				select {
				case <-b.wake:
				case <-ctx.Done():
					return
				}
				next, err := b.poll(ctx)
				if b.finish(next, err); err != nil && ctx.Err() == nil {
					r.log.Error("background work", "error", err)
				}
			}
		})
	}
	r.loop(ctx, pollInterval, func(ctx context.Context) error {
		changes, err := r.store.Changes(ctx)
		for _, b := range list {
			if err != nil || b.due(changes, r.now()) {
				notify(b.wake)
			}
		}
		return err
	})
}
