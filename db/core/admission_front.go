package core

import (
	"cmp"
	"database/sql"
	"fmt"
	"slices"
	"sort"

	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
)

// On PostgreSQL each statement is a round trip, and an admission makes its
// statements while all other instances wait for the lock. Therefore a
// transaction reads the front of the queue with one statement, picks runs in
// memory, and moves any number of them with a second statement.

// frontGroups is the number of groups of queued runs, one per key and flow, that
// are read at once. If there are more groups, each pick queries the database.
const frontGroups = 100

// frontQuery jumps from group to group along the index runs_open and takes the
// oldest runs of each group.
const frontQuery = `
WITH RECURSIVE groups AS (
	(SELECT workspace_id, key_id, flow_id FROM runs WHERE place = 1 AND place > 0
	 ORDER BY workspace_id, key_id, flow_id, id LIMIT 1)
	UNION ALL
	SELECT next.* FROM groups g, LATERAL (
		SELECT workspace_id, key_id, flow_id FROM runs
		WHERE place = 1 AND place > 0 AND (workspace_id, key_id, flow_id) > (g.workspace_id, g.key_id, g.flow_id)
		ORDER BY workspace_id, key_id, flow_id, id LIMIT 1) next)
SELECT g.workspace_id, g.key_id, g.flow_id, r.id
FROM (SELECT * FROM groups LIMIT $1) g, LATERAL (
	SELECT id FROM runs
	WHERE place = 1 AND place > 0 AND workspace_id = g.workspace_id AND key_id = g.key_id AND flow_id = g.flow_id
	ORDER BY id LIMIT $2) r`

// admitRunsQuery moves queued runs to their new holders. A run that was canceled
// in the meantime is not in the result.
const admitRunsQuery = `
UPDATE runs SET place = 2, attempt = attempt + 1, instance_id = u.holder, busy = u.busy
FROM unnest($1::text[], $2::text[], $3::bigint[]) AS u(id, holder, busy)
WHERE runs.id = u.id AND runs.place = 1
RETURNING runs.id, runs.attempt`

// queuedRun is a queued run and the workspace, key and flow it belongs to.
type queuedRun struct{ ws, key, flow, id string }

func compareQueued(a, b queuedRun) int {
	return cmp.Or(cmp.Compare(a.ws, b.ws), cmp.Compare(a.key, b.key), cmp.Compare(a.flow, b.flow), cmp.Compare(a.id, b.id))
}

// queueFront is a sorted copy of the oldest queued runs of each group.
type queueFront []queuedRun

// after returns the first run that sorts after w, or sql.ErrNoRows.
func (f queueFront) after(w queuedRun) (queuedRun, error) {
	i := sort.Search(len(f), func(i int) bool { return compareQueued(f[i], w) > 0 })
	if i == len(f) {
		return queuedRun{}, sql.ErrNoRows
	}
	return f[i], nil
}

// admitMany is admit on PostgreSQL. It takes the admission lock only if there is
// a queued run and a free slot.
func (tx *Tx) admitMany(limit int) (int, error) {
	capacity, err := tx.capacity()
	if err != nil {
		return 0, err
	}
	if ok, err := tx.underLimits(flowBound{FlowKey{}, capacity}); !ok {
		return 0, err
	}
	if !tx.Batch.Counts.locked {
		if _, err := tx.NextWorkspace(tx.Ctx, ""); err != nil { // no need to lock
			if tx.Batch.Counts.queueEmpty = dbconn.IsNoRows(err); tx.Batch.Counts.queueEmpty {
				err = nil
			}
			return 0, err
		}
		if err := tx.lockAdmission(); err != nil {
			return 0, err
		}
	}
	if tx.front, err = tx.readFront(limit); err != nil {
		return 0, fmt.Errorf("read the queue: %w", err)
	}
	defer func() { tx.front = nil }()
	if tx.front != nil {
		return tx.admitNext(limit)
	}
	for n := 0; n < limit; n++ {
		if one, err := tx.admitNext(1); one == 0 || err != nil {
			return n, err
		}
	}
	return limit, nil
}

// admitNext picks up to limit runs and hands them to workers.
func (tx *Tx) admitNext(limit int) (int, error) {
	picked, err := tx.pick(limit)
	if err != nil || len(picked) == 0 {
		return 0, err
	}
	return tx.handMany(picked)
}

