package jobs

import (
	"context"
	"runtime"
	"sync"
	"time"
)

// rampInterval is the time after which a server that has survived so long takes twice as many runs.
const rampInterval = 2 * time.Second

// ramp limits how many runs are executed at once after an unclean end of the process, which they may
// have caused together, for example by using up the memory. The limit doubles until all workers are
// in use. The zero value has no limit.
type ramp struct {
	mu      sync.Mutex
	limit   int // 0 is unlimited
	running int
	changed chan struct{} // closed when a waiting run may try again
}

// begin sets the first limit.
func (r *ramp) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.limit, r.changed = 4*runtime.GOMAXPROCS(0), make(chan struct{})
}

// grow doubles the limit, and removes it once it reaches most. It reports whether there still is one.
func (r *ramp) grow(most int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.limit *= 2; r.limit >= most {
		r.limit = 0
	}
	r.wake()
	return r.limit > 0
}

// wake lets all waiting runs try again.
func (r *ramp) wake() {
	if r.changed != nil {
		close(r.changed)
		r.changed = make(chan struct{})
	}
}

// enter waits until a run may be executed, or until stop or the end of ctx, and reports whether it
// may. Then leave must be called.
func (r *ramp) enter(ctx context.Context, stop <-chan struct{}) bool {
	for {
		r.mu.Lock()
		if r.limit == 0 || r.running < r.limit {
			r.running++
			r.mu.Unlock()
			return true
		}
		changed := r.changed
		r.mu.Unlock()
		select {
		case <-changed:
		case <-stop:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// leave ends the execution of a run.
func (r *ramp) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running--; r.limit > 0 {
		r.wake()
	}
}

// rampUp takes few runs at first, and twice as many each rampInterval.
func rampUp(ctx context.Context, r *Runner) {
	r.ramp.begin()
	r.loops.Go(func() {
		for sleep(ctx, rampInterval) && r.ramp.grow(r.cfg.Workers) {
		}
	})
}
