package db

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
func (s *core) UseQueue(q Queue) { s.queue.Store(&q) }

func (s *core) queueOrNil() Queue {
	if q := s.queue.Load(); q != nil {
		return *q
	}
	return nil
}

// take reserves a worker of this process and returns what the row of its run
// says: who holds the run. It is empty if no worker is free.
func (tx *Tx) take() (holder string) {
	q := tx.s.queueOrNil()
	if q == nil || !q.Take(tx.batch.freed) {
		return ""
	}
	tx.batch.reserved++
	return tx.s.holder()
}

// untake is for a worker that was reserved for a run that somebody else has.
func (tx *Tx) untake(holder string) {
	if holder != "" {
		tx.batch.reserved--
		tx.s.queueOrNil().Return(1)
	}
}

// handRun brings a run to the worker that take reserved, or else, through the
// tables of the queue, to one of any instance.
func (tx *Tx) handRun(j flow.Job, holder string) {
	if holder != "" {
		tx.batch.runs = append(tx.batch.runs, j)
	} else {
		tx.Enqueue(j)
	}
}

// busyAt is the busy column of a run that is handed to a holder: until it tells
// more, one that begins counts as busy. SQLite has a file for that.
func (tx *Tx) busyAt(holder string) int64 { return dbconn.BoolInt(holder != "" && tx.s.pool != nil) }

// wake hands out the jobs of a committed batch.
func (s *core) wake(b *batch) {
	s.changed()
	if b.keysChanged {
		s.recent.keys.Purge()
	}
	if s.pool != nil {
		s.live.committed(b.moves)
		s.notifier.tell(b.told)
	}
	q := s.queueOrNil()
	if q == nil {
		return
	}
	if len(b.runs) > 0 {
		q.Work(b.runs)
		b.reserved -= len(b.runs)
		b.runs = nil
	}
	if len(b.jobs) > 0 {
		q.Wake(b.jobs)
	}
	if b.deliveries {
		q.WakeDeliveries()
	}
}

// drop returns the workers that a batch reserved and did not use, because it
// was not committed.
func (s *core) drop(b *batch) {
	if b.reserved > 0 {
		s.queueOrNil().Return(b.reserved)
		b.reserved = 0
	}
}

// holder names this instance in rows that it holds.
func (s *core) holder() string {
	if id := s.self.Load(); id != nil && *id != "" {
		return *id
	}
	return "alone"
}
