package db

import (
	"context"
	"slices"
	"sync"

	"sluice/db/gen"
	"sluice/flow"
)

// defaultMaxQueued is the queue limit of a workspace that has none set.
const defaultMaxQueued = 1_000_000

// decide says where a new run begins: with a worker when there is room, else
// in the queue, unless that is full.
func (tx *Tx) decide(k flowKey) (int64, error) {
	limits, err := tx.flowLimits(k)
	if err != nil {
		return 0, err
	}
	free, err := tx.free(k, limits)
	if err != nil {
		return 0, err
	}
	if free && tx.s.queueOrNil() != nil {
		return placeWorker, nil
	}
	return placeQueue, tx.checkQueue(k, limits)
}

// free tells whether one more run of the flow may be admitted. Limits are kept
// to exactly. On PostgreSQL the capacity is not: starts that come together do
// not wait for each other, and the jobs over it wait for a worker instead.
func (tx *Tx) free(k flowKey, l flowLimits) (bool, error) {
	limit, err := tx.capacity()
	if err != nil {
		return false, err
	}
	n, err := tx.count(flowKey{})
	if err != nil {
		return false, err
	}
	if n+1 >= limit || l.MaxRunning > 0 || l.AllRunning > 0 {
		if err := tx.lockAdmission(); err != nil {
			return false, err
		}
	}
	return tx.below(flowBound{flowKey{}, limit}, flowBound{flowKey{k.ws, ""}, l.AllRunning}, flowBound{k, l.MaxRunning})
}

type flowBound struct {
	key   flowKey
	limit int64
}

// below tells whether all counts are under their limits; 0 is no limit, but
// for the capacity, which comes first and of which 0 is none.
func (tx *Tx) below(bounds ...flowBound) (bool, error) {
	for i, b := range bounds {
		if i > 0 && b.limit == 0 {
			continue
		}
		n, err := tx.count(b.key)
		if err != nil || n >= b.limit {
			return false, err
		}
	}
	return true, nil
}

// checkQueue refuses a run when the queue of its flow or workspace is full.
func (tx *Tx) checkQueue(k flowKey, l flowLimits) error {
	most := l.AllQueued
	if most == 0 {
		most = defaultMaxQueued
	}
	for _, b := range []flowBound{{k, l.MaxQueued}, {flowKey{k.ws, ""}, most}} {
		if b.limit == 0 {
			continue
		}
		n, err := tx.queueLength(b.key)
		if err != nil {
			return err
		}
		if n >= b.limit {
			e := flow.Errorf(flow.CodeQueueFull, "%d runs are waiting already. Try again when some have ended.", n)
			e.Retryable, e.After = true, retryAfter
			return e
		}
	}
	return nil
}

func (tx *Tx) queueLength(k flowKey) (int64, error) {
	r := &tx.batch.room
	n, ok := r.queued[k]
	if !ok {
		var err error
		if k.flow == "" {
			n, err = tx.QueueLengthOfWorkspace(tx.ctx, k.ws)
		} else {
			n, err = tx.QueueLengthOfFlow(tx.ctx, gen.QueueLengthOfFlowParams{WorkspaceID: k.ws, FlowID: k.flow})
		}
		if err != nil && !isNoRows(err) {
			return 0, err
		}
		r.queued[k] = n
	}
	return n + r.joined[k], nil
}

// flushLengths stores how the queues have grown, in one order everywhere so
// that transactions cannot wait for each other in a circle.
func (tx *Tx) flushLengths() error {
	var keys []flowKey
	for k, d := range tx.batch.room.joined {
		if k.flow != "" && d != 0 {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(a, b flowKey) int { return compareTexts(a.ws, b.ws, a.flow, b.flow) })
	for _, k := range keys {
		err := tx.AddQueueLength(tx.ctx, gen.AddQueueLengthParams{WorkspaceID: k.ws, FlowID: k.flow, Queued: tx.batch.room.joined[k]})
		if err != nil {
			return err
		}
	}
	return nil
}

// AdmitRuns admits up to limit queued runs while there is room. Ends of runs
// admit by themselves; this is for room that came otherwise: a raised limit, a
// new instance, rows of a process without a queue.
func (s *Store) AdmitRuns(ctx context.Context, limit int) (n int, err error) {
	if s.queueOrNil() == nil {
		return 0, nil
	}
	if _, err := s.read.NextWorkspace(ctx, ""); isNoRows(err) {
		return 0, nil
	}
	err = s.write(ctx, durable, func(tx *Tx) error {
		if err := tx.lockAdmission(); err != nil {
			return err
		}
		n, err = tx.admit(limit)
		return err
	})
	return n, err
}

// admit hands up to limit queued runs to workers while there is room.
func (tx *Tx) admit(limit int) (n int, err error) {
	for n < limit && tx.s.queueOrNil() != nil && !tx.batch.room.lineEmpty {
		next, err := tx.nextInLine()
		if err != nil || next.id == "" {
			return n, err
		}
		ok, err := tx.hand(next.id, placeQueue)
		if err != nil {
			return n, err
		}
		tx.s.turn.took(next)
		n += int(flag(ok))
	}
	return n, nil
}

// hand gives a run to a worker: the next attempt begins, with a job of its own.
func (tx *Tx) hand(runID string, from int64) (bool, error) {
	r, err := tx.MoveRun(tx.ctx, gen.MoveRunParams{ID: runID, FromPlace: from, Place: placeWorker})
	if isNoRows(err) {
		return false, nil // somebody else was faster
	}
	if err != nil {
		return false, err
	}
	tx.moved(r.WorkspaceID, r.FlowID, from, placeWorker)
	tx.Enqueue(flow.Job{Kind: flow.JobRun, ID: runID, Attempt: r.Attempt})
	return true, nil
}

// turn remembers whose turn was last, so that workspaces, and keys within a
// workspace, are served in rotation. A restart begins anew, which harms nobody.
type turn struct {
	mu        sync.Mutex
	workspace cursor
	keys      map[string]cursor
}

// waiter is a queued run and by whom it queues.
type waiter struct{ ws, key, id string }

func (t *turn) took(w waiter) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.keys == nil {
		t.keys = map[string]cursor{}
	}
	t.workspace, t.keys[w.ws] = cursor{w.ws, true}, cursor{w.key, true}
}

