package db

import (
	"context"
	"database/sql"
	"slices"

	"sluice/db/dbconn"
	"sluice/db/lists"
	"sluice/flow"
)

// A list of runs can be narrowed by any combination of state, trigger, flow,
// key and version or draft, and shows the newest runs first. Two indexes serve all
// combinations:
//
//   - runs_open holds the runs that have not ended. There are few, so all of a
//     workspace are read.
//   - runs_ended holds the runs that have ended, by the columns in grouped and
//     then by ID. A run enters it once, at its end, so it costs a start nothing.
//
// Runs that are equal in all grouped columns form a group: a range of
// runs_ended in which the newest run comes last. A list walks the groups level
// by level, one column at a time. A level whose column is given is one step
// into the index; any other level is a step for each distinct value. The page
// is then merged from the groups with the newest runs. The cost depends on how
// many groups there are, and not on how many runs are chosen or passed over.
//
// Versions would make many more groups. They stand behind the ID: a list of one
// version passes over the runs of the others in its groups, in the index alone.
//
// Most lists find their page among the newest runs of all, which are looked at
// first.

// chosen is a choice of runs in terms of the indexes.
type chosen struct {
	lists.Span
	ws     string
	states []string
	equal  map[string]any // by column, among walked and version
}

// walked are the columns of runs_ended between state and ID. Those that are
// most often given, or have the fewest values, come first.
var walked = []string{"draft", "run_trigger", "flow_id", "key_id"}

// grouped are all columns of runs_ended between workspace_id and id.
var grouped = slices.Concat([]string{"state"}, walked)

// group is one of the groups.
type group struct {
	values []any  // in the order of grouped
	head   string // the run that comes first
}

var allStates = []flow.RunState{
	flow.RunQueued, flow.RunRunning, flow.RunWaiting, flow.RunSucceeded, flow.RunFailed, flow.RunCanceled,
}

func chosenBy(c *flow.RunChoice) chosen {
	states := c.States
	if len(states) == 0 {
		states = allStates
	}
	k := chosen{ws: c.WorkspaceID, Span: lists.SpanOf(flow.PrefixRun, c.After != ""), equal: map[string]any{}}
	k.states = dbconn.MapRows(slices.Compact(slices.Sorted(slices.Values(states))), func(s flow.RunState) string { return string(s) })
	for column, value := range map[string]string{"flow_id": c.FlowID, "key_id": c.KeyID, "run_trigger": string(c.Trigger)} {
		if value != "" {
			k.equal[column] = value
		}
	}
	switch {
	case c.Draft:
		k.equal["draft"] = int64(1)
	case c.Version > 0:
		k.equal["draft"], k.equal["version"] = int64(0), c.Version
	}
	k.Between(c.From, c.Until)
	k.Beside(c.Before, c.After)
	return k
}

// statesThat returns the chosen states that are final, or those that are not.
func (k *chosen) statesThat(ended bool) (list []string) {
	for _, s := range k.states {
		if flow.RunState(s).Ended() == ended {
			list = append(list, s)
		}
	}
	return list
}

// chooseRuns returns the IDs of the first n chosen runs, in order.
func (s Runs) chooseRuns(ctx context.Context, k *chosen, n int) ([]string, error) {
	ids, all, err := s.glanceRuns(ctx, k, n)
	if err != nil || all || len(ids) == n {
		return ids, err
	}
	// Open runs are read before ended ones, so that a run that ends meanwhile is
	// found twice rather than not at all.
	if ids, err = s.openRuns(ctx, k, n); err != nil {
		return nil, err
	}
	ended, err := s.endedRuns(ctx, k, n)
	if err != nil {
		return nil, err
	}
	return k.merge(ids, ended, n), nil
}

// merge returns the first n of both lists, in order and without duplicates.
func (k *chosen) merge(open, ended []string, n int) []string {
	ids := slices.Concat(open, ended)
	slices.SortFunc(ids, func(a, b string) int {
		if k.Oldest {
			return dbconn.CompareTexts(a, b)
		}
		return dbconn.CompareTexts(b, a)
	})
	ids = slices.Compact(ids)
	return ids[:min(n, len(ids))]
}

// glanceRuns looks at the newest runs of all; all tells that there are no others.
func (s Runs) glanceRuns(ctx context.Context, k *chosen, n int) (ids []string, all bool, err error) {
	size := max(lists.Glance, 2*n)
	type seen struct {
		id  string
		hit int
	}
	rows, err := lists.Collect(ctx, s.DB, k.glanceQuery(size), func(rows *sql.Rows) (r seen, err error) {
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
func (s Runs) openRuns(ctx context.Context, k *chosen, n int) ([]string, error) {
	if len(k.statesThat(false)) == 0 {
		return nil, nil
	}
	return lists.Collect(ctx, s.DB, k.openQuery(n), dbconn.ScanText)
}

// endedRuns returns the first n chosen runs that have ended.
func (s Runs) endedRuns(ctx context.Context, k *chosen, n int) ([]string, error) {
	groups, err := s.runGroups(ctx, k, n)
	if err != nil || len(groups) == 0 {
		return nil, err
	}
	if len(groups) == n { // so many are not further than the head of the last
		k = k.upTo(groups[n-1].head)
	}
	return lists.Collect(ctx, s.DB, k.armsQuery(groups, n, s.Pool() != nil), dbconn.ScanText)
}

// upTo is the same choice up to an ID, in the order of the walk.
func (k chosen) upTo(id string) *chosen {
	if k.Oldest {
		k.High = min(k.High, id+"0")
	} else {
		k.Low = max(k.Low, id)
	}
	return &k
}

// runGroups returns the n groups that have the first runs.
func (s Runs) runGroups(ctx context.Context, k *chosen, n int) ([]group, error) {
	if len(k.statesThat(true)) == 0 {
		return nil, nil
	}
	return lists.Collect(ctx, s.DB, k.groupsQuery(n, s.Pool() != nil), func(rows *sql.Rows) (g group, err error) {
		var state, trigger, flow, key string
		var draft int64
		err = rows.Scan(&state, &draft, &trigger, &flow, &key, &g.head)
		g.values = []any{state, draft, trigger, flow, key}
		return g, err
	})
}
