package core

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"sluice/db/dbconn"
	"sluice/db/gen"
)

// maxSavepointGroups is the number of groups that use savepoints after a group had a
// member that failed.
const maxSavepointGroups = 64

// GroupWriter runs the writes of many callers in one transaction, so that they
// share one sync of the disk. Members rarely fail. If one does, the group is
// repeated with a savepoint around each member, so that only that one fails.
type GroupWriter struct {
	*groups
	savepointGroups int // remaining groups that use savepoints
	s               *DB
	cache           admissionCache
	Transactions    atomic.Int64 // for tests
	Synced          atomic.Int64 // of them with a sync, for tests
}

// newGroupWriter starts the writer of groups. It commits one group at a time, because SQLite
// allows only one write transaction.
func newGroupWriter(s *DB) *GroupWriter {
	w := &GroupWriter{s: s}
	w.groups = newGroups(1, w.run)
	return w
}

// run commits the group. If the transaction itself fails, it retries each write
// in a transaction of its own.
func (w *GroupWriter) run(group []*member) {
	err := w.commit(group)
	if err != nil {
		w.cache = admissionCache{} // the next connection may be a different one
	}
	if errors.Is(err, errMemberFailed) {
		w.savepointGroups = maxSavepointGroups
		err = w.commit(group)
	}
	if lost, ok := errors.AsType[*lostError](err); ok && len(group) > 1 {
		w.s.Config.Log.Warn("a group of writes is repeated one by one", "members", len(group), "error", lost.cause)
		for _, m := range group {
			m.err = nil
			w.run([]*member{m})
		}
		return
	}
	for _, m := range group {
		if m.err == nil {
			m.err = err
		}
		close(m.done)
	}
}

// errMemberFailed is returned if a member failed in a group without savepoints.
var errMemberFailed = errors.New("a member failed")

// lostError is an error of the whole transaction rather than of one member.
type lostError struct{ cause error }

// Error returns the text of the error that rolled back the whole transaction.
func (e *lostError) Error() string { return e.cause.Error() }
func (e *lostError) Unwrap() error { return e.cause }

// commit runs the group in one transaction. It returns the connection afterwards,
// because the queue writes through the same one.
func (w *GroupWriter) commit(group []*member) (err error) {
	ctx := context.Background()
	conn, err := w.s.sqlite.Conn(ctx)
	if err != nil {
		return fmt.Errorf("take writer connection: %w", err)
	}
	defer conn.Close()
	if !needsSync(group) {
		// Inside a transaction SQLite refuses to change this.
		if _, err := conn.ExecContext(ctx, "PRAGMA synchronous = NORMAL"); err != nil {
			return fmt.Errorf("relax synchronous: %w", err)
		}
		defer w.restore(conn)
	} else {
		w.Synced.Add(1)
	}
	w.Transactions.Add(1)
	shortened, err := w.shortenWait(ctx, conn, group)
	if err != nil {
		return err
	}
	if shortened {
		defer w.restore(conn)
	}
	t, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer t.Rollback()
	return w.runMembers(ctx, t, group)
}

// runMembers runs the members within the transaction and commits it.
func (w *GroupWriter) runMembers(ctx context.Context, t *sql.Tx, group []*member) error {
	db := dbconn.SQLiteParams{DB: t}
	tx := &Tx{Queries: gen.New(db), Store: w.s, Ctx: ctx, DBTX: db, Batch: newBatch()}
	defer w.s.releaseWorkers(tx.Batch)
	if err := w.cache.load(tx); err != nil {
		return err
	}
	for _, m := range group {
		if err := w.runMember(tx, m, len(group) > 1); err != nil {
			return err
		}
	}
	w.savepointGroups = max(0, w.savepointGroups-1)
	if len(group) == 1 && group[0].err != nil {
		return nil // the rollback is enough
	}
	if err := dbconn.FirstError(func() error { return tx.flush(t) }, tx.flushCounters); err != nil {
		return &lostError{err}
	}
	if err := timed(w.s, t.Commit); err != nil {
		return &lostError{fmt.Errorf("commit: %w", err)}
	}
	w.cache.store(tx, group)
	w.s.dispatch(tx.Batch)
	return nil
}

// runMember runs one member. If the member fails, its changes are undone and the error
// is stored in it. If member returns an error, the transaction cannot continue.
func (w *GroupWriter) runMember(tx *Tx, m *member, many bool) error {
	switch {
	case !many:
		m.err = m.execute(tx)
		return nil
	case w.savepointGroups == 0:
		if m.execute(tx) != nil {
			return errMemberFailed
		}
		return nil
	}
	if err := w.runInSavepoint(tx, m); err != nil {
		return &lostError{err}
	}
	return nil
}

// runInSavepoint runs a member within a savepoint.
func (w *GroupWriter) runInSavepoint(tx *Tx, m *member) error {
	if _, err := tx.DBTX.ExecContext(tx.Ctx, "SAVEPOINT member"); err != nil {
		return fmt.Errorf("savepoint: %w", err)
	}
	at := tx.Batch.mark()
	if m.err = m.execute(tx); dbconn.IsCorrupt(m.err) {
		return m.err // after it SQLite accepts nothing more in this transaction
	}
	if m.err != nil {
		tx.Batch.undo(at, w.s.QueueOrNil())
		if _, err := tx.DBTX.ExecContext(tx.Ctx, "ROLLBACK TO member"); err != nil {
			return fmt.Errorf("roll back to savepoint after %w: %w", m.err, err)
		}
	}
	if _, err := tx.DBTX.ExecContext(tx.Ctx, "RELEASE member"); err != nil {
		return fmt.Errorf("release savepoint: %w", err)
	}
	return nil
}

// shortenWait subtracts the time that a batch has waited for the previous
// batch, so that another program's lock delays a caller by one timeout and not
// two.
func (w *GroupWriter) shortenWait(ctx context.Context, conn *sql.Conn, group []*member) (bool, error) {
	waited := time.Since(group[0].since)
	if waited < w.s.Config.BusyTimeout/10 {
		return false, nil
	}
	left := max(w.s.Config.BusyTimeout-waited, w.s.Config.BusyTimeout/10)
	if _, err := conn.ExecContext(ctx, fmt.Sprintf("PRAGMA busy_timeout = %d", left.Milliseconds())); err != nil {
		return false, fmt.Errorf("shorten the wait: %w", err)
	}
	return true, nil
}

// restore resets the settings of the connection before it is returned.
func (w *GroupWriter) restore(conn *sql.Conn) {
	settings := fmt.Sprintf("PRAGMA synchronous = FULL; PRAGMA busy_timeout = %d", w.s.Config.BusyTimeout.Milliseconds())
	if _, err := conn.ExecContext(context.Background(), settings); err != nil {
		w.s.Config.Log.Error("the writer's settings could not be restored", "error", err)
		w.cache = admissionCache{}
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	}
}

// needsSync reports whether a member of the group must survive a power failure. Then
// the whole group does.
func needsSync(group []*member) bool {
	return slices.ContainsFunc(group, func(m *member) bool { return m.d == Durable })
}
