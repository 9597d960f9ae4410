package db

import (
	"slices"
	"strconv"
	"strings"

	"sluice/db/dbconn"
	"sluice/db/lists"
	"sluice/flow"
)

// equals returns the conditions on columns whose value is given.
func (f *runFilter) equals(q *lists.Query) (text string) {
	for _, c := range slices.Concat(walkColumns, []string{"version"}) {
		if v, ok := f.equal[c]; ok {
			text += " AND " + c + " = " + q.Arg(v)
		}
	}
	if f.roots {
		text += " AND run_trigger NOT IN " + q.List(hiddenTriggers)
	}
	return text
}

// hiddenTriggers are those of runs that lists show only if they are asked for: child runs and work runs.
var hiddenTriggers = dbconn.MapRows(append(slices.Clone(flow.WorkTriggers), flow.TriggerFlow), func(t flow.Trigger) string { return string(t) })

// span returns the condition on the ID.
func (f *runFilter) span(q *lists.Query) string {
	return "id >= " + q.Arg(f.Low) + " AND id < " + q.Arg(f.High)
}

// newestQuery reads the first runs of all workspaces and marks those that match.
func (f *runFilter) newestQuery(size int) *lists.Query {
	q := &lists.Query{}
	q.Add("SELECT id, CASE WHEN workspace_id = ", q.Arg(f.ws), " AND state IN ", q.List(f.states), f.equals(q), " THEN 1 ELSE 0 END FROM runs WHERE ",
		f.span(q), lists.Undamaged("runs", "runs"), " ORDER BY id ", f.Order(), " LIMIT ", q.Arg(size))
	return q
}

// openQuery reads the open runs of the workspace. It reads all of them before
// sorting: otherwise PostgreSQL may scan all runs backward by ID if its statistics
// suggest that an open run comes early.
func (f *runFilter) openQuery(n int) *lists.Query {
	q := &lists.Query{}
	q.Add("WITH open AS MATERIALIZED (SELECT id", f.openRuns(q), ") SELECT id FROM open ORDER BY id ", f.Order(), " LIMIT ", q.Arg(n))
	return q
}

// failedQuery reads the failed runs of the workspace. The order begins with the workspace, because only the
// index runs_failed has that order; PostgreSQL may otherwise scan all runs by ID.
func (f *runFilter) failedQuery(n int) *lists.Query {
	q := &lists.Query{}
	q.Add("SELECT id FROM runs WHERE place = 0 AND state = 'failed' AND workspace_id = ", q.Arg(f.ws), f.equals(q), " AND ", f.span(q), lists.Undamaged("runs", "runs"),
		" ORDER BY workspace_id ", f.Order(), ", id ", f.Order(), " LIMIT ", q.Arg(n))
	return q
}

// countOpenQuery is countQuery for open runs. It reads at most the given number.
func (f *runFilter) countOpenQuery(most int) *lists.Query {
	q := &lists.Query{}
	q.Add("SELECT 0, version, count(*) FROM (SELECT version", f.openRuns(q), " LIMIT ", q.Arg(most), ") AS open GROUP BY version")
	return q
}

// openRuns returns the FROM and WHERE clauses for open runs. SQLite uses a partial
// index only if the query contains its condition, place > 0.
func (f *runFilter) openRuns(q *lists.Query) string {
	return " FROM runs WHERE place IN (1, 2, 3, 4) AND place > 0 AND workspace_id = " + q.Arg(f.ws) + f.equals(q) +
		" AND state IN " + q.List(f.statesEnded(false)) + " AND " + f.span(q) + lists.Undamaged("runs", "runs")
}

// groupsQuery walks the levels and returns the groups with the first runs.
func (f *runFilter) groupsQuery(n int, postgres bool) *lists.Query {
	q := &lists.Query{}
	ws, columns := q.Arg(f.ws), strings.Join(groupColumns, ", ")
	level := f.walk(q, ws)
	q.Add(", heads AS MATERIALIZED (SELECT ", columns, ", (", f.firstRuns(q, "id", ws, lists.Refs("l.", groupColumns), "1", postgres), ") AS head FROM ", level, ")",
		" SELECT ", columns, ", head FROM heads WHERE head IS NOT NULL ORDER BY head ", f.Order(), " LIMIT ", q.Arg(n))
	return q
}

// walk writes a common table expression for each level, named after its column,
// and returns the last level as l. The rows of a level are the values of its
// column and of all columns above. A column that has no next value is NULL.
func (f *runFilter) walk(q *lists.Query, ws string) (last string) {
	q.Add("WITH RECURSIVE state_level(state) AS (")
	for i, state := range f.statesEnded(true) {
		if i > 0 {
			q.Add(" UNION ALL ")
		}
		q.Add("SELECT CAST(", q.Arg(state), " AS TEXT)")
	}
	q.Add(")")
	last = "state_level l"
	for i, c := range walkColumns {
		above := groupColumns[:i+1]
		level := c + "_level"
		q.Add(", ", level, "(", lists.Joined("", above), ", ", c, ") AS (SELECT ", lists.Joined("l.", above), ", ")
		if v, ok := f.equal[c]; ok {
			q.Add(given(c, q.Arg(v)), " FROM ", last, ")")
		} else {
			q.Add(nextValue(ws, above, c, ""), " FROM ", last,
				" UNION ALL SELECT ", lists.Joined("l.", above), ", ", nextValue(ws, above, c, "l."+c), " FROM ", level, " l WHERE l.", c, " IS NOT NULL)")
		}
		last = level + " l WHERE l." + c + " IS NOT NULL"
		if c == "run_trigger" && f.roots {
			last += " AND l.run_trigger NOT IN " + q.List(hiddenTriggers)
		}
	}
	return last
}

