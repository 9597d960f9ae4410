package inflight

import (
	"context"
	"errors"
	"runtime"
	"runtime/metrics"
	"time"
)

// Hold is the memory of one request or run. It is safe for concurrent use. A nil Hold gets
// everything immediately and counts nothing.
type Hold struct {
	b      *Budget
	group  *group
	held   int64 // bytes, including the following two
	leased int64 // bytes of leases
	extra  int64 // bytes from the reserve
	closed bool
	body   *Hold // of the body of the request, whose bytes this hold has too; nil without one
}

// Open returns a hold without memory for a group, such as a workspace. It must be closed.
func (b *Budget) Open(name string) *Hold {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	g := b.groups[name]
	if g == nil {
		g = &group{name: name}
		b.groups[name] = g
	}
	g.holds++
	return &Hold{b: b, group: g}
}

// Take adds n bytes to the hold and waits until they are free. It returns ErrTooLarge if the hold
// would have more than Budget.Each, and the error of ctx if that ends first.
func (h *Hold) Take(ctx context.Context, n int64) error {
	if h == nil || n <= 0 {
		return nil
	}
	return h.take(ctx, n, nil)
}

// take takes memory for the hold itself or for one of its leases.
func (h *Hold) take(ctx context.Context, n int64, l *Lease) error {
	r := &request{hold: h, lease: l, n: n, done: make(chan struct{})}
	h.b.mu.Lock()
	h.b.enqueue(r)
	h.b.serve()
	h.b.mu.Unlock()
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		if h.b.withdraw(r) {
			return ctx.Err()
		}
		return r.err
	}
}

// TakeBody adds the memory of a body as Take does; see Body.Decoding. It returns ErrTooLarge for a body that
// takes more than Budget.EachBody.
func (h *Hold) TakeBody(ctx context.Context, n int64) error {
	if h == nil || n <= Small {
		return nil
	}
	if h.body == nil {
		h.body = h.b.bodies.Open(h.group.name)
	}
	if err := h.body.Take(ctx, n); err != nil {
		return err
	}
	return h.Take(ctx, n)
}

// Decoded returns the memory of a body that its value does not need.
func (h *Hold) Decoded(body *Body) {
	if h == nil || h.body == nil {
		return
	}
	n := body.Decoding() - body.Cost.Heap
	h.body.Give(n)
	h.Give(n)
}

// ReleaseBody returns everything but the leases of a request that does not need its body any longer.
func (h *Hold) ReleaseBody() {
	if h == nil {
		return
	}
	h.closeBody()
	h.Resize(0)
}

// closeBody returns the memory of the body to those of other requests. What a large one took is collected
// first: otherwise the heap would have it twice, because it may grow by its own size between two
// collections.
func (h *Hold) closeBody() {
	body := h.body
	h.body = nil
	if n := body.Held(); n < collected || n < liveHeap()/8 {
		body.Close()
		return
	}
	go func() {
		runtime.GC()
		body.Close()
	}()
}

// collected is the size in bytes from which the memory of a body is collected when its request ends.
const collected = 16 << 20

// liveHeap returns how many bytes the last collection has kept.
func liveHeap() int64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}

// TryTake is Take without waiting. It reports whether the memory was free.
func (h *Hold) TryTake(n int64) bool {
	if h == nil || n <= 0 {
		return true
	}
	h.b.mu.Lock()
	defer h.b.mu.Unlock()
	if h.held+n > h.b.each || !h.b.fits(h, n) || len(h.group.waiting) > 0 {
		return false
	}
	h.b.grant(h, n)
	return true
}

// Add adds n bytes that are in memory already, even beyond the limits. It reports whether the hold
// is within Budget.Each.
func (h *Hold) Add(n int64) bool {
	if h == nil || n <= 0 {
		return true
	}
	h.b.mu.Lock()
	defer h.b.mu.Unlock()
	h.b.grant(h, n)
	return h.held-h.leased <= h.b.each
}

// Give returns n bytes.
func (h *Hold) Give(n int64) {
	if h == nil || n <= 0 {
		return
	}
	h.b.mu.Lock()
	defer h.b.mu.Unlock()
	h.b.give(h, min(n, h.held-h.leased))
	h.b.serve()
}

// Resize makes the hold n bytes large, even beyond the limits: n bytes are in memory already.
func (h *Hold) Resize(n int64) {
	if h == nil {
		return
	}
	h.b.mu.Lock()
	defer h.b.mu.Unlock()
	if own := h.held - h.leased; n > own {
		h.b.grant(h, n-own)
	} else {
		h.b.give(h, own-n)
	}
	h.b.serve()
}

