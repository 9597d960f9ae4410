package db

import (
	"slices"
	"strconv"
	"strings"

	"sluice/db/dbconn"
	"sluice/db/lists"
)

// equals are conditions on the columns whose value is given.
func (k *chosen) equals(q *lists.Query) (text string) {
	for _, c := range slices.Concat(walked, []string{"version"}) {
		if v, ok := k.equal[c]; ok {
			text += " AND " + c + " = " + q.Arg(v)
		}
	}
	return text
}

// span is the range of IDs.
func (k *chosen) span(q *lists.Query) string {
	return "id >= " + q.Arg(k.Low) + " AND id < " + q.Arg(k.High)
}

// glanceQuery reads the first runs of all and marks those that are chosen.
func (k *chosen) glanceQuery(size int) *lists.Query {
	q := &lists.Query{}
	q.Add("SELECT id, CASE WHEN workspace_id = ", q.Arg(k.ws), " AND state IN ", q.List(k.states), k.equals(q), " THEN 1 ELSE 0 END FROM runs WHERE ",
		k.span(q), " ORDER BY id ", k.Order(), " LIMIT ", q.Arg(size))
	return q
}

// openQuery reads the open runs of the workspace. All are read before they are
// sorted: PostgreSQL would otherwise walk back over all runs there are if its
// statistics promise an open one soon.
func (k *chosen) openQuery(n int) *lists.Query {
	q := &lists.Query{}
	q.Add("WITH open AS MATERIALIZED (SELECT id", k.openRuns(q), ") SELECT id FROM open ORDER BY id ", k.Order(), " LIMIT ", q.Arg(n))
	return q
}

// countOpenQuery is as countQuery, for open runs, of which it reads so many.
func (k *chosen) countOpenQuery(most int) *lists.Query {
	q := &lists.Query{}
	q.Add("SELECT 0, version, count(*) FROM (SELECT version", k.openRuns(q), " LIMIT ", q.Arg(most), ") AS open GROUP BY version")
	return q
}

// openRuns is what follows the columns that are selected from open runs. SQLite
// uses a partial index only if its condition is in the query, so place > 0 is.
func (k *chosen) openRuns(q *lists.Query) string {
	return " FROM runs WHERE place IN (1, 2, 3, 4) AND place > 0 AND workspace_id = " + q.Arg(k.ws) + k.equals(q) +
		" AND state IN " + q.List(k.statesThat(false)) + " AND " + k.span(q)
}

// groupsQuery walks the groups and returns those with the first runs.
func (k *chosen) groupsQuery(n int, postgres bool) *lists.Query {
	q := &lists.Query{}
	ws, columns := q.Arg(k.ws), strings.Join(grouped, ", ")
	level := k.walk(q, ws)
	q.Add(", heads AS MATERIALIZED (SELECT ", columns, ", (", k.firstRuns(q, "id", ws, lists.Refs("l.", grouped), "1", postgres), ") AS head FROM ", level, ")",
		" SELECT ", columns, ", head FROM heads WHERE head IS NOT NULL ORDER BY head ", k.Order(), " LIMIT ", q.Arg(n))
	return q
}

// walk writes a common table expression for each level, named after its column,
// and returns the last level as l. The rows of a level are the values of its
// column and of all columns above. A column that has no next value is NULL.
func (k *chosen) walk(q *lists.Query, ws string) (last string) {
	q.Add("WITH RECURSIVE state_level(state) AS (")
	for i, state := range k.statesThat(true) {
		if i > 0 {
			q.Add(" UNION ALL ")
		}
		q.Add("SELECT CAST(", q.Arg(state), " AS TEXT)")
	}
	q.Add(")")
	last = "state_level l"
	for i, c := range walked {
		above := grouped[:i+1]
		level := c + "_level"
		q.Add(", ", level, "(", lists.Joined("", above), ", ", c, ") AS (SELECT ", lists.Joined("l.", above), ", ")
		if v, ok := k.equal[c]; ok {
			q.Add(given(c, q.Arg(v)), " FROM ", last, ")")
		} else {
			q.Add(nextValue(ws, above, c, ""), " FROM ", last,
				" UNION ALL SELECT ", lists.Joined("l.", above), ", ", nextValue(ws, above, c, "l."+c), " FROM ", level, " l WHERE l.", c, " IS NOT NULL)")
		}
		last = level + " l WHERE l." + c + " IS NOT NULL"
	}
	return last
}

