package core

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// openTx presents the open transaction of a connection as a pgx.Tx, which the
// queue needs to insert jobs.
type openTx struct {
	pgx.Tx // nil; the queue calls only the methods below
	conn   *pgx.Conn
}

// Exec runs a statement on the connection, whose transaction the caller has begun. openTx
// implements pgx.Tx so that the queue can insert jobs in that transaction.
func (t openTx) Exec(ctx context.Context, query string, args ...any) (pgconn.CommandTag, error) {
	return t.conn.Exec(ctx, query, args...)
}

func (t openTx) Query(ctx context.Context, query string, args ...any) (pgx.Rows, error) {
	return t.conn.Query(ctx, query, args...)
}

func (t openTx) QueryRow(ctx context.Context, query string, args ...any) pgx.Row {
	return t.conn.QueryRow(ctx, query, args...)
}

func (t openTx) CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, rows pgx.CopyFromSource) (int64, error) {
	return t.conn.CopyFrom(ctx, table, columns, rows)
}

func (t openTx) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	return t.conn.SendBatch(ctx, b)
}

func (t openTx) Conn() *pgx.Conn { return t.conn }
