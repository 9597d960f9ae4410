package core

import (
	"database/sql"
	"fmt"
	"slices"
	"sync"

	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
)

// admit hands up to limit queued runs to workers while there are free slots and
// returns their number. It picks them one by one, and on PostgreSQL all at once if
// the front of the queue was read.
func (tx *Tx) admit(limit int) (n int, err error) {
	counts := &tx.Batch.Counts
	if tx.Store.QueueOrNil() == nil || counts.queueEmpty {
		return 0, nil
	}
	atOnce := 1
	if tx.Store.IsPostgres() {
		if ok, err := tx.prepareAdmission(limit); !ok {
			return 0, err
		}
		if tx.front != nil {
			defer func() { tx.front = nil }()
			atOnce = limit
		}
	}
	for n < limit && !counts.queueEmpty {
		picked, err := tx.pick(min(atOnce, limit-n))
		if err != nil || len(picked) == 0 {
			return n, err
		}
		assigned, err := tx.assignToWorkers(picked)
		n += assigned
		if err != nil || assigned == 0 {
			return n, err
		}
	}
	return n, nil
}

// pick chooses the next queued runs in round-robin order and counts them as
// admitted.
func (tx *Tx) pick(limit int) (picked []queuedRun, err error) {
	for len(picked) < limit {
		r, err := tx.nextQueued()
		if err != nil || r.id == "" {
			return picked, err
		}
		tx.Batch.Counts.apply(move{r.ws, r.flow, placeQueue, PlaceWorker})
		tx.Store.roundRobin.advance(r)
		tx.front = slices.DeleteFunc(tx.front, func(o queuedRun) bool { return o == r })
		picked = append(picked, r)
	}
	return picked, nil
}

// assignToWorkers assigns picked runs to workers and creates the job of their next attempt. It
// skips runs that were canceled in the meantime.
func (tx *Tx) assignToWorkers(picked []queuedRun) (n int, err error) {
	ids, holders, busy := make([]string, len(picked)), make([]string, len(picked)), make([]int64, len(picked))
	for i, r := range picked {
		ids[i], holders[i] = string(r.id), tx.ReserveWorker()
		busy[i] = tx.BusyAt(holders[i])
	}
	attempts, err := tx.moveToWorkers(ids, holders, busy)
	if err != nil {
		err = fmt.Errorf("admit %d runs: %w", len(ids), err)
	}
	for i, r := range picked {
		attempt, ok := attempts[string(r.id)]
		if !ok {
			tx.ReturnWorker(holders[i])
			tx.Batch.Counts.apply(move{r.ws, r.flow, PlaceWorker, placeQueue})
			continue
		}
		tx.Batch.moves = append(tx.Batch.moves, move{r.ws, r.flow, placeQueue, PlaceWorker})
		tx.HandRun(flow.Job{Kind: flow.JobRun, ID: string(r.id), Attempt: attempt}, holders[i])
		n++
	}
	return n, err
}

// moveToWorkers moves queued runs to their holders and returns the new attempt
// number of each run that was still queued.
func (tx *Tx) moveToWorkers(ids, holders []string, busy []int64) (attempts map[string]int64, err error) {
	attempts = map[string]int64{}
	if tx.Store.IsPostgres() {
		rows, err := tx.DBTX.QueryContext(tx.Ctx, admitRunsQuery, ids, holders, busy)
		_, err = dbconn.Collect(rows, err, func(rows *sql.Rows) (none struct{}, err error) {
			var id string
			var attempt int64
			err = rows.Scan(&id, &attempt)
			attempts[id] = attempt
			return none, err
		})
		return attempts, err
	}
	for i, id := range ids {
		r, err := tx.Queries.MoveRun(tx.Ctx, gen.MoveRunParams{ID: flow.RunID(id), FromPlace: placeQueue, Place: PlaceWorker, InstanceID: holders[i], Busy: busy[i]})
		switch {
		case err == nil:
			attempts[id] = r.Attempt
		case IsDamage(err): // another run ends or starts in this transaction, and must not fail
			return attempts, &rowError{"runs", id, admitTask, err}
		case !dbconn.IsNoRows(err):
			return attempts, err
		}
	}
	return attempts, nil
}

// roundRobin remembers which workspace, and which key in each workspace, was
// served last. It is kept in memory only; after a restart the order starts over.
type roundRobin struct {
	mu        sync.Mutex
	workspace cursor
	keys      map[flow.WorkspaceID]cursor
}

// advance records whose run was admitted. The search for the next one begins after it.
func (t *roundRobin) advance(w queuedRun) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.keys == nil {
		t.keys = map[flow.WorkspaceID]cursor{}
	}
	t.workspace, t.keys[w.ws] = cursor{string(w.ws), true}, cursor{w.key, true}
}

// last returns the positions after which the next workspace and, within ws, the next
// key are looked for.
func (t *roundRobin) last(ws flow.WorkspaceID) (workspace, key cursor) {
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
	err = rotate(from, tx.nextWorkspace, func(ws flow.WorkspaceID) (bool, error) {
		empty = false
		w, err = tx.findInWorkspace(ws)
		return w.id != "", err
	})
	tx.Batch.Counts.queueEmpty = empty && err == nil
	return w, err
}

// findInWorkspace returns the oldest admissible run of the next key in turn.
func (tx *Tx) findInWorkspace(ws flow.WorkspaceID) (w queuedRun, err error) {
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
func (tx *Tx) oldestOfKey(ws flow.WorkspaceID, key string) (oldest queuedRun, err error) {
	at := gen.NextFlowParams{WorkspaceID: ws, KeyID: key}
	for {
		r, err := tx.nextFlow(at)
		if dbconn.IsNoRows(err) {
			return oldest, nil
		}
		if err != nil {
			return queuedRun{}, err
		}
		if _, damaged := tx.Store.damage.runs.Load(r.ID); damaged {
			at.FlowID, at.AfterID = string(r.FlowID), string(r.ID) // the next one of this flow
			continue
		}
		at.FlowID, at.AfterID = string(r.FlowID), dbconn.LastID
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
func rotate[V ~string](start cursor, next func(cursor) (V, error), visit func(V) (bool, error)) error {
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
		if wrapped && start.set && string(v) == start.value {
			return nil
		}
		at = cursor{string(v), true}
	}
}
