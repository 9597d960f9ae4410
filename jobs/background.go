package jobs

import (
	"context"
	"errors"
	"sync"
	"time"

	"sluice/flow"
)

const (
	// pollInterval is the interval at which pollers check whether they have a
	// reason to query the database.
	pollInterval = 250 * time.Millisecond
	// idlePollInterval is the interval at which pollers query the database without
	// a reason. It bounds the delay of work that another instance left behind.
	idlePollInterval = 5 * time.Second
)

// loop calls f at an interval until the Runner stops, and logs its errors.
func (r *Runner) loop(ctx context.Context, interval time.Duration, f func(context.Context) error) {
	r.loops.Go(func() {
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
			r.logLoopError(ctx, f(ctx))
		}
	})
}

// logLoopError logs an error of background work unless it is due to the shutdown.
func (r *Runner) logLoopError(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		r.log.Error("background work failed", "error", err)
	}
}

// sleep waits for d and reports whether ctx is still alive afterwards.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// retry calls f until it succeeds, with exponential back-off. It gives up when ctx
// ends or the process shuts down, but not on transient errors: this job is the
// only one for its run or delivery, so giving up would leave that stuck. A
// permanent error is returned after flow.PermanentTries.
func (r *Runner) retry(ctx context.Context, what string, f func() error) error {
	permanent := 0
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 5*time.Second) {
		err := f()
		if flow.IsPermanent(err) {
			permanent++
		}
		if err == nil || errors.Is(err, flow.ErrFenced) || ctx.Err() != nil || r.Draining() || permanent == flow.PermanentTries {
			return err
		}
		r.log.Error("retrying", "what", what, "error", err)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		case <-r.drain: // makes a last attempt
		}
	}
}

// poller queries the database for one sort of work. It does so after a write,
// when work that it knows of is due, and otherwise every idlePollInterval, so
// that an unused server costs next to nothing.
type poller struct {
	// poll does the work that is due and returns when more will be, or the zero time
	// if nothing else is scheduled.
	poll func(ctx context.Context) (next time.Time, err error)
	// minInterval is the shortest time between two polls that have a reason.
	minInterval time.Duration
	wake        chan struct{} // of capacity one; a send causes a poll

	mu          sync.Mutex
	lastChanges int64     // Store.Changes before the last poll
	next        time.Time // when the earliest known work is due
	lastPoll    time.Time // end of the last poll, by the monotonic clock
	failed      bool      // the last poll failed
}

// newPoller returns a poller. minInterval spaces the polls that startPollers finds to be
// due; a signal on wake causes a poll immediately.
func newPoller(minInterval time.Duration, poll func(context.Context) (time.Time, error)) *poller {
	return &poller{poll: poll, minInterval: minInterval, wake: make(chan struct{}, 1)}
}

// due reports whether to poll, given the store's count of changes. If so, it
// remembers the count: a change during the poll causes another one.
func (p *poller) due(changes int64, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	elapsed := time.Since(p.lastPoll)
	hasReason := p.failed || changes != p.lastChanges || !p.next.IsZero() && !p.next.After(now)
	if elapsed < idlePollInterval && (!hasReason || elapsed < p.minInterval) {
		return false
	}
	p.lastChanges = changes
	return true
}

// finish records the result of a poll: when more work will be due, and whether it failed,
// which is a reason to poll again.
func (p *poller) finish(next time.Time, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next, p.lastPoll, p.failed = next, time.Now(), err != nil
}

// startPollers runs pollers until the Runner stops. Each has a goroutine of its
// own, so that a slow one does not delay the others.
func (r *Runner) startPollers(ctx context.Context, pollers ...*poller) {
	for _, p := range pollers {
		r.loops.Go(func() {
			for {
				select {
				case <-p.wake:
				case <-ctx.Done():
					return
				}
				next, err := p.poll(ctx)
				p.finish(next, err)
				r.logLoopError(ctx, err)
			}
		})
	}
	r.loop(ctx, pollInterval, func(ctx context.Context) error {
		changes, err := r.store.Changes(ctx)
		for _, p := range pollers {
			if err != nil || p.due(changes, r.now()) {
				notify(p.wake)
			}
		}
		return err
	})
}