// readFront returns the front of the queue, or nil if it has too many groups.
func (tx *Tx) readFront(runs int) (queueFront, error) {
	rows, err := tx.DBTX.QueryContext(tx.Ctx, frontQuery, frontGroups, runs)
	groups := map[queuedRun]bool{}
	f, err := dbconn.Collect(rows, err, func(rows *sql.Rows) (r queuedRun, err error) {
		err = rows.Scan(&r.ws, &r.key, &r.flow, &r.id)
		groups[queuedRun{r.ws, r.key, r.flow, ""}] = true
		return r, err
	})
	if err != nil || len(groups) == frontGroups {
		return nil, err
	}
	slices.SortFunc(f, compareQueued)
	return append(queueFront{}, f...), nil // empty is not nil: the queue was read
}

// pick chooses the next queued runs in round-robin order and counts them as
// admitted.
func (tx *Tx) pick(limit int) (picked []queuedRun, err error) {
	for len(picked) < limit {
		w, err := tx.nextQueued()
		if err != nil || w.id == "" {
			return picked, err
		}
		tx.Batch.Counts.apply(move{w.ws, w.flow, placeQueue, PlaceWorker})
		tx.Store.roundRobin.served(w)
		tx.front = slices.DeleteFunc(tx.front, func(o queuedRun) bool { return o == w })
		picked = append(picked, w)
	}
	return picked, nil
}

// handMany hands picked runs to workers: the next attempt of each begins.
func (tx *Tx) handMany(picked []queuedRun) (n int, err error) {
	ids, holders, busy := make([]string, len(picked)), make([]string, len(picked)), make([]int64, len(picked))
	for i, w := range picked {
		ids[i], holders[i] = w.id, tx.ReserveWorker()
		busy[i] = tx.BusyAt(holders[i])
	}
	attempts, err := tx.moveMany(ids, holders, busy)
	if err != nil {
		return 0, fmt.Errorf("admit %d runs: %w", len(ids), err)
	}
	for i, w := range picked {
		attempt, ok := attempts[w.id]
		if !ok { // it was canceled
			tx.ReturnWorker(holders[i])
			tx.Batch.Counts.apply(move{w.ws, w.flow, PlaceWorker, placeQueue})
			continue
		}
		tx.Batch.moves = append(tx.Batch.moves, move{w.ws, w.flow, placeQueue, PlaceWorker})
		tx.HandRun(flow.Job{Kind: flow.JobRun, ID: w.id, Attempt: attempt}, holders[i])
		n++
	}
	return n, nil
}

// moveMany moves queued runs to their holders and returns the new attempt number
// of each run that was still queued.
func (tx *Tx) moveMany(ids, holders []string, busy []int64) (map[string]int64, error) {
	rows, err := tx.DBTX.QueryContext(tx.Ctx, admitRunsQuery, ids, holders, busy)
	attempts := map[string]int64{}
	_, err = dbconn.Collect(rows, err, func(rows *sql.Rows) (none struct{}, err error) {
		var id string
		var attempt int64
		err = rows.Scan(&id, &attempt)
		attempts[id] = attempt
		return none, err
	})
	return attempts, err
}

// The following methods find the next group in the queue front if it was read,
// and otherwise in the database.

func (tx *Tx) nextWorkspace(c cursor) (string, error) {
	if tx.front == nil {
		return tx.NextWorkspace(tx.Ctx, c.value)
	}
	w, err := tx.front.after(queuedRun{ws: c.value, key: dbconn.LastID})
	return w.ws, err
}

func (tx *Tx) nextKey(ws string, c cursor) (string, error) {
	switch {
	case tx.front != nil:
		from := queuedRun{ws: ws, key: c.value}
		if c.set {
			from.flow = dbconn.LastID
		}
		w, err := tx.front.after(from)
		if err == nil && w.ws != ws {
			err = sql.ErrNoRows
		}
		return w.key, err
	case !c.set:
		return tx.FirstKey(tx.Ctx, ws)
	}
	return tx.NextKey(tx.Ctx, gen.NextKeyParams{WorkspaceID: ws, After: c.value})
}

func (tx *Tx) nextFlow(at gen.NextFlowParams) (gen.NextFlowRow, error) {
	if tx.front == nil {
		return tx.NextFlow(tx.Ctx, at)
	}
	w, err := tx.front.after(queuedRun{at.WorkspaceID, at.KeyID, at.FlowID, at.AfterID})
	if err == nil && (w.ws != at.WorkspaceID || w.key != at.KeyID) {
		err = sql.ErrNoRows
	}
	return gen.NextFlowRow{FlowID: w.flow, ID: w.id}, err
}
