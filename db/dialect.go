package db

import (
	"context"
	"database/sql"
	"regexp"
	"sync"

	"sluice/db/gen"
)

// numbered runs queries written for PostgreSQL on SQLite. There $1 is a named
// parameter, numbered by where it first appears, so arguments would silently
// change places; ?1 means what $1 means on PostgreSQL.
type numbered struct{ db gen.DBTX }

var (
	dollar    = regexp.MustCompile(`\$(\d+)`)
	rewritten sync.Map // query text → the same for SQLite
)

func forSQLite(query string) string {
	if q, ok := rewritten.Load(query); ok {
		return q.(string)
	}
	q := dollar.ReplaceAllString(query, "?$1")
	rewritten.Store(query, q)
	return q
}

func (n numbered) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return n.db.ExecContext(ctx, forSQLite(query), args...)
}

func (n numbered) PrepareContext(ctx context.Context, query string) (*sql.Stmt, error) {
	return n.db.PrepareContext(ctx, forSQLite(query))
}

func (n numbered) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return n.db.QueryContext(ctx, forSQLite(query), args...)
}

func (n numbered) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	return n.db.QueryRowContext(ctx, forSQLite(query), args...)
}
