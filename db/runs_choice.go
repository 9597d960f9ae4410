package db

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"sluice/flow"
)

// A list of runs is narrowed by any of state, flow, version, key and trigger,
// and the newest are wanted first. One index serves all of it: runs_list holds
// these columns in this order, and then the ID.
//
// Runs that are alike in all five are a group, and lie side by side in the
// index, by ID. There are few groups, however many runs. They are walked with
// one step into the index for each; those that were not chosen are passed over,
// and of the others only the ones with the newest runs are read. So what a list
// costs depends on how many groups there are, but neither on how many runs are
// chosen nor on how many would have to be passed over to find them.
//
// Most lists need not even that, as what they want is among the newest runs of
// all; these are looked at first.

// glance is how many of the newest runs are looked at first.
const glance = 400

// chosen is a choice of runs in terms of the index.
type chosen struct {
	ws        string
	states    []string
	equal     map[string]any // by column, among grouped
	low, high string         // IDs from low to below high
	oldest    bool           // the oldest come first, to walk back to newer pages
}

// grouped are the columns of the index between state and ID.
var grouped = []string{"flow_id", "version", "key_id", "run_trigger"}

// group is one of the groups.
type group struct {
	state   string
	flow    string
	version int64
	key     string
	trigger string
	head    string // the run that comes first
}

// values stand in the order of grouped.
func (g *group) values() []any { return []any{g.flow, g.version, g.key, g.trigger} }

var allStates = []flow.RunState{
	flow.RunQueued, flow.RunRunning, flow.RunWaiting, flow.RunSucceeded, flow.RunFailed, flow.RunCanceled,
}

func chosenBy(c *flow.RunChoice) chosen {
	states := c.States
	if len(states) == 0 {
		states = allStates
	}
	k := chosen{ws: c.WorkspaceID, low: flow.PrefixRun, high: lastID, oldest: c.After != "", equal: map[string]any{}}
	k.states = mapRows(slices.Compact(slices.Sorted(slices.Values(states))), func(s flow.RunState) string { return string(s) })
	for column, value := range map[string]string{"flow_id": c.FlowID, "key_id": c.KeyID, "run_trigger": string(c.Trigger)} {
		if value != "" {
			k.equal[column] = value
		}
	}
	switch {
	case c.Draft:
		k.equal["version"] = int64(0)
	case c.Version > 0:
		k.equal["version"] = c.Version
	}
	k.between(c.From, c.Until)
	k.beside(c.Before, c.After)
	return k
}

// between narrows to a time, as IDs begin with theirs.
func (k *chosen) between(from, until time.Time) {
	if !from.IsZero() {
		k.low = max(k.low, flow.FirstID(flow.PrefixRun, from))
	}
	if !until.IsZero() {
		k.high = min(k.high, flow.FirstID(flow.PrefixRun, until))
	}
}

// beside narrows to what is older than one ID and newer than another.
func (k *chosen) beside(before, after string) {
	if before != "" {
		k.high = min(k.high, before)
	}
	if after != "" {
		k.low = max(k.low, after+"0") // the least that is greater
	}
}

// order is how IDs are sorted.
func (k *chosen) order() string {
	if k.oldest {
		return "ASC"
	}
	return "DESC"
}

// chooseRuns gives the IDs of the first n chosen runs, in order.
func (s *Store) chooseRuns(ctx context.Context, k *chosen, n int) ([]string, error) {
	ids, all, err := s.glanceRuns(ctx, k, n)
	if err != nil || all || len(ids) == n {
		return ids, err
	}
	groups, err := s.runGroups(ctx, k, n)
	if err != nil || len(groups) == 0 {
		return nil, err
	}
	if len(groups) == n { // so many are not further than the head of the last
		k = k.upTo(groups[n-1].head)
	}
	q := k.armsQuery(groups, n)
	return collect(ctx, s.reads(), q, func(rows *sql.Rows) (id string, err error) {
		return id, rows.Scan(&id)
	})
}

// upTo is the same choice up to an ID, in the order of the walk.
func (k chosen) upTo(id string) *chosen {
	if k.oldest {
		k.high = min(k.high, id+"0")
	} else {
		k.low = max(k.low, id)
	}
	return &k
}

// glanceRuns looks at the newest runs of all; all tells that there are no others.
func (s *Store) glanceRuns(ctx context.Context, k *chosen, n int) (ids []string, all bool, err error) {
	size := max(glance, 2*n)
	type seen struct {
		id  string
		hit int
	}
	rows, err := collect(ctx, s.reads(), k.glanceQuery(size), func(rows *sql.Rows) (r seen, err error) {
		return r, rows.Scan(&r.id, &r.hit)
	})
	for _, r := range rows {
		if r.hit == 1 && len(ids) < n {
			ids = append(ids, r.id)
		}
	}
	return ids, len(rows) < size, err
}

// runGroups gives the n groups that have the first runs.
func (s *Store) runGroups(ctx context.Context, k *chosen, n int) ([]group, error) {
	return collect(ctx, s.reads(), k.groupsQuery(n), func(rows *sql.Rows) (g group, err error) {
		return g, rows.Scan(&g.state, &g.flow, &g.version, &g.key, &g.trigger, &g.head)
	})
}

// collect runs a query that was made at run time and reads all its rows.
func collect[T any](ctx context.Context, db reads, q *query, read func(*sql.Rows) (T, error)) (list []T, err error) {
	rows, err := db.QueryContext(ctx, q.text.String(), q.args...)
	if err != nil {
		return nil, fmt.Errorf("choose runs: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		row, err := read(rows)
		if err != nil {
			return nil, fmt.Errorf("read chosen runs: %w", err)
		}
		list = append(list, row)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read chosen runs: %w", err)
	}
	return list, nil
}
