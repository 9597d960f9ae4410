package core

import (
	"context"

	"sluice/db/dbconn"
	"sluice/flow"
)

// Queue brings the jobs of committed transactions to workers: runs to the
// workers of this process, in memory, as long as one is free, and everything
// else to the workers of any process, through the tables of the queue.
type Queue interface {
	// Take reserves a worker of this process for a run. It reports false if none
	// is free, not even with those that the same transaction sets free.
	Take(freed int) bool
	// Return gives back reserved workers that are not needed after all.
	Return(n int)
	// Work hands runs to the reserved workers, after the commit.
	Work(runs []flow.Job)

	// InsertTx inserts jobs into the tables of the queue. It gets the *sql.Tx on
	// SQLite and the pgx.Tx on PostgreSQL; Wake is called once that is committed.
	InsertTx(ctx context.Context, tx any, jobs []flow.Job) error
	Wake(jobs []flow.Job)
	// WakeDeliveries is called after a commit that queued a delivery or freed a
	// slot; the queue then calls DueDeliveries.
	WakeDeliveries()
}

// UseQueue makes this process hand out jobs. Without a queue rows wait for the
// scheduler of a process that has one.
func (s *DB) UseQueue(q Queue) { s.queue.Store(&q) }

func (s *DB) QueueOrNil() Queue {
	if q := s.queue.Load(); q != nil {
		return *q
	}
	return nil
}

// Take reserves a worker of this process and returns what the row of its run
// says: who holds the run. It is empty if no worker is free.
func (tx *Tx) Take() (holder string) {
	q := tx.Store.QueueOrNil()
	if q == nil || !q.Take(tx.Batch.freed) {
		return ""
	}
	tx.Batch.reserved++
	return tx.Store.Holder()
}

// Untake is for a worker that was reserved for a run that somebody else has.
func (tx *Tx) Untake(holder string) {
	if holder != "" {
		tx.Batch.reserved--
		tx.Store.QueueOrNil().Return(1)
	}
}

// HandRun brings a run to the worker that take reserved, or else, through the
// tables of the queue, to one of any instance.
func (tx *Tx) HandRun(j flow.Job, holder string) {
	if holder != "" {
		tx.Batch.runs = append(tx.Batch.runs, j)
	} else {
		tx.Enqueue(j)
	}
}

// BusyAt is the busy column of a run that is handed to a holder: until it tells
// more, one that begins counts as busy. SQLite has a file for that.
func (tx *Tx) BusyAt(holder string) int64 {
	return dbconn.BoolInt(holder != "" && tx.Store.pool != nil)
}

// wake hands out the jobs of a committed batch.
func (s *DB) wake(b *batch) {
	s.changed()
	if b.KeysChanged {
		s.Recent.Keys.Purge()
	}
	if s.pool != nil {
		s.Live.committed(b.moves)
		s.notifier.tell(b.told)
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

// drop returns the workers that a batch reserved and did not use, because it
// was not committed.
func (s *DB) drop(b *batch) {
	if b.reserved > 0 {
		s.QueueOrNil().Return(b.reserved)
		b.reserved = 0
	}
}

// Holder names this instance in rows that it holds.
func (s *DB) Holder() string {
	if id := s.Self.Load(); id != nil && *id != "" {
		return *id
	}
	return "alone"
}
