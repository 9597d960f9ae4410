package core

import (
	"slices"

	"github.com/jackc/pgx/v5"

	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
	"sluice/flow/sorting"
)

// countBefore counts the admitted runs, unless a recent count is known. It runs
// before the progress is applied, whose effect on the count is added in memory.
func (t *set) countBefore(b *pgx.Batch) {
	if n, known := t.tx.Store.Live.admitted(); known {
		t.tx.Batch.Counts.admitted[FlowKey{}] = n
		return
	}
	b.Queue("SELECT count(*) FROM runs WHERE place = 2 AND place > 0").QueryRow(func(row pgx.Row) error {
		var n int64
		err := row.Scan(&n)
		t.tx.Store.Live.setAdmitted(n)
		t.tx.Batch.Counts.admitted[FlowKey{}] = n
		return err
	})
}

// queueProgress adds the statement that updates the runs in progress.
func (t *set) queueProgress(b *pgx.Batch) {
	var rows [][]any
	byID := map[string]*member{}
	leaving := false
	for _, m := range t.members {
		if p, ok := m.set.(*runWrite); ok {
			rows = append(rows, updateRuns.row(p.row))
			byID[string(p.row.ID)] = m
			m.err = dbconn.ErrFenced // unless the statement returns the row
			leaving = leaving || p.row.Place != PlaceWorker
		}
	}
	if len(rows) == 0 {
		return
	}
	b.Queue(updateRuns.sql, updateRuns.args(rows)...).Query(func(found pgx.Rows) error {
		defer found.Close()
		for found.Next() {
			var id string
			var cancel, stop int64
			var a releasedRow
			if err := found.Scan(&id, &cancel, &stop, &a.webhook); err != nil {
				return err
			}
			m := byID[id]
			a.cancel = cancel != 0 || m.set.(*runWrite).missedStop(stop)
			m.err = nil
			t.progress, t.released = append(t.progress, m), append(t.released, a)
			delete(byID, id)
		}
		return found.Err()
	})
	if leaving {
		b.Queue("SELECT EXISTS (SELECT FROM runs WHERE place = 1 AND place > 0)").QueryRow(func(row pgx.Row) error {
			var queued bool
			err := row.Scan(&queued)
			t.tx.Batch.Counts.queueEmpty = !queued
			return err
		})
	}
}

// limitsOfFlows is FindFlowLimits for many flows.
const limitsOfFlows = `SELECT f.workspace_id, f.id, f.max_running, f.max_queued, f.runs_per_day, f.usd_per_day, f.allow_unpriced, w.max_running, w.max_queued,
	w.quota_bytes, w.quota_flows, w.quota_runs, f.live_version, f.archived_at, f.slug
FROM flows f JOIN workspaces w ON w.id = f.workspace_id
WHERE f.id = ANY($1)`

// queueLimits adds the query of the limits of all flows involved.
func (t *set) queueLimits(b *pgx.Batch) {
	var flows []string
	for _, m := range t.members {
		switch w := m.set.(type) {
		case *StartWrite:
			flows = append(flows, string(w.Row.FlowID))
		case *runWrite:
			if w.row.Place != PlaceWorker {
				flows = append(flows, string(w.run.FlowID))
			}
		}
	}
	if len(flows) == 0 {
		return
	}
	sorting.Strings(flows)
	b.Queue(limitsOfFlows, slices.Compact(flows)).Query(func(rows pgx.Rows) error {
		defer rows.Close()
		for rows.Next() {
			var k FlowKey
			var l flowLimits
			err := rows.Scan(&k.ws, &k.flow, &l.MaxRunning, &l.MaxQueued, &l.RunsPerDay, &l.UsdPerDay, &l.AllowUnpriced, &l.AllRunning, &l.AllQueued,
				&l.QuotaBytes, &l.QuotaFlows, &l.QuotaRuns, &l.LiveVersion, &l.ArchivedAt, &l.Slug)
			if err != nil {
				return err
			}
			t.tx.cacheLimits(k, l)
		}
		return rows.Err()
	})
}

// queueKeys adds the query of the keys that starts were checked with.
func (t *set) queueKeys(b *pgx.Batch) {
	var ids []string
	for _, m := range t.members {
		if w, ok := m.set.(*StartWrite); ok && w.N.Key != nil && w.N.Key.Recent {
			ids = append(ids, w.N.Key.ID)
		}
	}
	if len(ids) == 0 {
		return
	}
	sorting.Strings(ids)
	b.Queue("SELECT "+keyColumns+" FROM keys WHERE id = ANY($1)", slices.Compact(ids)).Query(func(rows pgx.Rows) error {
		keys, err := pgx.CollectRows(rows, pgx.RowToStructByPos[gen.Key])
		for _, r := range keys {
			k := KeyOf(r)
			t.tx.Batch.Counts.keys[k.ID] = &k
		}
		return err
	})
}

// queueClaims adds the statement that claims the idempotency keys of the starts.
func (t *set) queueClaims(b *pgx.Batch) {
	t.claimed = map[flow.RunID]bool{}
	now := t.tx.Store.Config.Now()
	var rows [][]any
	taken := map[[2]string]bool{}
	for _, m := range t.members {
		w, ok := m.set.(*StartWrite)
		if !ok {
			continue
		}
		name := [2]string{string(w.Row.WorkspaceID), w.N.IdempotencyKey}
		switch {
		case w.N.IdempotencyKey == "":
		case taken[name]:
			m.err = errNotInSet // the same request twice in this set
		default:
			taken[name] = true
			rows = append(rows, []any{name[0], name[1], w.N.Fingerprint, string(w.Row.ID), dbconn.Micros(now), dbconn.Micros(now.Add(claimLife(w.N)))})
		}
	}
	if len(rows) == 0 {
		return
	}
	args := append(arrays(claimColumns, rows), dbconn.Micros(now.Add(-flow.IdempotencyLife)))
	b.Queue(claimIdempotency, args...).Query(func(found pgx.Rows) error {
		ids, err := pgx.CollectRows(found, pgx.RowTo[flow.RunID])
		for _, id := range ids {
			t.claimed[id] = true
		}
		return err
	})
}