// Budget returns the budget of the hold.
func (h *Hold) Budget() *Budget {
	if h == nil {
		return nil
	}
	return h.b
}

// Limit returns how many bytes the hold may have.
func (h *Hold) Limit() int64 { return h.Budget().Each() }

// Held returns how many bytes the hold has.
func (h *Hold) Held() int64 {
	if h == nil {
		return 0
	}
	h.b.mu.Lock()
	defer h.b.mu.Unlock()
	return h.held
}

// Close returns everything. Closing twice has no effect. Leases must be closed before.
func (h *Hold) Close() {
	if h == nil {
		return
	}
	b := h.b
	b.mu.Lock()
	defer b.mu.Unlock()
	if h.closed {
		return
	}
	h.closed = true
	h.closeBody()
	b.give(h, h.held)
	if b.reserve == h {
		b.reserve = nil
	}
	if h.group.holds--; h.group.holds == 0 {
		delete(b.groups, h.group.name)
	}
	b.serve()
}

// Lease is memory that a step needs while it works. When the step ends, the lease is closed, and
// what its outputs take is added to the hold. A nil Lease counts nothing.
type Lease struct {
	hold     *Hold
	ctx      context.Context
	patience time.Duration    // how long Take waits; 0 is without a limit
	n        int64            // bytes; guarded by the budget
	read     map[string]int64 // bytes by what was read; guarded by the budget
}

// Lease returns a lease without memory. Waiting for memory ends with ctx, which should not have the
// time limit of the step: it is not the step's fault if others need the memory.
func (h *Hold) Lease(ctx context.Context) *Lease {
	if h == nil {
		return nil
	}
	return &Lease{hold: h, ctx: ctx}
}

// ErrBusy is returned by a lease whose patience has ended.
var ErrBusy = errors.New("inflight: others have the memory")

// Patient makes Take return ErrBusy after a while. It returns the lease.
func (l *Lease) Patient(patience time.Duration) *Lease {
	if l != nil {
		l.patience = patience
	}
	return l
}

// Take adds n bytes to the lease, as Hold.Take does.
func (l *Lease) Take(n int64) error {
	if l == nil || n <= 0 {
		return nil
	}
	ctx := l.ctx
	if l.patience > 0 {
		patient, cancel := context.WithTimeout(ctx, l.patience)
		defer cancel()
		ctx = patient
	}
	err := l.hold.take(ctx, n, l)
	if err != nil && ctx.Err() != nil && l.ctx.Err() == nil {
		return ErrBusy
	}
	return err
}

// Read takes n bytes for something that was read from the store, instead of those for an earlier
// reading of the same: a client that follows a run reads it again and again.
func (l *Lease) Read(what string, n int64) error {
	if l == nil {
		return nil
	}
	b := l.hold.b
	b.mu.Lock()
	before := l.read[what]
	if delete(l.read, what); before > 0 {
		b.give(l.hold, before)
		l.hold.leased, l.n = l.hold.leased-before, l.n-before
		b.serve()
	}
	b.mu.Unlock()
	if n <= Small {
		return nil
	}
	if err := l.Take(n); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if l.read == nil {
		l.read = map[string]int64{}
	}
	l.read[what] = n
	return nil
}

// Budget returns the budget of the lease.
func (l *Lease) Budget() *Budget {
	if l == nil {
		return nil
	}
	return l.hold.b
}

// Close returns the memory of the lease, which may be used again.
func (l *Lease) Close() {
	if l == nil {
		return
	}
	b := l.hold.b
	b.mu.Lock()
	defer b.mu.Unlock()
	b.give(l.hold, l.n)
	l.hold.leased, l.n, l.read = l.hold.leased-l.n, 0, nil
	b.serve()
}

type leaseKey struct{}

// WithLease returns a context with a lease, from which readers of large content take memory. Without
// one, they do not count what they read.
func WithLease(ctx context.Context, l *Lease) context.Context {
	if l == nil && ctx.Value(leaseKey{}) == nil {
		return ctx
	}
	return context.WithValue(ctx, leaseKey{}, l)
}

// LeaseOf returns the lease of a context, or nil.
func LeaseOf(ctx context.Context) *Lease {
	l, _ := ctx.Value(leaseKey{}).(*Lease)
	return l
}
