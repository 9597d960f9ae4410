package jobs

import "context"

// Hear hears of other instances' writes until ctx ends.
func (r *Runner) Hear(ctx context.Context) { r.listen(ctx) }

// Watches reports whether this process has state of a run that somebody watches.
func (r *Runner) Watches(runID string) bool { return r.hub.find(runID) != nil }

// Relays counts the instances to which a run's text is passed on.
func (r *Runner) Relays(runID string) (n int) {
	l := r.hub.find(runID)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.watchers {
		if w.relay != nil {
			n++
		}
	}
	return n
}

// DropMirror breaks the connection that a run's text comes on.
func (r *Runner) DropMirror(runID string) {
	l := r.hub.find(runID)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mirror.drop()
}

// FailStarts makes the first attempts to start the queue's client fail.
func (q *Queue) FailStarts(errs ...error) { q.client = &failing{q.client, errs} }

type failing struct {
	client
	errs []error
}

func (f *failing) Start(ctx context.Context) error {
	if len(f.errs) > 0 {
		err := f.errs[0]
		f.errs = f.errs[1:]
		return err
	}
	return f.client.Start(ctx)
}
