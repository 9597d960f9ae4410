package hooks

import (
	"context"
	"sync"

	"sluice/flow/triggers"
)

// lookups finds the triggers of URLs. Requests to one URL that wait at the same time share a read of the database that begins after
// the last of them came, so that each sees all changes before it: under load, reading the same row for every event would take a
// third of their time.
type lookups struct {
	find  func(ctx context.Context, token string) (t *triggers.Trigger, liveHash string, err error)
	mu    sync.Mutex
	reads map[string]*lookup // in progress, by token
}

// lookup is a read of a trigger, which must not be changed, with the hash of the live version of its flow.
type lookup struct {
	done     chan struct{}
	trigger  *triggers.Trigger
	liveHash string
	err      error
	next     *lookup // begins when this one ends; nil if no request waits for it
}

// of returns what a read finds that begins after the call.
func (l *lookups) of(ctx context.Context, token string) (*triggers.Trigger, string, error) {
	l.mu.Lock()
	r := &lookup{done: make(chan struct{})}
	switch current := l.reads[token]; {
	case current == nil:
		l.reads[token] = r
		go l.run(context.WithoutCancel(ctx), token, r)
	case current.next == nil:
		current.next = r
	default:
		r = current.next
	}
	l.mu.Unlock()
	select {
	case <-r.done:
		return r.trigger, r.liveHash, r.err
	case <-ctx.Done():
		return nil, "", ctx.Err()
	}
}

// run reads until no request waits any more.
func (l *lookups) run(ctx context.Context, token string, r *lookup) {
	for r != nil {
		r.trigger, r.liveHash, r.err = l.find(ctx, token)
		l.mu.Lock()
		next := r.next
		if l.reads[token] = next; next == nil {
			delete(l.reads, token)
		}
		l.mu.Unlock()
		close(r.done)
		r = next
	}
}
