package core

import (
	"sync"

	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
)

// admit hands up to limit queued runs to workers while there are free slots and
// returns their number.
func (tx *Tx) admit(limit int) (n int, err error) {
	if tx.Store.QueueOrNil() == nil || tx.Batch.Counts.queueEmpty {
		return 0, nil
	}
	if tx.Store.pool != nil {
		return tx.admitMany(limit)
	}
	for n < limit && !tx.Batch.Counts.queueEmpty {
		next, err := tx.nextQueued()
		if err != nil || next.id == "" {
			return n, err
		}
		ok, err := tx.hand(next.id, placeQueue)
		if err != nil {
			return n, err
		}
		tx.Store.roundRobin.served(next)
		n += int(dbconn.BoolInt(ok))
	}
	return n, nil
}

// hand gives a run to a worker: its next attempt begins, with a job of its own.
// It reports false if the run is no longer in the given place.
func (tx *Tx) hand(runID string, from int64) (bool, error) {
	holder := tx.ReserveWorker()
	r, err := tx.MoveRun(tx.Ctx, gen.MoveRunParams{ID: runID, FromPlace: from, Place: PlaceWorker, InstanceID: holder, Busy: tx.BusyAt(holder)})
	if err != nil {
		tx.ReturnWorker(holder)
	}
	if dbconn.IsNoRows(err) {
		return false, nil // another transaction moved it first
	}
	if err != nil {
		return false, err
	}
	tx.Moved(r.WorkspaceID, r.FlowID, from, PlaceWorker)
	tx.HandRun(flow.Job{Kind: flow.JobRun, ID: runID, Attempt: r.Attempt}, holder)
	return true, nil
}

// roundRobin remembers which workspace, and which key in each workspace, was
// served last. It is kept in memory only; after a restart the order starts over.
type roundRobin struct {
	mu        sync.Mutex
	workspace cursor
	keys      map[string]cursor
}

func (t *roundRobin) served(w queuedRun) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.keys == nil {
		t.keys = map[string]cursor{}
	}
	t.workspace, t.keys[w.ws] = cursor{w.ws, true}, cursor{w.key, true}
}

func (t *roundRobin) last(ws string) (workspace, key cursor) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.workspace, t.keys[ws]
}

// nextQueued returns the next queued run in round-robin order whose flow and
// workspace have a free slot, or an empty queuedRun.
func (tx *Tx) nextQueued() (w queuedRun, err error) {
	limit, err := tx.capacity()
	if err != nil {
		return w, err
	}
	if ok, err := tx.underLimits(flowBound{FlowKey{}, limit}); !ok {
		return w, err
	}
	return tx.findQueued()
}

// findQueued is nextQueued once the capacity was checked.
func (tx *Tx) findQueued() (w queuedRun, err error) {
	from, _ := tx.Store.roundRobin.last("")
	empty := true
	err = rotate(from, tx.nextWorkspace, func(ws string) (bool, error) {
		empty = false
		w, err = tx.findInWorkspace(ws)
		return w.id != "", err
	})
	tx.Batch.Counts.queueEmpty = empty && err == nil
	return w, err
}

// findInWorkspace returns the oldest admissible run of the next key in turn.
func (tx *Tx) findInWorkspace(ws string) (w queuedRun, err error) {
	_, from := tx.Store.roundRobin.last(ws)
	next := func(c cursor) (string, error) { return tx.nextKey(ws, c) }
	err = rotate(from, next, func(key string) (bool, error) {
		w, err = tx.oldestOfKey(ws, key)
		return w.id != "", err
	})
	return w, err
}

// oldestOfKey finds the oldest queued run of a key whose flow has a free slot. It
// reads one row per flow, however many runs are queued.
func (tx *Tx) oldestOfKey(ws, key string) (oldest queuedRun, err error) {
	at := gen.NextFlowParams{WorkspaceID: ws, KeyID: key}
	for {
		r, err := tx.nextFlow(at)
		if dbconn.IsNoRows(err) {
			return oldest, nil
		}
		if err != nil {
			return queuedRun{}, err
		}
		at.FlowID, at.AfterID = r.FlowID, dbconn.LastID
		if oldest.id != "" && r.ID > oldest.id {
			continue
		}
		k := FlowKey{ws, r.FlowID}
		limits, err := tx.FlowLimits(k)
		if err != nil {
			return queuedRun{}, err
		}
		ok, err := tx.underLimits(flowBound{limit: 1 << 62}, flowBound{FlowKey{ws, ""}, limits.AllRunning}, flowBound{k, limits.MaxRunning})
		if err != nil {
			return queuedRun{}, err
		}
		if ok {
			oldest = queuedRun{ws, key, r.FlowID, r.ID}
		}
	}
}

// cursor is the value after which to continue. If it is not set, the walk starts
// at the first value.
type cursor struct {
	value string
	set   bool
}

// rotate calls visit for each value that next finds, starting after start and
// wrapping around once, until visit reports true.
func rotate(start cursor, next func(cursor) (string, error), visit func(string) (bool, error)) error {
	at, wrapped := start, !start.set
	for {
		v, err := next(at)
		if dbconn.IsNoRows(err) {
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
