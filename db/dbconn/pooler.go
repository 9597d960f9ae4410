package dbconn

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// ErrPooler is returned for a DATABASE_URL that points to a connection pooler in
// transaction mode: it gives the statements of one connection to different
// sessions of PostgreSQL, so that LISTEN, advisory locks, settings and prepared
// statements are lost.
var ErrPooler = errors.New("DATABASE_URL points to a connection pooler in transaction or statement mode, which Sluice does not support; " +
	"connect to PostgreSQL itself, or set the pooler to session mode (pool_mode = session in PgBouncer)")

// poolerProbes is the number of further connections that check for a shared session.
// One is enough unless other clients use the pooler at the same moment.
const poolerProbes = 3

// CheckPooler reports whether PostgreSQL is behind a connection pooler, and returns
// ErrPooler if the pooler does not give each connection its own session.
func CheckPooler(ctx context.Context, pool *pgxpool.Pool) (pooler bool, err error) {
	held, err := pool.Acquire(ctx)
	if err != nil {
		return false, fmt.Errorf("open PostgreSQL: %w", err)
	}
	defer held.Release()
	first := held.Conn()
	backend, err := backendOf(ctx, first)
	if err != nil {
		return false, fmt.Errorf("open PostgreSQL: %w", err)
	}
	// PostgreSQL sends its process ID to a client that connects. A pooler sends a
	// different number.
	if backend == int(first.PgConn().PID()) {
		return false, nil
	}
	for range poolerProbes {
		if err := probePooler(ctx, first, backend); err != nil {
			return true, err
		}
	}
	return true, nil
}

// probePooler opens a second connection and returns ErrPooler if it gets the backend
// process of the first one, or if the first one gets another.
func probePooler(ctx context.Context, first *pgx.Conn, backend int) error {
	second, err := pgx.ConnectConfig(ctx, first.Config())
	if err != nil {
		return fmt.Errorf("open PostgreSQL: %w", err)
	}
	defer second.Close(context.WithoutCancel(ctx))
	if _, err := second.Exec(ctx, "BEGIN"); err != nil {
		return fmt.Errorf("%w (%w)", ErrPooler, err) // statement mode has no transactions
	}
	secondBackend, err := backendOf(ctx, second)
	if err != nil {
		return fmt.Errorf("open PostgreSQL: %w", err)
	}
	firstBackend, err := backendOf(ctx, first)
	if err != nil {
		return fmt.Errorf("open PostgreSQL: %w", err)
	}
	if secondBackend == backend || firstBackend != backend {
		return ErrPooler
	}
	return nil
}

// backendOf returns the ID of the PostgreSQL process that serves a connection. It
// uses the simple protocol, which every pooler supports.
func backendOf(ctx context.Context, conn *pgx.Conn) (int, error) {
	results, err := conn.PgConn().Exec(ctx, "SELECT pg_backend_pid()").ReadAll()
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(string(results[0].Rows[0][0]))
}
