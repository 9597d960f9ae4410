package core

import (
	"context"
	"database/sql"

	"sluice/db/dbconn"
	"sluice/flow"
)

// Queue hands the jobs of committed transactions to workers: runs to free workers
// of this process, in memory, and everything else to the workers of any process,
// through the tables of the queue.
type Queue interface {
	// Take reserves a worker of this process for a run. It reports false if no
	// worker is free, including the workers that the same transaction frees.
	Take(freed int) bool
	// Return releases reserved workers that are not needed.
	Return(n int)
	// Work hands runs to the reserved workers, after the commit.
	Work(runs []flow.Job)

	// InsertTx inserts jobs into the tables of the queue. tx is a *sql.Tx on SQLite
	// and a pgx.Tx on PostgreSQL. Wake is called after the commit.
	InsertTx(ctx context.Context, tx any, jobs []flow.Job) error
	Wake(jobs []flow.Job)
	// WakeDeliveries is called after a commit that queued a delivery or freed a
	// slot; the queue then calls DueDeliveries.
	WakeDeliveries()
}

// UseQueue makes this process hand jobs to workers. Without a queue, runs and
// deliveries wait for the scheduler of another process.
func (s *DB) UseQueue(q Queue) { s.queue.Store(&q) }

// QueueOrNil returns the queue of this process, nil for one without workers.
func (s *DB) QueueOrNil() Queue {
	if q := s.queue.Load(); q != nil {
		return *q
	}
	return nil
}

// ReserveWorker reserves a worker of this process and returns the holder to write
// to the row of its run. The holder is empty if no worker is free.
func (tx *Tx) ReserveWorker() (holder string) {
	q := tx.Store.QueueOrNil()
	if q == nil || !q.Take(tx.Batch.freed) {
		return ""
	}
	tx.Batch.reserved++
	return tx.Store.Holder()
}

// ReturnWorker releases a reserved worker whose run was taken by another process.
func (tx *Tx) ReturnWorker(holder string) {
	if holder != "" {
		tx.Batch.reserved--
		tx.Store.QueueOrNil().Return(1)
	}
}

// HandRun hands a run to the reserved worker after the commit, or, without a
// holder, to a worker of any instance through the tables of the queue.
func (tx *Tx) HandRun(j flow.Job, holder string) {
	if holder != "" {
		tx.Batch.runs = append(tx.Batch.runs, j)
	} else {
		tx.Enqueue(j)
	}
}

// BusyAt returns the busy column of a run that is handed to a holder. On
// PostgreSQL a run counts as busy from the start, until SaveBusy records more. On
// SQLite a file marks the busy runs.
func (tx *Tx) BusyAt(holder string) int64 {
	return dbconn.BoolInt(holder != "" && tx.Store.IsPostgres())
}

// dispatch hands out the jobs of a committed batch and announces its changes.
func (s *DB) dispatch(b *batch) {
	s.changed()
	s.refusals.committed(b)
	if s.Config.Audited != nil {
		for _, r := range b.Audit {
			s.Config.Audited(r)
		}
	}
	if b.KeysChanged {
		s.Recent.Keys.Purge()
	}
	if s.IsPostgres() {
		s.Live.applyMoves(b.moves)
		s.notifier.notify(b.written)
	}
	q := s.QueueOrNil()
	if q == nil {
		return
	}
	if len(b.runs) > 0 {
		q.Work(b.runs)
		b.reserved -= len(b.runs)
		b.runs = nil
	}
	if len(b.Jobs) > 0 {
		q.Wake(b.Jobs)
	}
	if b.Deliveries {
		q.WakeDeliveries()
	}
}

// releaseWorkers releases the workers that a batch reserved but did not use, because it was
// not committed.
func (s *DB) releaseWorkers(b *batch) {
	if b.reserved > 0 {
		s.QueueOrNil().Return(b.reserved)
		b.reserved = 0
	}
}

// Holder returns the name of this instance in the rows of runs that it holds.
func (s *DB) Holder() string {
	if id := s.Self.Load(); id != nil && *id != "" {
		return *id
	}
	return "alone"
}

// WriteQueue runs the queue's own statements on SQLite as part of the next group
// commit. They need no sync, because recovery after a crash relies on the rows of
// runs and deliveries and not on the jobs.
func (s *DB) WriteQueue(ctx context.Context, fn func(*sql.Tx) error) error {
	return s.Write(ctx, Relaxed, func(tx *Tx) error { return fn(tx.DBTX.(dbconn.SQLiteParams).DB.(*sql.Tx)) })
}
