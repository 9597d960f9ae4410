package dbconn

import (
	"context"
	"database/sql"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"sluice/db/gen"
)

// SQLiteParams runs queries written for PostgreSQL on SQLite. SQLite treats $1 as a
// named parameter and numbers these in the order of their first use, so arguments
// would silently be swapped. SQLite's ?1 means the same as PostgreSQL's $1.
type SQLiteParams struct{ DB gen.DBTX }

var (
	dollar = regexp.MustCompile(`\$(\d+)`)
	// undamaged is the condition by which background work passes over marked rows. SQLite
	// evaluates it by rowid, which each index contains, before it reads a row that may be
	// damaged; so the IDs of marked rows are looked up in the index of the primary key.
	undamaged = regexp.MustCompile(`(\w+)\.(id|run_id) NOT IN \(SELECT m\.id FROM damaged_rows m WHERE m\.table_name = '(\w+)'( AND m\.task = '\w+')?\)`)
	rewritten sync.Map // from query text to the text for SQLite
)

// ForSQLite returns a query with the placeholders of SQLite. It caches the result.
func ForSQLite(query string) string {
	if q, ok := rewritten.Load(query); ok {
		return q.(string)
	}
	q := undamaged.ReplaceAllString(query, "$1.rowid NOT IN (SELECT o.rowid FROM damaged_rows m CROSS JOIN $3 o ON o.$2 = m.id WHERE m.table_name = '$3'$4)")
	q = dollar.ReplaceAllString(q, "?$1")
	rewritten.Store(query, q)
	return q
}

// Placeholders returns the rows of a VALUES clause, such as "($1, $2), ($3, $4)" for two
// rows of two columns.
func Placeholders(rows, columns int) string {
	var b strings.Builder
	for i := range rows * columns {
		switch {
		case i == 0:
			b.WriteString("(")
		case i%columns == 0:
			b.WriteString("), (")
		default:
			b.WriteString(", ")
		}
		b.WriteString("$" + strconv.Itoa(i+1))
	}
	return b.String() + ")"
}

// ExecContext runs a statement whose placeholders it rewrites for SQLite, as the other
// methods do.
func (n SQLiteParams) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return n.DB.ExecContext(ctx, ForSQLite(query), args...)
}

func (n SQLiteParams) PrepareContext(ctx context.Context, query string) (*sql.Stmt, error) {
	return n.DB.PrepareContext(ctx, ForSQLite(query))
}

func (n SQLiteParams) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return n.DB.QueryContext(ctx, ForSQLite(query), args...)
}

func (n SQLiteParams) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	return n.DB.QueryRowContext(ctx, ForSQLite(query), args...)
}
