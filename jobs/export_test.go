package jobs

import "context"

// Hear hears of other instances' writes until ctx ends.
func (r *Runner) ListenForTest(ctx context.Context) { r.listen(ctx) }

// Watches reports whether this process has state of a run that somebody watches.
func (r *Runner) HasLiveRun(runID string) bool { return r.broker.find(runID) != nil }

// Relays counts the instances to which a run's text is passed on.
func (r *Runner) RelayCount(runID string) (n int) {
	l := r.broker.find(runID)
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
func (r *Runner) DisconnectMirror(runID string) {
	l := r.broker.find(runID)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mirror.disconnect()
}

// FailStarts makes the first attempts to start the queue's client fail.
func (q *Queue) FailStarts(errs ...error) { q.client = &failingClient{q.client, errs} }

type failingClient struct {
	client
	errs []error
}

func (f *failingClient) Start(ctx context.Context) error {
	if len(f.errs) > 0 {
		err := f.errs[0]
		f.errs = f.errs[1:]
		return err
	}
	return f.client.Start(ctx)
}