// given is the one value of a column as a column of a level.
func given(column, name string) string {
	if column == "draft" {
		return "CAST(" + name + " AS BIGINT)"
	}
	return "CAST(" + name + " AS TEXT)"
}

// nextValue is the least value of a column below a level, or the next after one.
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

// firstRuns selects a column of the first runs of a group, whose values stand in
// the order of grouped.
//
// PostgreSQL is asked for an order that only runs_ended has: for the order of
// IDs alone it may choose the primary key and walk back over all runs, if its
// statistics say that the group is large. It ends a walk only at bounds of
// single columns, so the far end of the span is compared outside. SQLite would
// use only the key of the pair.
func (k *chosen) firstRuns(q *lists.Query, selected, ws string, values []string, limit string, postgres bool) string {
	from, to, beyond, within, same := q.Arg(k.High), q.Arg(k.Low), "<", ">=", ">="
	if k.Oldest {
		from, to, beyond, within, same = to, from, ">=", "<", "<="
	}
	last := len(grouped) - 1
	text := " FROM runs r WHERE r.place = 0 AND r.workspace_id = " + ws
	for i, c := range grouped[:last] {
		text += " AND r." + c + " = " + values[i]
	}
	if v, ok := k.equal["version"]; ok {
		text += " AND r.version = " + q.Arg(v)
	}
	column, value := "r."+grouped[last], values[last]
	if !postgres {
		return "SELECT r." + selected + text + " AND " + column + " = " + value + " AND r.id " + beyond + " " + from + " AND r.id " + within + " " + to + " ORDER BY r.id " + k.Order() + " LIMIT " + limit
	}
	return "SELECT r." + selected + " FROM (SELECT r.id, r.version" + text + " AND " + column + " " + same + " " + value + " AND (" + column + ", r.id) " + beyond + " (" + value + ", " + from + ") ORDER BY " +
		column + " " + k.Order() + ", r.id " + k.Order() + " LIMIT " + limit + ") AS r WHERE r.id " + within + " " + to
}

// armsQuery merges the first runs of each group.
func (k *chosen) armsQuery(groups []group, n int, postgres bool) *lists.Query {
	q := &lists.Query{}
	q.Add("SELECT id FROM (")
	k.arms(q, "id", groups, n, postgres)
	q.Add(") AS arms ORDER BY id ", k.Order(), " LIMIT ", q.Arg(n))
	return q
}

// countQuery counts the runs of each version in each group, and no more than
// most in a group.
func (k *chosen) countQuery(groups []group, most int, postgres bool) *lists.Query {
	q := &lists.Query{}
	q.Add("SELECT arm, version, count(*) FROM (")
	k.arms(q, "version", groups, most, postgres)
	q.Add(") AS arms GROUP BY arm, version")
	return q
}

// arms selects the number of the group and a column of the first runs of each.
// SQLite has no lateral joins, so there it is a subquery for each group.
// PostgreSQL plans one subquery for all of them.
func (k *chosen) arms(q *lists.Query, selected string, groups []group, n int, postgres bool) {
	ws, limit := q.Arg(k.ws), q.Arg(n)
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
			q.Add(selected, " FROM (", k.firstRuns(q, selected, ws, values, limit, false), ")")
			continue
		}
		for j, c := range grouped {
			values[j] = given(c, values[j]) + " AS " + c
		}
		q.Add(strings.Join(values, ", "))
	}
	if postgres {
		q.Add(") AS g CROSS JOIN LATERAL (", k.firstRuns(q, selected, ws, lists.Refs("g.", grouped), limit, true), ") AS a")
	}
}
