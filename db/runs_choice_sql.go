package db

import (
	"context"
	"database/sql"
	"slices"
	"strconv"
	"strings"
)

// reads is what queries are run on that were made at run time.
type reads interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// reads are the connections that only read.
func (s *Store) reads() reads {
	if s.pool != nil {
		return reader{s.reader, s}
	}
	return reader{numbered{s.reader}, s}
}

// query is SQL made at run time. Values only ever become arguments: what is
// written into the text are words of this file.
type query struct {
	text strings.Builder
	args []any
}

// add writes texts one after the other.
func (q *query) add(texts ...string) {
	for _, t := range texts {
		q.text.WriteString(t)
	}
}

// arg takes a value and gives the name that it has in the text.
func (q *query) arg(v any) string {
	q.args = append(q.args, v)
	return "$" + strconv.Itoa(len(q.args))
}

// list is values in parentheses.
func (q *query) list(values []string) string {
	names := make([]string, len(values))
	for i, v := range values {
		names[i] = q.arg(v)
	}
	return "(" + strings.Join(names, ", ") + ")"
}

// equals are conditions on columns, in the order of the index.
func (q *query) equals(k *chosen, columns []string, table string) (text string) {
	for _, c := range columns {
		if v, ok := k.equal[c]; ok {
			text += " AND " + table + c + " = " + q.arg(v)
		}
	}
	return text
}

// span is the range of IDs.
func (q *query) span(k *chosen, table string) string {
	return table + "id >= " + q.arg(k.low) + " AND " + table + "id < " + q.arg(k.high)
}

// glanceQuery reads the first runs of all and marks those that are chosen.
func (k *chosen) glanceQuery(size int) *query {
	q := &query{}
	q.add("SELECT id, CASE WHEN workspace_id = ", q.arg(k.ws), " AND state IN ", q.list(k.states), q.equals(k, grouped, ""), " THEN 1 ELSE 0 END FROM runs WHERE ",
		q.span(k, ""), " ORDER BY id ", k.order(), " LIMIT ", q.arg(size))
	return q
}

// groupsQuery walks the groups of each state. Columns that stand first and have
// only one value are not walked.
func (k *chosen) groupsQuery(n int) *query {
	q := &query{}
	ws := q.arg(k.ws)
	first := 0
	for first < len(grouped) && k.equal[grouped[first]] != nil {
		first++
	}
	given, walked := grouped[:first], grouped[first:]
	columns := "state, " + strings.Join(grouped, ", ")
	q.add("WITH RECURSIVE g(id, ", columns, ") AS (")
	for i, state := range k.states {
		if i > 0 {
			q.add(" UNION ALL ")
		}
		q.add("SELECT * FROM (SELECT id, ", columns, " FROM runs WHERE workspace_id = ", ws, " AND state = ", q.arg(state), q.equals(k, given, ""),
			" ORDER BY ", joined("", slices.Concat(walked, []string{"id"})), " LIMIT 1) AS s", strconv.Itoa(i))
	}
	if len(walked) > 0 {
		q.add(" UNION ALL SELECT n.id, n.state, ", joined("n.", grouped), " FROM g JOIN runs n ON n.id = COALESCE(")
		for last := len(grouped); last > first; last-- {
			q.add("(", k.nextGroup(ws, last), "), ")
		}
		q.add("NULL)")
	}
	q.add("), heads AS MATERIALIZED (SELECT ", columns, ", (SELECT r.id FROM runs r WHERE r.workspace_id = ", ws, " AND r.state = g.state")
	for _, c := range grouped {
		q.add(" AND r.", c, " = g.", c)
	}
	q.add(" AND ", q.span(k, "r."), " ORDER BY r.id ", k.order(), " LIMIT 1) AS head FROM g WHERE 1 = 1", q.equals(k, walked, "g."), ")",
		" SELECT ", columns, ", head FROM heads WHERE head IS NOT NULL ORDER BY head ", k.order(), " LIMIT ", q.arg(n))
	return q
}

// nextGroup is the first run of the group after g that differs from it in the
// last of so many columns. SQLite compares rows of values by their first column
// alone when it steps into an index, so the steps are apart for each.
func (k *chosen) nextGroup(ws string, columns int) string {
	same, differs := grouped[:columns-1], grouped[columns-1]
	text := "SELECT r.id FROM runs r WHERE r.workspace_id = " + ws + " AND r.state = g.state"
	for _, c := range same {
		text += " AND r." + c + " = g." + c
	}
	return text + " AND r." + differs + " > g." + differs + " ORDER BY r." + differs + ", " + joined("r.", slices.Concat(grouped[columns:], []string{"id"})) + " LIMIT 1"
}

// armsQuery merges the first runs of each group.
func (k *chosen) armsQuery(groups []group, n int) *query {
	q := &query{}
	ws, span, limit := q.arg(k.ws), q.span(k, ""), q.arg(n)
	q.add("SELECT id FROM (")
	for i, g := range groups {
		if i > 0 {
			q.add(" UNION ALL ")
		}
		q.add("SELECT id FROM (SELECT id FROM runs WHERE workspace_id = ", ws, " AND state = ", q.arg(g.state))
		for j, v := range g.values() {
			q.add(" AND ", grouped[j], " = ", q.arg(v))
		}
		q.add(" AND ", span, " ORDER BY id ", k.order(), " LIMIT ", limit, ") AS a", strconv.Itoa(i))
	}
	q.add(") AS arms ORDER BY id ", k.order(), " LIMIT ", limit)
	return q
}

// joined names columns of a table.
func joined(table string, columns []string) string {
	names := slices.Clone(columns)
	for i := range names {
		names[i] = table + names[i]
	}
	return strings.Join(names, ", ")
}