func (t *turn) last(ws string) (workspace, key cursor) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.workspace, t.keys[ws]
}

// nextInLine finds the queued run whose turn it is and that has room, if there
// is one. On PostgreSQL it looks again once nobody else may admit.
func (tx *Tx) nextInLine() (w waiter, err error) {
	limit, err := tx.capacity()
	if err != nil {
		return w, err
	}
	if ok, err := tx.below(flowBound{flowKey{}, limit}); !ok {
		return w, err
	}
	w, err = tx.findInLine()
	if w.id == "" || err != nil || tx.s.pool == nil || tx.batch.room.locked {
		return w, err
	}
	if err := tx.lockAdmission(); err != nil {
		return waiter{}, err
	}
	return tx.nextInLine()
}

func (tx *Tx) findInLine() (w waiter, err error) {
	from, _ := tx.s.turn.last("")
	empty := true
	err = rotate(from, tx.nextWorkspace, func(ws string) (bool, error) {
		empty = false
		w, err = tx.findInWorkspace(ws)
		return w.id != "", err
	})
	tx.batch.room.lineEmpty = empty && err == nil
	return w, err
}

func (tx *Tx) findInWorkspace(ws string) (w waiter, err error) {
	_, from := tx.s.turn.last(ws)
	next := func(c cursor) (string, error) {
		if !c.set {
			return tx.FirstKey(tx.ctx, ws)
		}
		return tx.NextKey(tx.ctx, gen.NextKeyParams{WorkspaceID: ws, After: c.value})
	}
	err = rotate(from, next, func(key string) (bool, error) {
		id, err := tx.oldestOfKey(ws, key)
		w = waiter{ws, key, id}
		return id != "", err
	})
	return w, err
}

// oldestOfKey finds the oldest queued run of a key whose flow has room. It
// looks at one row per flow, however many are queued.
func (tx *Tx) oldestOfKey(ws, key string) (oldest string, err error) {
	at := gen.NextFlowParams{WorkspaceID: ws, KeyID: key}
	for {
		r, err := tx.NextFlow(tx.ctx, at)
		if isNoRows(err) {
			return oldest, nil
		}
		if err != nil {
			return "", err
		}
		at.FlowID, at.AfterID = r.FlowID, lastID
		if oldest != "" && r.ID > oldest {
			continue
		}
		k := flowKey{ws, r.FlowID}
		limits, err := tx.flowLimits(k)
		if err != nil {
			return "", err
		}
		ok, err := tx.below(flowBound{limit: 1 << 62}, flowBound{flowKey{ws, ""}, limits.AllRunning}, flowBound{k, limits.MaxRunning})
		if err != nil {
			return "", err
		}
		if ok {
			oldest = r.ID
		}
	}
}

func (tx *Tx) nextWorkspace(c cursor) (string, error) { return tx.NextWorkspace(tx.ctx, c.value) }

// cursor is a value to go on after; unset it is the very beginning.
type cursor struct {
	value string
	set   bool
}

// rotate visits the values that next finds, beginning after start and going
// round once, until visit says that it is done.
func rotate(start cursor, next func(cursor) (string, error), visit func(string) (bool, error)) error {
	at, wrapped := start, !start.set
	for {
		v, err := next(at)
		if isNoRows(err) {
			if wrapped {
				return nil
			}
			wrapped, at = true, cursor{}
			continue
		}
		if err != nil {
			return err
		}
		if done, err := visit(v); done || err != nil {
			return err
		}
		if wrapped && start.set && v == start.value {
			return nil
		}
		at = cursor{v, true}
	}
}
