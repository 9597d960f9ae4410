package db

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/flow"
	"strconv"
	"strings"
	"time"
)

// reads is what queries are run on that were made at run time.
type reads interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// readsOf returns the connections that only read.
func readsOf(s *core.DB) reads {
	return core.ReaderOf(s)
}

// query builds SQL at run time. Values only ever become arguments; the text is
// made of constants.
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

// refs names columns of a table.
func refs(table string, columns []string) []string {
	names := slices.Clone(columns)
	for i := range names {
		names[i] = table + names[i]
	}
	return names
}

// joined names columns of a table in one text.
func joined(table string, columns []string) string { return strings.Join(refs(table, columns), ", ") }

// collect runs a query that was made at run time and reads all its rows.
func collect[T any](ctx context.Context, db reads, q *query, read func(*sql.Rows) (T, error)) (list []T, err error) {
	rows, err := db.QueryContext(ctx, q.text.String(), q.args...)
	if err != nil {
		return nil, fmt.Errorf("run list query: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		row, err := read(rows)
		if err != nil {
			return nil, fmt.Errorf("read list query: %w", err)
		}
		list = append(list, row)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read list query: %w", err)
	}
	return list, nil
}

func scanText(rows *sql.Rows) (text string, err error) { return text, rows.Scan(&text) }

// glance is how many of the newest rows are looked at first.
const glance = 1000

// between narrows the span to a time, since IDs begin with the time they were
// made at.
func (k *idSpan) between(from, until time.Time) {
	if !from.IsZero() {
		k.low = max(k.low, flow.FirstID(k.prefix, from))
	}
	if !until.IsZero() {
		k.high = min(k.high, flow.FirstID(k.prefix, until))
	}
}

// idSpan is a range of IDs in the order of a list.
type idSpan struct {
	prefix    string
	low, high string // from low to below high
	oldest    bool   // the oldest come first, to page back to newer rows
}

// spanOf returns the span of all IDs with a prefix.
func spanOf(prefix string, oldest bool) idSpan {
	return idSpan{prefix: prefix, low: prefix, high: dbconn.LastID, oldest: oldest}
}

// pass narrows the span to what follows an ID in the order of the list.
func (k *idSpan) pass(id string) {
	if k.oldest {
		k.beside("", id)
	} else {
		k.beside(id, "")
	}
}

// beside narrows to what is older than one ID and newer than another.
func (k *idSpan) beside(before, after string) {
	if before != "" {
		k.high = min(k.high, before)
	}
	if after != "" {
		k.low = max(k.low, after+"0") // the least that is greater
	}
}

// order is how IDs are sorted.
func (k *idSpan) order() string {
	if k.oldest {
		return "ASC"
	}
	return "DESC"
}

// cursors are what the pages beside a page are found by: where it was to begin,
// what is on it, and whether there is more in its direction. Where a search
// stopped before the page was full, that is behind the last row it looked at.
type cursors struct {
	before, after  string
	newest, oldest string
	more           bool
	reached        string
}

// beside says where the pages beside a page go on.
func (c cursors) beside() (newer, older string) {
	if c.newest == "" {
		c.newest, c.oldest = c.before, c.after
	}
	if c.after != "" {
		newer, older = c.reached, c.oldest
		if c.more {
			newer = c.newest
		}
		return newer, older
	}
	older = c.reached
	if c.more {
		older = c.oldest
	}
	if c.before != "" {
		newer = c.newest
	}
	return newer, older
}

const (
	// searchDepth bounds how many rows a search reads.
	searchDepth = 10_000
	// searchBatch is how many rows a search reads at a time.
	searchBatch = 250
)
