package db

import (
	"slices"
	"strconv"
	"strings"

	"sluice/db/dbconn"
)

// equals are conditions on the columns whose value is given.
func (q *query) equals(k *chosen) (text string) {
	for _, c := range slices.Concat(walked, []string{"version"}) {
		if v, ok := k.equal[c]; ok {
			text += " AND " + c + " = " + q.arg(v)
		}
	}
	return text
}

// span is the range of IDs.
func (q *query) span(k *chosen) string {
	return "id >= " + q.arg(k.low) + " AND id < " + q.arg(k.high)
}

// glanceQuery reads the first runs of all and marks those that are chosen.
func (k *chosen) glanceQuery(size int) *query {
	q := &query{}
	q.add("SELECT id, CASE WHEN workspace_id = ", q.arg(k.ws), " AND state IN ", q.list(k.states), q.equals(k), " THEN 1 ELSE 0 END FROM runs WHERE ",
		q.span(k), " ORDER BY id ", k.order(), " LIMIT ", q.arg(size))
	return q
}

// openQuery reads the open runs of the workspace. All are read before they are
// sorted: PostgreSQL would otherwise walk back over all runs there are if its
// statistics promise an open one soon.
func (k *chosen) openQuery(n int) *query {
	q := &query{}
	q.add("WITH open AS MATERIALIZED (SELECT id", k.openRuns(q), ") SELECT id FROM open ORDER BY id ", k.order(), " LIMIT ", q.arg(n))
	return q
}

// countOpenQuery is as countQuery, for open runs, of which it reads so many.
func (k *chosen) countOpenQuery(most int) *query {
	q := &query{}
	q.add("SELECT 0, version, count(*) FROM (SELECT version", k.openRuns(q), " LIMIT ", q.arg(most), ") AS open GROUP BY version")
	return q
}

// openRuns is what follows the columns that are selected from open runs. SQLite
// uses a partial index only if its condition is in the query, so place > 0 is.
func (k *chosen) openRuns(q *query) string {
	return " FROM runs WHERE place IN (1, 2, 3, 4) AND place > 0 AND workspace_id = " + q.arg(k.ws) + q.equals(k) +
		" AND state IN " + q.list(k.statesThat(false)) + " AND " + q.span(k)
}

// groupsQuery walks the groups and returns those with the first runs.
func (k *chosen) groupsQuery(n int, postgres bool) *query {
	q := &query{}
	ws, columns := q.arg(k.ws), strings.Join(grouped, ", ")
	level := k.walk(q, ws)
	q.add(", heads AS MATERIALIZED (SELECT ", columns, ", (", k.firstRuns(q, "id", ws, refs("l.", grouped), "1", postgres), ") AS head FROM ", level, ")",
		" SELECT ", columns, ", head FROM heads WHERE head IS NOT NULL ORDER BY head ", k.order(), " LIMIT ", q.arg(n))
	return q
}

// walk writes a common table expression for each level, named after its column,
// and returns the last level as l. The rows of a level are the values of its
// column and of all columns above. A column that has no next value is NULL.
func (k *chosen) walk(q *query, ws string) (last string) {
	q.add("WITH RECURSIVE state_level(state) AS (")
	for i, state := range k.statesThat(true) {
		if i > 0 {
			q.add(" UNION ALL ")
		}
		q.add("SELECT CAST(", q.arg(state), " AS TEXT)")
	}
	q.add(")")
	last = "state_level l"
	for i, c := range walked {
		above := grouped[:i+1]
		level := c + "_level"
		q.add(", ", level, "(", joined("", above), ", ", c, ") AS (SELECT ", joined("l.", above), ", ")
		if v, ok := k.equal[c]; ok {
			q.add(given(c, q.arg(v)), " FROM ", last, ")")
		} else {
			q.add(nextValue(ws, above, c, ""), " FROM ", last,
				" UNION ALL SELECT ", joined("l.", above), ", ", nextValue(ws, above, c, "l."+c), " FROM ", level, " l WHERE l.", c, " IS NOT NULL)")
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
func (k *chosen) firstRuns(q *query, selected, ws string, values []string, limit string, postgres bool) string {
	from, to, beyond, within, same := q.arg(k.high), q.arg(k.low), "<", ">=", ">="
	if k.oldest {
		from, to, beyond, within, same = to, from, ">=", "<", "<="
	}
	last := len(grouped) - 1
	text := " FROM runs r WHERE r.place = 0 AND r.workspace_id = " + ws
	for i, c := range grouped[:last] {
		text += " AND r." + c + " = " + values[i]
	}
	if v, ok := k.equal["version"]; ok {
		text += " AND r.version = " + q.arg(v)
	}
	column, value := "r."+grouped[last], values[last]
	if !postgres {
		return "SELECT r." + selected + text + " AND " + column + " = " + value + " AND r.id " + beyond + " " + from + " AND r.id " + within + " " + to + " ORDER BY r.id " + k.order() + " LIMIT " + limit
	}
	return "SELECT r." + selected + " FROM (SELECT r.id, r.version" + text + " AND " + column + " " + same + " " + value + " AND (" + column + ", r.id) " + beyond + " (" + value + ", " + from + ") ORDER BY " +
		column + " " + k.order() + ", r.id " + k.order() + " LIMIT " + limit + ") AS r WHERE r.id " + within + " " + to
}

// armsQuery merges the first runs of each group.
func (k *chosen) armsQuery(groups []group, n int, postgres bool) *query {
	q := &query{}
	q.add("SELECT id FROM (")
	k.arms(q, "id", groups, n, postgres)
	q.add(") AS arms ORDER BY id ", k.order(), " LIMIT ", q.arg(n))
	return q
}

// countQuery counts the runs of each version in each group, and no more than
// most in a group.
func (k *chosen) countQuery(groups []group, most int, postgres bool) *query {
	q := &query{}
	q.add("SELECT arm, version, count(*) FROM (")
	k.arms(q, "version", groups, most, postgres)
	q.add(") AS arms GROUP BY arm, version")
	return q
}

// arms selects the number of the group and a column of the first runs of each.
// SQLite has no lateral joins, so there it is a subquery for each group.
// PostgreSQL plans one subquery for all of them.
func (k *chosen) arms(q *query, selected string, groups []group, n int, postgres bool) {
	ws, limit := q.arg(k.ws), q.arg(n)
	if postgres {
		q.add("SELECT g.arm, a.", selected, " FROM (")
	}
	for i, g := range groups {
		if i > 0 {
			q.add(" UNION ALL ")
		}
		q.add("SELECT ", strconv.Itoa(i), " AS arm, ")
		values := dbconn.MapRows(g.values, q.arg)
		if !postgres {
			q.add(selected, " FROM (", k.firstRuns(q, selected, ws, values, limit, false), ")")
			continue
		}
		for j, c := range grouped {
			values[j] = given(c, values[j]) + " AS " + c
		}
		q.add(strings.Join(values, ", "))
	}
	if postgres {
		q.add(") AS g CROSS JOIN LATERAL (", k.firstRuns(q, selected, ws, refs("g.", grouped), limit, true), ") AS a")
	}
}
