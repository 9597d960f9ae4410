package db

import (
	"context"
	"fmt"
	"runtime/debug"

	"sluice/db/gen"
	"sluice/flow"
)

// durability says whether a write must be on disk before it counts.
type durability bool

const (
	durable durability = true
	// relaxed writes are lost together when the machine (not the process)
	// stops; nothing is left half done, and a later durable write brings them
	// to disk with it.
	relaxed durability = false
)

// Tx is one member of a transaction. What all members need once, such as the
// insert of their jobs, is gathered in the batch and written before the commit.
type Tx struct {
	*gen.Queries
	s     *core
	ctx   context.Context // never ends: cutting a statement would cut the neighbours' too
	db    gen.DBTX
	batch *batch
	front front // of the queue, while runs are admitted on PostgreSQL
}

// Enqueue hands a job to the queue when the transaction commits.
func (tx *Tx) Enqueue(job flow.Job) { tx.batch.jobs = append(tx.batch.jobs, job) }

// tell announces that a run was written to whoever waits for it.
func (tx *Tx) tell(runID string) { tx.batch.told = append(tx.batch.told, runID) }

// batch is what the members of one transaction share.
type batch struct {
	jobs []flow.Job // for the tables of the queue
	runs []flow.Job // for the reserved workers of this process
	// reserved counts the workers that were taken for runs, and freed those that
	// runs of this transaction let go of.
	reserved, freed int

	usage []usageEntry
	hours []hourEntry
	moves []move
	told  []string
	room  room
	// deliveries is set when a delivery was queued or a slot became free. A
	// failed write may leave it set, which is harmless.
	deliveries bool

	storage []storageEntry

	keysChanged bool // what is remembered of keys may be wrong after the commit
}

// mark remembers how far a batch was filled before a member.
type mark struct{ jobs, runs, freed, usage, hours, moves, told, storage int }

func newBatch() *batch { return &batch{room: newRoom()} }

func (b *batch) mark() mark {
	return mark{len(b.jobs), len(b.runs), b.freed, len(b.usage), len(b.hours), len(b.moves), len(b.told), len(b.storage)}
}

// undo forgets what was gathered since the mark, for a member that failed.
func (b *batch) undo(m mark, q Queue) {
	for _, mv := range b.moves[m.moves:] {
		b.room.apply(move{mv.ws, mv.flow, mv.to, mv.from})
	}
	if n := len(b.runs) - m.runs; n > 0 {
		b.reserved -= n
		q.Return(n)
	}
	b.room.forgetLine()
	b.runs, b.freed = b.runs[:m.runs], m.freed
	b.jobs, b.usage, b.hours = b.jobs[:m.jobs], b.usage[:m.usage], b.hours[:m.hours]
	b.moves, b.told, b.storage = b.moves[:m.moves], b.told[:m.told], b.storage[:m.storage]
}

// flush writes the gathered changes except counters. handle is the transaction
// in the form that the queue takes.
func (tx *Tx) flush(handle any) error {
	if err := tx.flushLengths(); err != nil {
		return fmt.Errorf("write queue lengths: %w", err)
	}
	if q := tx.s.queueOrNil(); q != nil && len(tx.batch.jobs) > 0 {
		if err := q.InsertTx(tx.ctx, handle, tx.batch.jobs); err != nil {
			return fmt.Errorf("insert %d jobs: %w", len(tx.batch.jobs), err)
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
