package core

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"sluice/db/gen"
	"sluice/flow"
)

// The generated statements of runs are the only place that names the columns of a row.
// Everything else that reads or writes runs derives its statement from their text, once at
// the start, and gets the values of a row in the order of their parameters.
var (
	// insertRuns is InsertRun for any number of runs.
	insertRuns = newBulk((*gen.Queries).InsertRun, "")
	// updateRuns is UpdateRun and FindReleased for any number of runs.
	updateRuns = newBulk(func(q *gen.Queries, ctx context.Context, p gen.UpdateRunParams) error {
		_, err := q.UpdateRun(ctx, p)
		return err
	}, "RETURNING id, cancel_requested, stop_requested, webhook")
	// saveEvents and setLastRuns record the events of webhooks that started runs.
	saveEvents = newBulk(func(q *gen.Queries, ctx context.Context, p gen.SaveEventParams) error {
		_, err := q.SaveEvent(ctx, p)
		return err
	}, "")
	setLastRuns = newBulk(func(q *gen.Queries, ctx context.Context, p gen.SetLastRunParams) error {
		_, err := q.SetLastRun(ctx, p)
		return err
	}, "")
	runColumns = selected(func(q *gen.Queries) { _, _ = q.ListChildRuns(context.Background(), gen.ListChildRunsParams{}) })
	keyColumns = selected(func(q *gen.Queries) { _, _ = q.ListKeys(context.Background(), "") })
)

// bulk is a generated statement for one row, changed to one for any number of rows. P holds
// the parameters of the generated statement.
type bulk[P any] struct {
	sql     string
	columns []column // one for each parameter
	exec    func(*gen.Queries, context.Context, P) error
}

// parameter matches a parameter of a generated statement.
var parameter = regexp.MustCompile(`\$(\d+)`)

// newBulk reads parameter $n of an INSERT … VALUES or UPDATE … WHERE from column pn of
// unnested arrays. It appends a RETURNING clause unless that is empty.
func newBulk[P any](exec func(*gen.Queries, context.Context, P) error, returning string) *bulk[P] {
	b := &bulk[P]{exec: exec}
	var none P
	r := b.record(none)
	for i, v := range r.args {
		b.columns = append(b.columns, column{fmt.Sprintf("p%d", i+1), arrayType(v)})
	}
	text := parameter.ReplaceAllString(strings.TrimSpace(r.sql), "u.p$1")
	if head, values, ok := strings.Cut(text, "\nVALUES ("); ok {
		values, conflict, _ := strings.Cut(values, "\nON CONFLICT ")
		text = head + "\nSELECT " + strings.TrimSuffix(values, ")") + "\nFROM " + source(b.columns)
		if conflict != "" {
			text += "\nON CONFLICT " + conflict
		}
	} else {
		head, where, _ := strings.Cut(text, "\nWHERE ")
		text = head + "\nFROM " + source(b.columns) + "\nWHERE " + where
	}
	b.sql = text + "\n" + returning
	return b
}

// row returns the values of a row in the order of the columns.
func (b *bulk[P]) row(p P) []any {
	row := b.record(p).args
	for i, v := range row {
		row[i] = plain(v)
	}
	return row
}

// args returns the arguments of the statement for rows.
func (b *bulk[P]) args(rows [][]any) []any { return arrays(b.columns, rows) }

// record returns the generated statement and its arguments.
func (b *bulk[P]) record(p P) *recorder {
	r := &recorder{}
	_ = b.exec(gen.New(r), context.Background(), p)
	return r
}

// recorder keeps a statement instead of executing it.
type recorder struct {
	gen.DBTX
	sql  string
	args []any
}

var errRecorded = errors.New("the statement was recorded, not executed")

// ExecContext records a statement.
func (r *recorder) ExecContext(_ context.Context, query string, args ...any) (sql.Result, error) {
	r.sql, r.args = query, args
	return nil, errRecorded
}

// QueryContext records a query.
func (r *recorder) QueryContext(_ context.Context, query string, args ...any) (*sql.Rows, error) {
	r.sql, r.args = query, args
	return nil, errRecorded
}

// selected returns the columns of a generated query, in the order of the fields of its row.
// SELECT * would fail once a newer program has added columns.
func selected(query func(*gen.Queries)) string {
	r := &recorder{}
	query(gen.New(r))
	_, list, _ := strings.Cut(r.sql, "SELECT ")
	list, _, _ = strings.Cut(list, " FROM ")
	return list
}

// plain returns a parameter as a value of a type that arrays accepts. A bytea array cannot
// contain nil for "no value", so it becomes empty.
func plain(v any) any {
	switch v := v.(type) {
	case flow.RunID:
		return string(v)
	case flow.FlowID:
		return string(v)
	case flow.WorkspaceID:
		return string(v)
	case flow.NanoUSD:
		return int64(v)
	case []byte:
		if v == nil {
			return []byte{}
		}
	}
	return v
}

// arrayType returns the type of the array column for a parameter. It panics if it does not
// know the Go type: plain needs a case for it.
func arrayType(v any) string {
	switch v := plain(v).(type) {
	case string:
		return text
	case int64:
		return integer
	case []byte:
		return blob
	default:
		panic(fmt.Sprintf("db: no array column holds a %T", v))
	}
}
