package db

import (
	"context"
	"database/sql"
	"slices"

	"sluice/db/dbconn"
	"sluice/db/lists"
	"sluice/flow"
	"sluice/flow/sorting"
)

// A list of runs can be narrowed by any combination of state, trigger, flow,
// key and version or draft, and shows the newest runs first. Two indexes serve all
// combinations:
//
//   - runs_open holds the runs that have not ended. There are few, so all of a
//     workspace are read.
//   - runs_ended holds the runs that have ended, by the columns in groupColumns and
//     then by ID. A run enters it once, at its end, so starts do not pay for it.
//
// Runs that are equal in all groupColumns columns form a group: a range of
// runs_ended in which the newest run comes last. A list walks the groups level
// by level, one column at a time. A level whose column is given is one step
// into the index; any other level is a step for each distinct value. The page
// is then merged from the groups with the newest runs. The cost depends on how
// many groups there are, and not on how many runs are chosen or passed over.
//
// Grouping by version as well would make many more groups. The version comes after
// the ID in the index: a list of one version skips the runs of other versions in
// its groups, without reading the table.
//
// Failed runs of all flows are read from runs_failed, which only they enter.
//
// Most lists find their page among the newest runs of all, which are read first.

// runFilter is a flow.RunQuery in terms of the indexes.
type runFilter struct {
	lists.Span
	ws     flow.WorkspaceID
	states []string
	equal  map[string]any // given values by column: walkColumns and version
	roots  bool           // without child runs and work runs
}

// walkColumns are the columns of runs_ended between state and ID. Columns that are
// often given, or have few values, come first.
var walkColumns = []string{"draft", "run_trigger", "flow_id", "key_id"}

// groupColumns are all columns of runs_ended between workspace_id and id.
var groupColumns = slices.Concat([]string{"state"}, walkColumns)

// group is a set of runs that are equal in groupColumns.
type group struct {
	values []any  // in the order of groupColumns
	head   string // ID of its first run in the order of the list
}

// allStates are the states that a filter without states selects. The state is the first
// column of a group, so the query needs its values.
var allStates = []flow.RunState{
	flow.RunQueued, flow.RunRunning, flow.RunWaiting, flow.RunSucceeded, flow.RunFailed, flow.RunCanceled,
}

// newRunFilter converts a choice.
func newRunFilter(c *flow.RunQuery) runFilter {
	states := c.States
	if len(states) == 0 {
		states = allStates
	}
	f := runFilter{ws: c.WorkspaceID, Span: lists.SpanOf(flow.PrefixRun, c.After != ""), equal: map[string]any{}, roots: c.Trigger == ""}
	f.states = dbconn.MapRows(slices.Compact(slices.Sorted(slices.Values(states))), func(s flow.RunState) string { return string(s) })
	for column, value := range map[string]string{"flow_id": string(c.FlowID), "key_id": c.KeyID, "run_trigger": string(c.Trigger)} {
		if value != "" {
			f.equal[column] = value
		}
	}
	switch {
	case c.Draft:
		f.equal["draft"] = int64(1)
	case c.Version > 0:
		f.equal["draft"], f.equal["version"] = int64(0), c.Version
	}
	f.Between(c.From, c.Until)
	f.Bound(c.Before, c.After)
	return f
}

// statesEnded returns the chosen states that are final, or those that are not.
func (f *runFilter) statesEnded(ended bool) (list []string) {
	for _, s := range f.states {
		if flow.RunState(s).Ended() == ended {
			list = append(list, s)
		}
	}
	return list
}

// filterRuns returns the IDs of the first n runs that match, in order.
func (s *Runs) filterRuns(ctx context.Context, f *runFilter, n int) ([]string, error) {
	ids, all, err := s.newestRuns(ctx, f, n)
	if err != nil || all || len(ids) == n {
		return ids, err
	}
	// Open runs are read before ended ones, so that a run that ends meanwhile is
	// found twice rather than not at all.
	if ids, err = s.openRuns(ctx, f, n); err != nil {
		return nil, err
	}
	ended, err := s.endedRuns(ctx, f, n)
	if err != nil {
		return nil, err
	}
	return f.merge(ids, ended, n), nil
}

// merge returns the first n of both lists, in order and without duplicates.
func (f *runFilter) merge(open, ended []string, n int) []string {
	ids := slices.Concat(open, ended)
	sorting.By(ids, func(a, b string) int {
		if f.Oldest {
			return dbconn.CompareTexts(a, b)
		}
		return dbconn.CompareTexts(b, a)
	})
	ids = slices.Compact(ids)
	return ids[:min(n, len(ids))]
}

// newestRuns searches the newest runs of all workspaces. all reports that there are
// no other runs.
func (s *Runs) newestRuns(ctx context.Context, f *runFilter, n int) (ids []string, all bool, err error) {
	size := max(lists.NewestRows, 2*n)
	type seen struct {
		id  string
		hit int
	}
	rows, err := lists.Collect(ctx, s.DB, f.newestQuery(size), func(rows *sql.Rows) (r seen, err error) {
		return r, rows.Scan(&r.id, &r.hit)
	})
	for _, r := range rows {
		if r.hit == 1 && len(ids) < n {
			ids = append(ids, r.id)
		}
	}
	return ids, len(rows) < size, err
}

// openRuns returns the first n chosen runs that have not ended.
func (s *Runs) openRuns(ctx context.Context, f *runFilter, n int) ([]string, error) {
	if len(f.statesEnded(false)) == 0 {
		return nil, nil
	}
	return lists.Collect(ctx, s.DB, f.openQuery(n), dbconn.ScanText)
}

// endedRuns returns the first n chosen runs that have ended.
func (s *Runs) endedRuns(ctx context.Context, f *runFilter, n int) ([]string, error) {
	if f.onlyFailed() {
		return lists.Collect(ctx, s.DB, f.failedQuery(n), dbconn.ScanText)
	}
	groups, err := s.runGroups(ctx, f, n)
	if err != nil || len(groups) == 0 {
		return nil, err
	}
	if len(groups) == n { // the heads alone are n runs, so later runs are not needed
		f = f.upTo(groups[n-1].head)
	}
	return lists.Collect(ctx, s.DB, f.armsQuery(groups, n, s.DB.IsPostgres()), dbconn.ScanText)
}

// onlyFailed reports whether the failed runs of all flows and keys are chosen. They have an index of their own,
// because there are as many groups of them as pairs of flows and keys.
func (f *runFilter) onlyFailed() bool {
	ended := f.statesEnded(true)
	return len(ended) == 1 && ended[0] == string(flow.RunFailed) && len(f.equal) == 0
}

// upTo returns the filter limited to runs up to an ID, in the order of the list.
func (f runFilter) upTo(id string) *runFilter {
	if f.Oldest {
		f.High = min(f.High, id+"0")
	} else {
		f.Low = max(f.Low, id)
	}
	return &f
}

// runGroups returns the n groups with the first runs.
func (s *Runs) runGroups(ctx context.Context, f *runFilter, n int) ([]group, error) {
	if len(f.statesEnded(true)) == 0 {
		return nil, nil
	}
	return lists.Collect(ctx, s.DB, f.groupsQuery(n, s.DB.IsPostgres()), func(rows *sql.Rows) (g group, err error) {
		var state, trigger, flow, key string
		var draft int64
		err = rows.Scan(&state, &draft, &trigger, &flow, &key, &g.head)
		g.values = []any{state, draft, trigger, flow, key}
		return g, err
	})
}
