package inflight

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// ErrTooLarge is returned for memory that a hold never gets, however long it waits.
var ErrTooLarge = errors.New("inflight: more memory than one request or run may have")

// Budget distributes a number of bytes. It is safe for concurrent use. A nil Budget has no limit
// and counts nothing.
type Budget struct {
	shared int64 // bytes that all holds have together, without the reserve
	each   int64 // bytes of a hold, and of the reserve
	share  int64 // bytes of the shared ones that a group may have
	dir    string
	bulk   chan struct{} // holds a value while a large write is in progress
	bodies *Budget       // of the bodies of requests, within this one; nil in that one

	mu      sync.Mutex
	used    int64 // bytes of all holds, without those from the reserve
	reserve *Hold // hold that has the reserve; nil if it is free
	groups  map[string]*group
	turns   []*group // groups with waiting requests; the one served last is at the end
}

// group is the holds of a workspace.
type group struct {
	name    string
	used    int64 // bytes of its holds, without those from the reserve
	holds   int
	waiting []*request // in FIFO order
}

// request is a caller that waits for memory.
type request struct {
	hold  *Hold
	lease *Lease // nil if the memory is for the hold itself
	n     int64
	done  chan struct{} // closed when the request was granted or denied
	err   error         // set before done is closed
}

// Memory that the bodies of requests have at most while they are decoded. It does not grow with the
// memory of the machine: a body of 32 MiB with pictures fits, and a body that takes much more is
// not a request that any route could use.
const (
	eachBody   = 36 << 20
	sharedBody = 28 << 20
)

// New returns a budget of a number of bytes. Three fifths of them are the reserve. Large bodies are
// kept in files in dir, which must exist; "" is the directory for temporary files.
func New(bytes int64, dir string) *Budget {
	shared := bytes / 5 * 2
	b := newBudget(shared, bytes-shared)
	b.dir, b.bulk = dir, make(chan struct{}, 1)
	b.bodies = newBudget(min(shared, sharedBody), min(b.each, eachBody))
	return b
}

func newBudget(shared, each int64) *Budget {
	return &Budget{shared: shared, each: each, share: shared / 4 * 3, groups: map[string]*group{}}
}

// Each returns how many bytes one hold may have.
func (b *Budget) Each() int64 {
	if b == nil {
		return 1<<63 - 1
	}
	return b.each
}

// EachBody returns how many bytes the body of one request may take.
func (b *Budget) EachBody() int64 {
	if b == nil {
		return 1<<63 - 1
	}
	return b.bodies.each
}

// Bulk waits until no other large write is in progress. Encoding and storing one takes several times
// its size, and the database stores one after the other anyway, so that there is memory for one of
// them beside the budget. done must be called at its end.
func (b *Budget) Bulk(ctx context.Context) (done func(), err error) {
	if b == nil {
		return func() {}, nil
	}
	select {
	case b.bulk <- struct{}{}:
		return func() { <-b.bulk }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// fits reports whether n bytes of the shared ones are free for a hold.
func (b *Budget) fits(h *Hold, n int64) bool {
	return b.used+n <= b.shared && h.group.used+n <= b.share
}

// grant adds n bytes to a hold: shared ones, or those of the reserve if the hold has it and they
// do not fit otherwise.
func (b *Budget) grant(h *Hold, n int64) {
	h.held += n
	if b.reserve == h && !b.fits(h, n) {
		h.extra += n
		return
	}
	b.used += n
	h.group.used += n
}

// give returns n bytes of a hold, those of the reserve first.
func (b *Budget) give(h *Hold, n int64) {
	extra := min(n, h.extra)
	h.held, h.extra = h.held-n, h.extra-extra
	b.used -= n - extra
	h.group.used -= n - extra
}

// serve grants waiting requests. The groups take turns: one whose request does not fit keeps its
// turn, and gets the reserve once that is free.
func (b *Budget) serve() {
	if h := b.reserve; h != nil && b.fits(h, h.extra) { // it no longer needs the reserve
		b.used, h.group.used = b.used+h.extra, h.group.used+h.extra
		b.reserve, h.extra = nil, 0
	}
	for b.serveNext() {
	}
}

// serveNext answers one request, and reports whether there was one that it could answer.
func (b *Budget) serveNext() bool {
	for _, g := range b.turns {
		blocked := false // an earlier request of the group does not fit
		for i, r := range g.waiting {
			switch h := r.hold; {
			case h.held-h.leased+r.n > b.each:
				r.err = ErrTooLarge
			case h.held+r.n > b.each: // until another step of the run ends
				continue
			case b.reserve == h || !blocked && b.fits(h, r.n):
				b.grantRequest(r)
			case !blocked && b.reserve == nil:
				b.reserve = h
				b.grantRequest(r)
			default:
				blocked = true
				continue
			}
			b.dequeue(g, i)
			close(r.done)
			return true
		}
	}
	return false
}

// grantRequest takes the memory of a request.
func (b *Budget) grantRequest(r *request) {
	b.grant(r.hold, r.n)
	if r.lease != nil {
		r.lease.n += r.n
		r.hold.leased += r.n
	}
}

// enqueue adds a request to its group.
func (b *Budget) enqueue(r *request) {
	g := r.hold.group
	if g.waiting = append(g.waiting, r); len(g.waiting) == 1 {
		b.turns = append(b.turns, g)
	}
}

// dequeue removes the request at an index of a group, and moves the group to the end of the turns.
func (b *Budget) dequeue(g *group, at int) {
	g.waiting = slices.Delete(g.waiting, at, at+1)
	b.turns = slices.DeleteFunc(b.turns, func(other *group) bool { return other == g })
	if len(g.waiting) > 0 {
		b.turns = append(b.turns, g)
	}
}

// withdraw removes a request whose caller does not wait any longer. It reports false if the request
// was answered meanwhile.
func (b *Budget) withdraw(r *request) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	g := r.hold.group
	i := slices.Index(g.waiting, r)
	if i < 0 {
		return false
	}
	if g.waiting = slices.Delete(g.waiting, i, i+1); len(g.waiting) == 0 {
		b.turns = slices.DeleteFunc(b.turns, func(other *group) bool { return other == g })
	}
	b.serve() // it may have blocked another one of its group
	return true
}
