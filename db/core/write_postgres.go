package core

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
)

const (
	// writeTimeout bounds a transaction whose server has stopped answering.
	writeTimeout = time.Minute
	// maxConflicts bounds the attempts of a write that loses deadlocks.
	maxConflicts = 5
	// maxRollbacks bounds the attempts of a write that PostgreSQL rolls back for
	// another reason: a time limit, or a lost connection.
	maxRollbacks = 3
)

// postgresWriter runs every write in its own transaction, concurrently.
type postgresWriter struct {
	s  *DB
	db *sql.DB
}

// close has nothing to wait for: each write commits before it returns.
func (w *postgresWriter) close() error { return nil }

// write executes a transaction. It repeats it after errors that may not occur again, such
// as a deadlock or a lost connection, if nothing was committed; see retriesWrite.
func (w *postgresWriter) write(ctx context.Context, m *member) error {
	if m.since.IsZero() {
		m.ctx, m.since = ctx, time.Now()
	}
	for try := 1; ; try++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := w.writeOnce(ctx, m)
		if !retriesWrite(ctx, try, time.Since(m.since), err) {
			return err
		}
	}
}

// retriesWrite reports whether to repeat a write, after a pause. Except for
// errInDoubt, nothing of the write was committed. A write that reached a time limit is
// repeated only if its caller has not waited for as long as a lock may take.
func retriesWrite(ctx context.Context, try int, waited time.Duration, err error) bool {
	switch {
	case err == nil || errors.Is(err, errInDoubt):
		return false
	case dbconn.IsConflict(err):
		return try < maxConflicts
	case flow.OutlastsOutages(ctx) && isTransient(err):
		return dbconn.BackOff(ctx, try)
	case dbconn.IsTimeLimit(err):
		return try < maxRollbacks && waited < dbconn.LockTimeout
	}
	return try < maxRollbacks && lostConnection(err) && dbconn.BackOff(ctx, try)
}

// writeOnce runs the member in one transaction that both database/sql, for the
// generated queries, and pgx, for the queue, can use: it begins on the pgx
// connection beneath the *sql.Conn.
func (w *postgresWriter) writeOnce(ctx context.Context, m *member) error {
	conn, err := w.db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("take connection: %w", err)
	}
	defer conn.Close()
	limited, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), writeTimeout, dbconn.ErrNoAnswer)
	defer cancel()
	t, err := begin(limited, conn)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer t.Rollback(limited)
	tx := &Tx{Queries: gen.New(conn), Store: w.s, Ctx: limited, DBTX: conn, Batch: newBatch()}
	defer w.s.releaseWorkers(tx.Batch)
	id, err := w.execute(tx, t, m)
	if err != nil && limited.Err() != nil {
		return dbconn.Unavailable(fmt.Errorf("%w: %w", dbconn.ErrNoAnswer, err))
	}
	if err != nil {
		return err
	}
	if m.set != nil { // ExecuteAlone finds out whether an earlier attempt was committed
		err = m.set.commitFailed(w.s, timed(w.s, func() error { return t.Commit(limited) }))
	} else {
		err = timed(w.s, func() error { return w.s.commit(ctx, limited, t, id) })
	}
	if err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	w.s.dispatch(tx.Batch)
	return nil
}

// execute does everything except the commit and returns the transaction ID.
func (w *postgresWriter) execute(tx *Tx, t pgx.Tx, m *member) (id string, err error) {
	if left, short := dbconn.LockTimeLeft(m.since); short && w.s.Config.Instance != "" && !flow.OutlastsOutages(m.ctx) {
		if _, err := t.Exec(tx.Ctx, dbconn.ShortenLockTimeout, left); err != nil {
			return "", fmt.Errorf("shorten the wait for locks: %w", err)
		}
	}
	if m.d == Relaxed {
		if _, err := t.Exec(tx.Ctx, "SET LOCAL synchronous_commit TO OFF"); err != nil {
			return "", fmt.Errorf("relax synchronous commit: %w", err)
		}
	}
	if err := m.execute(tx); err != nil {
		return "", err
	}
	if err := tx.flush(t); err != nil {
		return "", err
	}
	b := &pgx.Batch{}
	if err := tx.queueCounters(b); err != nil {
		return "", err
	}
	b.Queue(selectTransaction).QueryRow(func(row pgx.Row) error {
		var xid *string
		if err := row.Scan(&xid); err != nil || xid == nil {
			return err
		}
		id = *xid
		return nil
	})
	if err := t.SendBatch(tx.Ctx, b).Close(); err != nil {
		return "", fmt.Errorf("write counters: %w", err)
	}
	return id, nil
}

// queueCounters adds the statements of flushCounters to a batch.
func (tx *Tx) queueCounters(b *pgx.Batch) error {
	counters := *tx
	counters.Queries, counters.DBTX = gen.New(batchDB{b}), batchDB{b}
	return counters.flushCounters()
}

// batchDB adds statements to a batch instead of running them. It cannot run
// queries that return rows.
type batchDB struct{ b *pgx.Batch }

// ExecContext adds the statement to the batch instead of sending it. The number of affected
// rows is not known before the batch is sent, so callers must not ask for it.
func (q batchDB) ExecContext(_ context.Context, query string, args ...any) (sql.Result, error) {
	q.b.Queue(query, args...)
	return driver.ResultNoRows, nil
}

func (batchDB) PrepareContext(context.Context, string) (*sql.Stmt, error) { return nil, errQueued }

func (batchDB) QueryContext(context.Context, string, ...any) (*sql.Rows, error) {
	return nil, errQueued
}

func (batchDB) QueryRowContext(context.Context, string, ...any) *sql.Row { panic(errQueued) }

var errQueued = errors.New("db: only statements without results can be queued")

// begin begins a transaction on the pgx connection beneath conn.
func begin(ctx context.Context, conn *sql.Conn) (t pgx.Tx, err error) {
	err = conn.Raw(func(c any) error {
		t, err = dbconn.PgxOf(c).Begin(ctx)
		return err
	})
	return t, err
}

// admissionLock is the advisory lock that PostgreSQL transactions hold while they
// admit runs close to a limit.
const admissionLock = 0x536c7570

// lockAdmission takes the admission lock until the end of the transaction. SQLite
// has one writer and needs no lock.
func (tx *Tx) lockAdmission() error {
	if !tx.Store.IsPostgres() || tx.Batch.Counts.locked {
		return nil
	}
	if err := tx.Lock(admissionLock); err != nil {
		return fmt.Errorf("lock admission: %w", err)
	}
	tx.Batch.Counts.recount()
	tx.Batch.Counts.locked = true
	return nil
}

// Lock takes an advisory lock of PostgreSQL until the end of the transaction. On
// SQLite, which has one writer, it does nothing.
func (tx *Tx) Lock(id int64) error {
	if !tx.Store.IsPostgres() {
		return nil
	}
	_, err := tx.DBTX.ExecContext(tx.Ctx, "SELECT pg_advisory_xact_lock($1)", id)
	return err
}
