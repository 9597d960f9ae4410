package db

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"sluice/db/gen"
)

const (
	// writeTimeout bounds a transaction whose server has stopped answering.
	writeTimeout = time.Minute
	// maxConflicts is how often a write is repeated that lost a deadlock.
	maxConflicts = 5
)

// postgresWriter runs every write in a transaction of its own, side by side.
type postgresWriter struct{ s *Store }

func (w *postgresWriter) close() error { return nil }

func (w *postgresWriter) write(ctx context.Context, m *member) error {
	for try := 1; ; try++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := w.once(ctx, m)
		if !isConflict(err) || try == maxConflicts {
			return err
		}
	}
}

// once opens one transaction for both: database/sql, which the generated
// queries use, and pgx, which the queue inserts through. It is begun on the
// pgx connection beneath the *sql.Conn, so both speak inside it.
func (w *postgresWriter) once(ctx context.Context, m *member) error {
	conn, err := w.s.reader.Conn(ctx)
	if err != nil {
		return fmt.Errorf("take connection: %w", err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	t, err := begin(ctx, conn)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer t.Rollback(ctx)
	tx := &Tx{Queries: gen.New(conn), s: w.s, ctx: ctx, db: conn, batch: newBatch()}
	defer w.s.drop(tx.batch)
	if err := w.carryOut(tx, t, m); err != nil {
		return err
	}
	if err := t.Commit(ctx); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	w.s.wake(tx.batch)
	return nil
}

func (w *postgresWriter) carryOut(tx *Tx, t pgx.Tx, m *member) error {
	if m.d == relaxed {
		if _, err := t.Exec(tx.ctx, "SET LOCAL synchronous_commit TO OFF"); err != nil {
			return fmt.Errorf("relax synchronous commit: %w", err)
		}
	}
	if err := m.carryOut(tx); err != nil {
		return err
	}
	if err := tx.flush(t); err != nil {
		return err
	}
	b := &pgx.Batch{}
	if err := tx.queueCounters(b); err != nil || b.Len() == 0 {
		return err
	}
	if err := t.SendBatch(tx.ctx, b).Close(); err != nil {
		return fmt.Errorf("write counters: %w", err)
	}
	return nil
}

// queueCounters adds the statements that write the counters to a batch.
func (tx *Tx) queueCounters(b *pgx.Batch) error {
	counters := *tx
	counters.Queries, counters.db = gen.New(queued{b}), queued{b}
	return counters.flushCounters()
}

// queued adds statements to a batch instead of running them. It cannot run
// queries that return rows.
type queued struct{ b *pgx.Batch }

func (q queued) ExecContext(_ context.Context, query string, args ...any) (sql.Result, error) {
	q.b.Queue(query, args...)
	return driver.ResultNoRows, nil
}

func (queued) PrepareContext(context.Context, string) (*sql.Stmt, error) { return nil, errQueued }

func (queued) QueryContext(context.Context, string, ...any) (*sql.Rows, error) {
	return nil, errQueued
}

func (queued) QueryRowContext(context.Context, string, ...any) *sql.Row { panic(errQueued) }

var errQueued = errors.New("db: only statements without results can be queued")

func begin(ctx context.Context, conn *sql.Conn) (t pgx.Tx, err error) {
	err = conn.Raw(func(c any) error {
		t, err = c.(*stdlib.Conn).Conn().Begin(ctx)
		return err
	})
	return t, err
}

// admissionLock is held by PostgreSQL transactions that decide about the last
// free places, until they end.
const admissionLock = 0x536c7570

// lockAdmission waits until no other instance decides; SQLite has one writer.
func (tx *Tx) lockAdmission() error {
	if tx.s.pool == nil || tx.batch.room.locked {
		return nil
	}
	if _, err := tx.db.ExecContext(tx.ctx, "SELECT pg_advisory_xact_lock($1)", int64(admissionLock)); err != nil {
		return fmt.Errorf("lock admission: %w", err)
	}
	tx.batch.room.recount()
	tx.batch.room.locked = true
	return nil
}
