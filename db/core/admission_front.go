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
type queuedRun struct {
	ws   flow.WorkspaceID
	key  string
	flow flow.FlowID
	id   flow.RunID
}

// compareQueued orders queued runs as the index of the queue does: by workspace, key,
// flow and ID. IDs begin with their time, so within a flow the oldest comes first.
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

// prepareAdmission takes the admission lock and reads the front of the queue. It
// reports false if there is no free slot or no queued run, without taking the lock.
func (tx *Tx) prepareAdmission(limit int) (bool, error) {
	capacity, err := tx.capacity()
	if err != nil {
		return false, err
	}
	if ok, err := tx.underLimits(flowBound{FlowKey{}, capacity}); !ok {
		return false, err
	}
	if !tx.Batch.Counts.locked {
		if _, err := tx.Queries.NextWorkspace(tx.Ctx, ""); err != nil {
			if tx.Batch.Counts.queueEmpty = dbconn.IsNoRows(err); tx.Batch.Counts.queueEmpty {
				err = nil
			}
			return false, err
		}
		if err := tx.lockAdmission(); err != nil {
			return false, err
		}
	}
	if tx.front, err = tx.readFront(limit); err != nil {
		return false, fmt.Errorf("read the queue: %w", err)
	}
	return true, nil
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

// The following methods find the next group in the queue front if it was read,
// and otherwise in the database.

// nextWorkspace returns the first workspace after the cursor that has queued runs, or
// sql.ErrNoRows. It looks in the front in memory if the batch has one, or else in the index.
func (tx *Tx) nextWorkspace(c cursor) (flow.WorkspaceID, error) {
	if tx.front == nil {
		return tx.Queries.NextWorkspace(tx.Ctx, flow.WorkspaceID(c.value))
	}
	w, err := tx.front.after(queuedRun{ws: flow.WorkspaceID(c.value), key: dbconn.LastID})
	return w.ws, err
}

// nextKey returns the first key after the cursor that has queued runs in a workspace, or
// sql.ErrNoRows. The empty key stands for runs without one.
func (tx *Tx) nextKey(ws flow.WorkspaceID, c cursor) (string, error) {
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
		return tx.Queries.FirstKey(tx.Ctx, ws)
	}
	return tx.Queries.NextKey(tx.Ctx, gen.NextKeyParams{WorkspaceID: ws, After: c.value})
}

// nextFlow returns the first queued run after a position within the runs of one key, or
// sql.ErrNoRows.
func (tx *Tx) nextFlow(at gen.NextFlowParams) (gen.NextFlowRow, error) {
	if tx.front == nil {
		return tx.Queries.NextFlow(tx.Ctx, at)
	}
	w, err := tx.front.after(queuedRun{at.WorkspaceID, at.KeyID, flow.FlowID(at.FlowID), flow.RunID(at.AfterID)})
	if err == nil && (w.ws != at.WorkspaceID || w.key != at.KeyID) {
		err = sql.ErrNoRows
	}
	return gen.NextFlowRow{FlowID: w.flow, ID: w.id}, err
}
