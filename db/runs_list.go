package db

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/lists"
	"sluice/flow"
	"sluice/flow/sorting"
)

// ListRunRows returns a page of the runs that match, newest first. If a page of
// newer runs would not be full, it returns the first page instead.
func (s *Runs) ListRunRows(ctx context.Context, c flow.RunQuery) (flow.RunPage, error) {
	read := func(ctx context.Context) (flow.RunPage, error) {
		return core.ReadRows(ctx, s.DB, "runs", func(ctx context.Context) (flow.RunPage, error) { return s.listRunRows(ctx, c) })
	}
	if c.Text != "" {
		return read(ctx)
	}
	return core.FromReplica(ctx, s.DB, read)
}

// listRunRows is ListRunRows, which fails if a row cannot be read before its ID is known.
func (s *Runs) listRunRows(ctx context.Context, c flow.RunQuery) (flow.RunPage, error) {
	k := newRunFilter(&c)
	search := lists.Search{
		Span: &k.Span, Until: time.Now().Add(cmp.Or(c.SearchTime, searchTime)), Match: s.matchText(c.Text),
		Next: func(ctx context.Context, n int) ([]string, error) { return s.filterRuns(ctx, &k, n) },
	}
	ids, err := search.First(ctx, c.Limit+1)
	if err != nil {
		return flow.RunPage{}, err
	}
	more := len(ids) > c.Limit
	if c.After != "" && !more && search.Reached == "" {
		c.After = ""
		return s.listRunRows(ctx, c)
	}
	p := flow.RunPage{Looked: search.Looked, More: search.Reached != "", Reached: flow.TimeOfID(flow.PrefixRun, search.Reached)}
	if p.Rows, err = s.runRows(ctx, ids[:min(len(ids), c.Limit)]); err != nil {
		return p, err
	}
	at := lists.Cursors{Before: c.Before, After: c.After, More: more, Reached: search.Reached}
	if n := len(p.Rows); n > 0 {
		at.Newest, at.Oldest = string(p.Rows[0].ID), string(p.Rows[n-1].ID)
	}
	p.Newer, p.Older = at.Neighbors()
	return p, nil
}

// ListRuns returns the runs that match with all their content, newest first.
func (s *Runs) ListRuns(ctx context.Context, f flow.RunFilter) ([]flow.Run, error) {
	return core.FromReplica(ctx, s.DB, func(ctx context.Context) ([]flow.Run, error) { return s.listRuns(ctx, f) })
}

func (s *Runs) listRuns(ctx context.Context, f flow.RunFilter) ([]flow.Run, error) {
	k := newRunFilter(&flow.RunQuery{
		WorkspaceID: f.WorkspaceID, FlowID: f.FlowID, KeyID: f.KeyID, Trigger: f.Trigger, States: f.States,
		From: f.CreatedAfter, Until: f.CreatedBefore, Before: f.BeforeID,
	})
	ids, err := core.ReadRows(ctx, s.DB, "runs", func(ctx context.Context) ([]string, error) { return s.filterRuns(ctx, &k, f.Limit) })
	if err != nil {
		return nil, err
	}
	runs := make([]flow.Run, 0, len(ids))
	for _, id := range ids {
		r, err := core.ReadRow(ctx, s.DB, func(ctx context.Context) (*flow.Run, error) {
			return core.ReadRun(ctx, s.DB.Reads, f.WorkspaceID, "", flow.RunID(id))
		})
		switch {
		case flow.IsNotFound(err): // deleted in the meantime
		case core.IsDamage(err):
			s.DB.Config.Log.Error("a run that cannot be read is missing in a list", "run", id, "error", err)
		case err != nil:
			return nil, fmt.Errorf("read %s: %w", id, err)
		default:
			runs = append(runs, *r)
		}
	}
	return runs, nil
}

// runRows reads runs without their content by their IDs, and returns them newest first.
func (s *Runs) runRows(ctx context.Context, ids []string) ([]flow.Run, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	rows, err := lists.CollectRows(ctx, s.DB, ids, func(ids []string) *lists.Query {
		q := &lists.Query{}
		q.Add("SELECT ", core.RunHeadColumns, " FROM runs WHERE id IN ", q.List(ids))
		return q
	}, core.ScanRunHead)
	sorting.By(rows, func(a, b flow.Run) int { return dbconn.CompareTexts(string(b.ID), string(a.ID)) })
	return rows, err
}