// given returns an argument with the type of its column.
func given(column, name string) string {
	if column == "draft" {
		return "CAST(" + name + " AS BIGINT)"
	}
	return "CAST(" + name + " AS TEXT)"
}

// nextValue selects the first value of a column below a level, or the next value
// after the given one.
func nextValue(ws string, above []string, column, after string) string {
	text := "(SELECT r." + column + " FROM runs r WHERE r.place = 0 AND r.workspace_id = " + ws
	for _, c := range above {
		text += " AND r." + c + " = l." + c
	}
	if after != "" {
		text += " AND r." + column + " > " + after
	}
	return text + " ORDER BY r." + column + " LIMIT 1)"
}

// firstRuns selects a column of the first runs of a group. values are in the order
// of groupColumns.
//
// On PostgreSQL the query sorts in an order that only the index runs_ended has. To
// sort by ID only, PostgreSQL may choose the primary key and scan all runs backward
// if its statistics suggest that the group is large. PostgreSQL stops an index scan
// only at bounds of single columns, so an outer query applies the far end of the
// span. SQLite would use only the key ID of the row comparison.
func (f *runFilter) firstRuns(q *lists.Query, selected, ws string, values []string, limit string, postgres bool) string {
	from, to, beyond, within, same := q.Arg(f.High), q.Arg(f.Low), "<", ">=", ">="
	if f.Oldest {
		from, to, beyond, within, same = to, from, ">=", "<", "<="
	}
	last := len(groupColumns) - 1
	text := " FROM runs r WHERE r.place = 0 AND r.workspace_id = " + ws
	for i, c := range groupColumns[:last] {
		text += " AND r." + c + " = " + values[i]
	}
	if v, ok := f.equal["version"]; ok {
		text += " AND r.version = " + q.Arg(v)
	}
	column, value := "r."+groupColumns[last], values[last]
	if !postgres {
		return "SELECT r." + selected + text + " AND " + column + " = " + value + " AND r.id " + beyond + " " + from + " AND r.id " + within + " " + to + " ORDER BY r.id " + f.Order() + " LIMIT " + limit
	}
	return "SELECT r." + selected + " FROM (SELECT r.id, r.version" + text + " AND " + column + " " + same + " " + value + " AND (" + column + ", r.id) " + beyond + " (" + value + ", " + from + ") ORDER BY " +
		column + " " + f.Order() + ", r.id " + f.Order() + " LIMIT " + limit + ") AS r WHERE r.id " + within + " " + to
}

// armsQuery merges the first runs of each group.
func (f *runFilter) armsQuery(groups []group, n int, postgres bool) *lists.Query {
	q := &lists.Query{}
	q.Add("SELECT id FROM (")
	f.arms(q, "id", groups, n, postgres)
	q.Add(") AS arms ORDER BY id ", f.Order(), " LIMIT ", q.Arg(n))
	return q
}

// countQuery counts the runs of each version in each group, at most the given
// number per group.
func (f *runFilter) countQuery(groups []group, most int, postgres bool) *lists.Query {
	q := &lists.Query{}
	q.Add("SELECT arm, version, count(*) FROM (")
	f.arms(q, "version", groups, most, postgres)
	q.Add(") AS arms GROUP BY arm, version")
	return q
}

// arms selects the number of each group with a column of its first runs. SQLite
// has no lateral joins, so the query has one subquery per group there. PostgreSQL
// plans one subquery for all groups.
func (f *runFilter) arms(q *lists.Query, selected string, groups []group, n int, postgres bool) {
	ws, limit := q.Arg(f.ws), q.Arg(n)
	if postgres {
		q.Add("SELECT g.arm, a.", selected, " FROM (")
	}
	for i, g := range groups {
		if i > 0 {
			q.Add(" UNION ALL ")
		}
		q.Add("SELECT ", strconv.Itoa(i), " AS arm, ")
		values := dbconn.MapRows(g.values, q.Arg)
		if !postgres {
			q.Add(selected, " FROM (", f.firstRuns(q, selected, ws, values, limit, false), ")")
			continue
		}
		for j, c := range groupColumns {
			values[j] = given(c, values[j]) + " AS " + c
		}
		q.Add(strings.Join(values, ", "))
	}
	if postgres {
		q.Add(") AS g CROSS JOIN LATERAL (", f.firstRuns(q, selected, ws, lists.Refs("g.", groupColumns), limit, true), ") AS a")
	}
}
