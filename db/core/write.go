package core

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"sluice/db/gen"
	"sluice/flow"
)

// Durability is whether a write must be synced to disk before it returns.
type Durability bool

const (
	// Durable writes survive a failure of the machine.
	Durable Durability = true
	// Relaxed writes survive a crash of the process. If the machine fails, the last
	// ones may be lost, but never partially, and a later durable write also syncs
	// all relaxed writes before it.
	Relaxed Durability = false
)

// Tx is the transaction as a write function sees it. Changes that all members of
// the transaction write together, such as jobs, are gathered in Batch and written
// before the commit.
type Tx struct {
	Queries *gen.Queries
	Store   *DB
	Ctx     context.Context // is never canceled, because that would cancel the other members too
	DBTX    gen.DBTX
	Batch   *batch
	front   queueFront      // set while runs are admitted on PostgreSQL
	skip    map[string]bool // rows at which an earlier attempt failed; see Each
}

// Enqueue inserts a job into the queue when the transaction commits.
func (tx *Tx) Enqueue(job flow.Job) { tx.Batch.Jobs = append(tx.Batch.Jobs, job) }

// Notify notifies those who wait for the run after the commit.
func (tx *Tx) Notify(runID flow.RunID) { tx.Batch.written = append(tx.Batch.written, string(runID)) }

// batch is what the members of one transaction share.
type batch struct {
	Jobs []flow.Job // for the tables of the queue
	runs []flow.Job // for the reserved workers of this process
	// reserved counts the workers that were reserved for runs, and freed the workers
	// that runs of this transaction no longer need.
	reserved, freed int

	usage   []UsageEntry
	below   []belowEntry
	lost    []lostEntry
	ofRuns  []runSpending
	hours   []hourEntry
	moves   []move
	written []string
	Counts  counts
	// Deliveries is set when a delivery was queued or a slot became free. A
	// failed write may leave it set, which is harmless.
	Deliveries bool

	storage []storageEntry

	Children  []ChildEnd // runs that ended and are counted at the end of the transaction
	childRows [][]any    // child runs that a set writes last

	Audit []flow.AuditRecord // entries of the audit log, which are announced after the commit

	KeysChanged   bool // cached keys must be dropped after the commit
	LimitsChanged bool // limits of flows or workspaces were set
}

// mark is the length of each list of a batch before a member.
type mark struct{ jobs, runs, freed, usage, below, lost, ofRuns, hours, moves, written, storage, children, audit int }

// newBatch returns an empty batch.
func newBatch() *batch { return &batch{Counts: newCounts()} }

// mark remembers the length of each list, so that a failed member's part can be cut off
// again.
func (b *batch) mark() mark {
	return mark{len(b.Jobs), len(b.runs), b.freed, len(b.usage), len(b.below), len(b.lost), len(b.ofRuns), len(b.hours), len(b.moves), len(b.written), len(b.storage), len(b.Children), len(b.Audit)}
}

// undo removes what a failed member added since the mark.
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
	b.moves, b.written, b.storage = b.moves[:m.moves], b.written[:m.written], b.storage[:m.storage]
	b.Audit = b.Audit[:m.audit]
	b.Children, b.below, b.lost, b.ofRuns = b.Children[:m.children], b.below[:m.below], b.lost[:m.lost], b.ofRuns[:m.ofRuns]
}

// flush writes the gathered changes except counters. handle is the transaction as
// Queue.InsertTx expects it.
func (tx *Tx) flush(handle any) error {
	if err := tx.foldChildren(); err != nil {
		return fmt.Errorf("count the ends of child runs: %w", err)
	}
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

// flushCounters is called last: on PostgreSQL many transactions update the rows of
// a busy flow, so these must be locked as briefly as possible.
func (tx *Tx) flushCounters() error {
	if err := tx.flushHours(); err != nil {
		return fmt.Errorf("write hours of flows: %w", err)
	}
	if err := tx.flushUsage(); err != nil {
		return fmt.Errorf("write usage: %w", err)
	}
	if err := tx.flushBelow(); err != nil {
		return fmt.Errorf("write the cost of child runs: %w", err)
	}
	if err := tx.flushLost(); err != nil {
		return fmt.Errorf("write the estimates of lost calls: %w", err)
	}
	if err := flushRunSpending(tx); err != nil {
		return fmt.Errorf("write what runs have spent: %w", err)
	}
	if err := tx.flushStorage(); err != nil {
		return fmt.Errorf("write storage: %w", err)
	}
	return nil
}

// recoverPanic runs a member and converts a panic to its error, so that the other
// members of the transaction are not affected.
func recoverPanic(fn func(*Tx) error, tx *Tx) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("db: write function panicked: %v\n%s", p, debug.Stack())
		}
	}()
	return fn(tx)
}

// timed commits and reports how long that took.
func timed(s *DB, commit func() error) error {
	observe := s.Committed.Load()
	if observe == nil {
		return commit()
	}
	start := time.Now()
	err := commit()
	(*observe)(time.Since(start))
	return err
}
