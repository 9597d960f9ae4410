// Package lists builds the queries of lists at run time: ranges of IDs, orders,
// pages and bounded searches. Values only ever become arguments.
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

// Query builds SQL at run time. Values only ever become arguments; the text is
// made of constants.
type Query struct {
	Text strings.Builder
	Args []any
}

// Add writes texts one after the other.
func (q *Query) Add(texts ...string) {
	for _, t := range texts {
		q.Text.WriteString(t)
	}
}

// Arg takes a value and gives the name that it has in the text.
func (q *Query) Arg(v any) string {
	q.Args = append(q.Args, v)
	return "$" + strconv.Itoa(len(q.Args))
}

// List is values in parentheses.
func (q *Query) List(values []string) string {
	names := make([]string, len(values))
	for i, v := range values {
		names[i] = q.Arg(v)
	}
	return "(" + strings.Join(names, ", ") + ")"
}

// Refs names columns of a table.
func Refs(table string, columns []string) []string {
	names := slices.Clone(columns)
	for i := range names {
		names[i] = table + names[i]
	}
	return names
}

// Joined names columns of a table in one text.
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

// Glance is how many of the newest rows are looked at first.
const Glance = 1000

// Between narrows the span to a time, since IDs begin with the time they were
// made at.
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
	Low, High string // from low to below high
	Oldest    bool   // the oldest come first, to page back to newer rows
}

// SpanOf returns the span of all IDs with a prefix.
func SpanOf(prefix string, oldest bool) Span {
	return Span{prefix: prefix, Low: prefix, High: dbconn.LastID, Oldest: oldest}
}

// Pass narrows the span to what follows an ID in the order of the list.
func (k *Span) Pass(id string) {
	if k.Oldest {
		k.Beside("", id)
	} else {
		k.Beside(id, "")
	}
}

// Beside narrows to what is older than one ID and newer than another.
func (k *Span) Beside(before, after string) {
	if before != "" {
		k.High = min(k.High, before)
	}
	if after != "" {
		k.Low = max(k.Low, after+"0") // the least that is greater
	}
}

// Order is how IDs are sorted.
func (k *Span) Order() string {
	if k.Oldest {
		return "ASC"
	}
	return "DESC"
}

// Cursors are what the pages beside a page are found by: where it was to begin,
// what is on it, and whether there is more in its direction. Where a search
// stopped before the page was full, that is behind the last row it looked at.
type Cursors struct {
	Before, After  string
	Newest, Oldest string
	More           bool
	Reached        string
}

// Beside says where the pages beside a page go on.
func (c Cursors) Beside() (newer, older string) {
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

const (
	// SearchDepth bounds how many rows a search reads.
	SearchDepth = 10_000
	// SearchBatch is how many rows a search reads at a time.
	SearchBatch = 250
)
