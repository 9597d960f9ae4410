package core

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
	"sluice/flow/sorting"
)

// quotaLock is the class of the PostgreSQL advisory locks, one for each
// workspace, under which a quota is checked.
const quotaLock = 0x536c7571

// storageEntry is a change to the storage of a workspace.
type storageEntry struct {
	ws flow.WorkspaceID
	flow.Storage
}

// TrackStorage adds to the storage of a workspace, or subtracts if d is negative.
func (tx *Tx) TrackStorage(ws flow.WorkspaceID, d flow.Storage) {
	if d != (flow.Storage{}) {
		tx.Batch.storage = append(tx.Batch.storage, storageEntry{ws, d})
	}
}

// TrackBytes is TrackStorage for bytes only.
func (tx *Tx) TrackBytes(ws flow.WorkspaceID, n int64) { tx.TrackStorage(ws, flow.Storage{Bytes: n}) }

// TrackWithinQuota is TrackStorage followed by CheckQuota. Call it last in a write
// function: on PostgreSQL a workspace with a quota is locked from here to the
// commit, so that concurrent writes cannot exceed the quota. Workspaces without a
// quota are not locked.
func (tx *Tx) TrackWithinQuota(ws flow.WorkspaceID, d flow.Storage) error {
	tx.TrackStorage(ws, d)
	return tx.CheckQuota(ws, d)
}

// CheckQuota returns an error if growth that was counted with TrackStorage exceeds
// the quota of the workspace.
func (tx *Tx) CheckQuota(ws flow.WorkspaceID, growth flow.Storage) error {
	limit, err := tx.quota(ws)
	if err != nil || limit == (flow.Storage{}) {
		return err
	}
	used, err := tx.stored(ws)
	if err != nil {
		return err
	}
	for _, e := range tx.Batch.storage {
		if e.ws == ws {
			used = used.Add(e.Storage)
		}
	}
	if refusal := limit.Exceeded(used, growth); refusal != nil {
		return refusal
	}
	return nil
}

// quota returns the effective quota of the workspace.
func (tx *Tx) quota(ws flow.WorkspaceID) (flow.Storage, error) {
	r := &tx.Batch.Counts
	if limit, ok := r.Quotas[ws]; ok {
		return limit, nil
	}
	own, err := tx.Queries.FindQuota(tx.Ctx, ws)
	if err != nil {
		return flow.Storage{}, dbconn.NotFoundErr(err, "workspace")
	}
	r.Quotas[ws] = flow.Storage(own).WithDefaults(ws, tx.Store.Config.Quota)
	return r.Quotas[ws], nil
}

// stored returns the committed storage of the workspace. On PostgreSQL it first
// locks the quota of the workspace.
func (tx *Tx) stored(ws flow.WorkspaceID) (flow.Storage, error) {
	r := &tx.Batch.Counts
	if used, ok := r.stored[ws]; ok {
		return used, nil
	}
	if tx.Store.IsPostgres() {
		if _, err := tx.DBTX.ExecContext(tx.Ctx, "SELECT pg_advisory_xact_lock($1, hashtext($2))", quotaLock, ws); err != nil {
			return flow.Storage{}, fmt.Errorf("lock quota: %w", err)
		}
	}
	row, err := tx.Queries.FindStorage(tx.Ctx, ws)
	if err != nil {
		return flow.Storage{}, fmt.Errorf("read storage: %w", err)
	}
	r.stored[ws] = flow.Storage(row)
	return r.stored[ws], nil
}

// storageSums adds up the changes of the batch by workspace, in a fixed order,
// so that transactions cannot deadlock.
func (b *batch) storageSums() (sums []storageEntry) {
	sorting.By(b.storage, func(a, b storageEntry) int { return strings.Compare(string(a.ws), string(b.ws)) })
	for _, e := range b.storage {
		if n := len(sums); n > 0 && sums[n-1].ws == e.ws {
			sums[n-1].Storage = sums[n-1].Add(e.Storage)
		} else {
			sums = append(sums, e)
		}
	}
	return slices.DeleteFunc(sums, func(e storageEntry) bool { return e.Storage == flow.Storage{} })
}

// addToFreeShard is AddStorage for PostgreSQL: it adds to a counter row that no
// other transaction has locked, or to a new row, so that it never waits. There are
// as many rows as there were concurrent transactions. SQLite has one writer and
// needs one row.
const addToFreeShard = `WITH free AS (
	SELECT shard FROM storage WHERE workspace_id = $1 ORDER BY shard LIMIT 1 FOR UPDATE SKIP LOCKED
), added AS (
	UPDATE storage AS s SET bytes = s.bytes + $2, flows = s.flows + $3, runs = s.runs + $4
	FROM free WHERE s.workspace_id = $1 AND s.shard = free.shard RETURNING 1
)
INSERT INTO storage (workspace_id, shard, bytes, flows, runs)
SELECT $1, $5, $2, $3, $4 WHERE NOT EXISTS (SELECT FROM added)
ON CONFLICT (workspace_id, shard) DO UPDATE
SET bytes = storage.bytes + excluded.bytes, flows = storage.flows + excluded.flows, runs = storage.runs + excluded.runs`

// flushStorage stores the sums of all members.
func (tx *Tx) flushStorage() error {
	for _, e := range tx.Batch.storageSums() {
		if tx.Store.IsPostgres() {
			if _, err := tx.DBTX.ExecContext(tx.Ctx, addToFreeShard, e.ws, e.Bytes, e.Flows, e.Runs, rand.Int64()); err != nil {
				return err
			}
			continue
		}
		if err := tx.Queries.AddStorage(tx.Ctx, gen.AddStorageParams{WorkspaceID: e.ws, Bytes: e.Bytes, Flows: e.Flows, Runs: e.Runs}); err != nil {
			return err
		}
	}
	return nil
}

// sizesOf reads Run.Sizes of a stored run.
func sizesOf(ctx context.Context, q *gen.Queries, runID flow.RunID) (map[string]int64, error) {
	result, err := q.SizeResult(ctx, runID)
	if err != nil && !dbconn.IsNoRows(err) {
		return nil, fmt.Errorf("size of %s: %w", runID, err)
	}
	steps, err := q.SizeSteps(ctx, runID)
	if err != nil {
		return nil, fmt.Errorf("size of the steps of %s: %w", runID, err)
	}
	sizes := make(map[string]int64, len(steps)+1)
	sizes[""] = result
	for _, st := range steps {
		sizes[st.Path] = st.Bytes
	}
	return sizes, nil
}

// sizeOfStart returns the bytes of a new run that count towards a quota.
func sizeOfStart(r *gen.InsertRunParams) int64 {
	return int64(len(r.Gist) + len(r.Metadata) + len(r.Inputs))
}
