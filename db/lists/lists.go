// Package lists builds the queries of filtered lists at run time: ranges of IDs,
// orders, pages and bounded searches. Values are always passed as arguments and
// never become part of the text.
//
// Lists are paged by ID. IDs begin with the time of their creation, so an ID is
// also a position in time.
package lists

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/flow"
)

// Query builds SQL at run time. The text consists of constants only.
type Query struct {
	Text strings.Builder
	Args []any
}

// Add appends texts.
func (q *Query) Add(texts ...string) {
	for _, t := range texts {
		q.Text.WriteString(t)
	}
}

// Arg adds an argument and returns its placeholder.
func (q *Query) Arg(v any) string {
	q.Args = append(q.Args, v)
	return "$" + strconv.Itoa(len(q.Args))
}

// List adds arguments and returns their placeholders in parentheses, for IN.
func (q *Query) List(values []string) string {
	names := make([]string, len(values))
	for i, v := range values {
		names[i] = q.Arg(v)
	}
	return "(" + strings.Join(names, ", ") + ")"
}

// Refs returns the names of columns with a prefix, such as "t.".
func Refs(table string, columns []string) []string {
	names := slices.Clone(columns)
	for i := range names {
		names[i] = table + names[i]
	}
	return names
}

// Joined is Refs as one text.
func Joined(table string, columns []string) string { return strings.Join(Refs(table, columns), ", ") }

// Collect runs the query on the connections that only read, and reads all rows.
func Collect[T any](ctx context.Context, db *core.DB, q *Query, scan func(*sql.Rows) (T, error)) ([]T, error) {
	rows, err := core.ReaderOf(db).QueryContext(ctx, q.Text.String(), q.Args...)
	list, err := dbconn.Collect(rows, err, scan)
	if err != nil {
		return nil, fmt.Errorf("run list query: %w", err)
	}
	return list, nil
}

// CollectRows is Collect for the rows of a table with given IDs, whose query it makes. Rows that
// cannot be read are left out, so that one of them does not hide a whole page.
func CollectRows[T any](ctx context.Context, db *core.DB, ids []string, query func(ids []string) *Query, scan func(*sql.Rows) (T, error)) ([]T, error) {
	list, err := Collect(ctx, db, query(ids), scan)
	if !core.IsDamage(err) {
		return list, err
	}
	list = nil
	for _, id := range ids {
		one, err := core.ReadRow(ctx, db, func(ctx context.Context) ([]T, error) {
			rows, err := Collect(ctx, db, query([]string{id}), scan)
			if err == nil && len(rows) == 0 {
				err = sql.ErrNoRows
			}
			return rows, err
		})
		if dbconn.IsNoRows(err) { // deleted in the meantime
			continue
		}
		if core.IsDamage(err) {
			db.Config.Log.Error("a row that cannot be read is missing in a list", "id", id, "error", err)
			continue
		}
		if err != nil {
			return nil, err
		}
		list = append(list, one...)
	}
	return list, nil
}

// Undamaged returns the condition by which a query passes over the rows of a table that cannot be
// read. The name or alias of the table is given first.
func Undamaged(alias, table string) string {
	return " AND " + alias + ".id NOT IN (SELECT m.id FROM damaged_rows m WHERE m.table_name = '" + table + "' AND m.task = '" + core.UnreadableTask + "')"
}

// NewestRows is how many of the newest rows of all workspaces a list searches first.
const NewestRows = 1000

// Between narrows the span to IDs from a time range. A zero time means no limit.
func (k *Span) Between(from, until time.Time) {
	if !from.IsZero() {
		k.Low = max(k.Low, flow.FirstID(k.prefix, from))
	}
	if !until.IsZero() {
		k.High = min(k.High, flow.FirstID(k.prefix, until))
	}
}

// Span is a range of IDs in the order of a list.
type Span struct {
	prefix    string
	Low, High string // Low is inclusive, High is exclusive
	Oldest    bool   // the oldest rows come first, to page back to newer rows
}

// SpanOf returns the span of all IDs with a prefix.
func SpanOf(prefix string, oldest bool) Span {
	return Span{prefix: prefix, Low: prefix, High: dbconn.LastID, Oldest: oldest}
}

// SkipPast narrows the span to what follows an ID in the order of the list.
func (k *Span) SkipPast(id string) {
	if k.Oldest {
		k.Bound("", id)
	} else {
		k.Bound(id, "")
	}
}

// Bound narrows the span to IDs before one ID and after another. Either may be
// empty.
func (k *Span) Bound(before, after string) {
	if before != "" {
		k.High = min(k.High, before)
	}
	if after != "" {
		k.Low = max(k.Low, after+"0") // the smallest ID that is greater
	}
}

// Order returns the SQL order of IDs.
func (k *Span) Order() string {
	if k.Oldest {
		return "ASC"
	}
	return "DESC"
}

// Cursors describes a page, to find the pages next to it.
type Cursors struct {
	Before, After  string // the cursor that the page was requested with
	Newest, Oldest string // first and last row of the page; empty for an empty page
	More           bool   // there are more rows in the direction of the page
	Reached        string // last row that a search read if it stopped early
}

// Neighbors returns the cursors of the pages with newer and older rows, or "" if there
// is no such page.
func (c Cursors) Neighbors() (newer, older string) {
	if c.Newest == "" {
		c.Newest, c.Oldest = c.Before, c.After
	}
	if c.After != "" {
		newer, older = c.Reached, c.Oldest
		if c.More {
			newer = c.Newest
		}
		return newer, older
	}
	older = c.Reached
	if c.More {
		older = c.Oldest
	}
	if c.Before != "" {
		newer = c.Newest
	}
	return newer, older
}
