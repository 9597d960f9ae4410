package core

import (
	"context"
	"fmt"
	"runtime/debug"

	"sluice/db/gen"
	"sluice/flow"
)

// Durability says whether a write must be on disk before it counts.
type Durability bool

const (
	Durable Durability = true
	// Relaxed writes are lost together when the machine (not the process)
	// stops; nothing is left half done, and a later durable write brings them
	// to disk with it.
	Relaxed Durability = false
)

// Tx is one member of a transaction. What all members need once, such as the
// insert of their jobs, is gathered in the batch and written before the commit.
type Tx struct {
	*gen.Queries
	Store *DB
	Ctx   context.Context // never ends: cutting a statement would cut the neighbours' too
	DBTX  gen.DBTX
	Batch *batch
	front front // of the queue, while runs are admitted on PostgreSQL
}

// Enqueue hands a job to the queue when the transaction commits.
func (tx *Tx) Enqueue(job flow.Job) { tx.Batch.Jobs = append(tx.Batch.Jobs, job) }

// Notify announces that a run was written to whoever waits for it.
func (tx *Tx) Notify(runID string) { tx.Batch.told = append(tx.Batch.told, runID) }

// Batch is what the members of one transaction share.
type batch struct {
	Jobs []flow.Job // for the tables of the queue
	runs []flow.Job // for the reserved workers of this process
	// reserved counts the workers that were taken for runs, and freed those that
	// runs of this transaction let go of.
	reserved, freed int

	usage  []UsageEntry
	hours  []hourEntry
	moves  []move
	told   []string
	Counts room
	// Deliveries is set when a delivery was queued or a slot became free. A
	// failed write may leave it set, which is harmless.
	Deliveries bool

	storage []storageEntry

	KeysChanged bool // what is remembered of keys may be wrong after the commit
}

// mark remembers how far a batch was filled before a member.
type mark struct{ jobs, runs, freed, usage, hours, moves, told, storage int }

func newBatch() *batch { return &batch{Counts: newRoom()} }

func (b *batch) mark() mark {
	return mark{len(b.Jobs), len(b.runs), b.freed, len(b.usage), len(b.hours), len(b.moves), len(b.told), len(b.storage)}
}

// undo forgets what was gathered since the mark, for a member that failed.
func (b *batch) undo(m mark, q Queue) {
	for _, mv := range b.moves[m.moves:] {
		b.Counts.apply(move{mv.ws, mv.flow, mv.to, mv.from})
	}
	if n := len(b.runs) - m.runs; n > 0 {
		b.reserved -= n
		q.Return(n)
	}
	b.Counts.forgetQueue()
	b.runs, b.freed = b.runs[:m.runs], m.freed
	b.Jobs, b.usage, b.hours = b.Jobs[:m.jobs], b.usage[:m.usage], b.hours[:m.hours]
	b.moves, b.told, b.storage = b.moves[:m.moves], b.told[:m.told], b.storage[:m.storage]
}

// flush writes the gathered changes except counters. handle is the transaction
// in the form that the queue takes.
func (tx *Tx) flush(handle any) error {
	if err := tx.flushLengths(); err != nil {
		return fmt.Errorf("write queue lengths: %w", err)
	}
	if q := tx.Store.QueueOrNil(); q != nil && len(tx.Batch.Jobs) > 0 {
		if err := q.InsertTx(tx.Ctx, handle, tx.Batch.Jobs); err != nil {
			return fmt.Errorf("insert %d jobs: %w", len(tx.Batch.Jobs), err)
		}
	}
	return nil
}

// flushCounters comes last: on PostgreSQL many transactions update the rows of
// a busy flow, so they should be locked as briefly as possible.
func (tx *Tx) flushCounters() error {
	if err := tx.flushHours(); err != nil {
		return fmt.Errorf("write hours of flows: %w", err)
	}
	if err := tx.flushUsage(); err != nil {
		return fmt.Errorf("write usage: %w", err)
	}
	if err := tx.flushStorage(); err != nil {
		return fmt.Errorf("write storage: %w", err)
	}
	return nil
}

// safely runs a member and turns a panic into its error, since a panic must
// not take the neighbours of the transaction with it.
func safely(fn func(*Tx) error, tx *Tx) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("db: write function panicked: %v\n%s", p, debug.Stack())
		}
	}()
	return fn(tx)
}
