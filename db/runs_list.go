package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/db/lists"
	"sluice/flow"
)

// ListRunRows returns a page of the chosen runs, newest first. A page of newer
// runs that would not be full is the first page instead.
func (s Runs) ListRunRows(ctx context.Context, c flow.RunChoice) (flow.RunPage, error) {
	k := chosenBy(&c)
	found := search{DB: s.DB, chosen: &k, text: c.Text, time: c.SearchTime}
	ids, err := found.first(ctx, c.Limit+1)
	if err != nil {
		return flow.RunPage{}, err
	}
	more := len(ids) > c.Limit
	if c.After != "" && !more && found.reached == "" {
		c.After = ""
		return s.ListRunRows(ctx, c)
	}
	p := flow.RunPage{Looked: found.looked, More: found.reached != "", Reached: flow.TimeOfID(flow.PrefixRun, found.reached)}
	if p.Rows, err = s.runRows(ctx, ids[:min(len(ids), c.Limit)]); err != nil {
		return p, err
	}
	return marked(p, &c, more, found.reached), nil
}

// marked says where the pages beside a page go on.
func marked(p flow.RunPage, c *flow.RunChoice, more bool, reached string) flow.RunPage {
	at := lists.Cursors{Before: c.Before, After: c.After, More: more, Reached: reached}
	if n := len(p.Rows); n > 0 {
		at.Newest, at.Oldest = p.Rows[0].ID, p.Rows[n-1].ID
	}
	p.Newer, p.Older = at.Beside()
	return p
}

// ListRuns returns the chosen runs with all they hold, newest first.
func (s Runs) ListRuns(ctx context.Context, f flow.RunFilter) ([]flow.Run, error) {
	k := chosenBy(&flow.RunChoice{
		WorkspaceID: f.WorkspaceID, FlowID: f.FlowID, KeyID: f.KeyID, States: f.States,
		From: f.CreatedAfter, Until: f.CreatedBefore, Before: f.BeforeID,
	})
	ids, err := s.chooseRuns(ctx, &k, f.Limit)
	if err != nil {
		return nil, err
	}
	runs := make([]flow.Run, 0, len(ids))
	for _, id := range ids {
		r, err := core.FindRun(ctx, s.Reads, f.WorkspaceID, "", id)
		switch {
		case errors.Is(err, &flow.Error{Code: flow.CodeNotFound}): // dropped meanwhile
		case err != nil:
			return nil, fmt.Errorf("read %s: %w", id, err)
		default:
			runs = append(runs, *r)
		}
	}
	return runs, nil
}

// rowColumns are what a row of a list is made of; none of them is large.
const rowColumns = "id, flow_id, version, draft, state, run_trigger, key_id, user_id, input_tokens, output_tokens, cost_nano_usd, " +
	"progress_done, progress_total, created_at, started_at, ended_at, erased, gist, error"

// runRows reads rows by their IDs, and gives them newest first.
func (s Runs) runRows(ctx context.Context, ids []string) ([]flow.RunRow, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	q := &lists.Query{}
	q.Add("SELECT ", rowColumns, " FROM runs WHERE id IN ", q.List(ids))
	rows, err := lists.Collect(ctx, s.DB, q, readRunRow)
	slices.SortFunc(rows, func(a, b flow.RunRow) int { return dbconn.CompareTexts(b.ID, a.ID) })
	return rows, err
}

func readRunRow(rows *sql.Rows) (flow.RunRow, error) {
	var r gen.Run
	err := rows.Scan(&r.ID, &r.FlowID, &r.Version, &r.Draft, &r.State, &r.RunTrigger, &r.KeyID, &r.UserID, &r.InputTokens, &r.OutputTokens, &r.CostNanoUsd,
		&r.ProgressDone, &r.ProgressTotal, &r.CreatedAt, &r.StartedAt, &r.EndedAt, &r.Erased, &r.Gist, &r.Error)
	if err != nil {
		return flow.RunRow{}, err
	}
	row := flow.RunRow{
		ID: r.ID, FlowID: r.FlowID, Version: r.Version, Draft: r.Draft != 0, State: flow.RunState(r.State), Trigger: flow.Trigger(r.RunTrigger),
		KeyID: r.KeyID, UserID: r.UserID,
		Usage:     flow.Usage{InputTokens: r.InputTokens, OutputTokens: r.OutputTokens, CostNanoUSD: r.CostNanoUsd},
		Progress:  flow.Progress{Done: int(r.ProgressDone), Total: int(r.ProgressTotal)},
		CreatedAt: dbconn.TimeOf(r.CreatedAt), StartedAt: dbconn.TimeOf(r.StartedAt), EndedAt: dbconn.TimeOf(r.EndedAt), Erased: flow.Code(r.Erased), Gist: r.Gist,
	}
	failure, err := dbconn.Decode[*flow.Error](r.Error)
	if failure != nil {
		row.ErrorCode = failure.Code
	}
	return row, err
}
