package core

import (
	"context"
	"slices"

	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
)

// DefaultMaxQueued is the queue limit of a workspace that has none set.
const DefaultMaxQueued = 1_000_000

// admitOrQueue returns where a new run begins: with a worker if there is a free
// slot, else in the queue, unless that is full. holder is this instance if the worker is one
// of its own.
func (tx *Tx) admitOrQueue(k FlowKey) (place int64, holder string, err error) {
	limits, err := tx.FlowLimits(k)
	if err != nil {
		return 0, "", err
	}
	free, err := tx.hasSlot(k, limits)
	if err != nil {
		return 0, "", err
	}
	if free && tx.Store.QueueOrNil() != nil {
		return PlaceWorker, tx.Take(), nil
	}
	return placeQueue, "", tx.checkQueue(k, limits)
}

// hasSlot reports whether one more run of the flow may be admitted. Limits are
// exact. On PostgreSQL the capacity is not: starts that come together do
// not wait for each other, and the jobs over it wait for a worker instead.
func (tx *Tx) hasSlot(k FlowKey, l flowLimits) (bool, error) {
	limit, err := tx.capacity()
	if err != nil {
		return false, err
	}
	n, err := tx.count(FlowKey{})
	if err != nil {
		return false, err
	}
	if n+1 >= limit || l.MaxRunning > 0 || l.AllRunning > 0 {
		if err := tx.lockAdmission(); err != nil {
			return false, err
		}
	}
	return tx.underLimits(flowBound{FlowKey{}, limit}, flowBound{FlowKey{k.ws, ""}, l.AllRunning}, flowBound{k, l.MaxRunning})
}

type flowBound struct {
	key   FlowKey
	limit int64
}

// underLimits reports whether all counts are under their limits. A limit of 0
// means unlimited, except for the first (the capacity), where 0 admits nothing.
func (tx *Tx) underLimits(bounds ...flowBound) (bool, error) {
	for i, b := range bounds {
		if i > 0 && b.limit == 0 {
			continue
		}
		n, err := tx.count(b.key)
		if err != nil || n >= b.limit {
			return false, err
		}
	}
	return true, nil
}

// checkQueue refuses a run when the queue of its flow or workspace is full.
func (tx *Tx) checkQueue(k FlowKey, l flowLimits) error {
	most := l.AllQueued
	if most == 0 {
		most = DefaultMaxQueued
	}
	for _, b := range []flowBound{{k, l.MaxQueued}, {FlowKey{k.ws, ""}, most}} {
		if b.limit == 0 {
			continue
		}
		n, err := tx.queueLength(b.key)
		if err != nil {
			return err
		}
		if n >= b.limit {
			e := flow.Errorf(flow.CodeQueueFull, "%d runs are waiting already. Try again when some have ended.", n)
			e.Retryable, e.After = true, dbconn.RetryAfter
			return e
		}
	}
	return nil
}

func (tx *Tx) queueLength(k FlowKey) (int64, error) {
	r := &tx.Batch.Counts
	n, ok := r.queued[k]
	if !ok {
		var err error
		if k.flow == "" {
			n, err = tx.QueueLengthOfWorkspace(tx.Ctx, k.ws)
		} else {
			n, err = tx.QueueLengthOfFlow(tx.Ctx, gen.QueueLengthOfFlowParams{WorkspaceID: k.ws, FlowID: k.flow})
		}
		if err != nil && !dbconn.IsNoRows(err) {
			return 0, err
		}
		r.queued[k] = n
	}
	return n + r.joined[k], nil
}

// flushLengths stores how the queues have grown, in one order everywhere so
// that transactions cannot wait for each other in a circle.
func (tx *Tx) flushLengths() error {
	var keys []FlowKey
	for k, d := range tx.Batch.Counts.joined {
		if k.flow != "" && d != 0 {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(a, b FlowKey) int { return dbconn.CompareTexts(a.ws, b.ws, a.flow, b.flow) })
	for _, k := range keys {
		err := tx.AddQueueLength(tx.Ctx, gen.AddQueueLengthParams{WorkspaceID: k.ws, FlowID: k.flow, Queued: tx.Batch.Counts.joined[k]})
		if err != nil {
			return err
		}
	}
	return nil
}

// AdmitRuns admits up to limit queued runs while there is room. Ends of runs
// admit by themselves; this is for room that came otherwise: a raised limit, a
// new instance, rows of a process without a queue.
func (s Execution) AdmitRuns(ctx context.Context, limit int) (n int, err error) {
	if s.QueueOrNil() == nil {
		return 0, nil
	}
	if _, err := s.Reads.NextWorkspace(ctx, ""); dbconn.IsNoRows(err) {
		return 0, nil
	}
	err = s.Write(ctx, Durable, func(tx *Tx) error {
		if err := tx.lockAdmission(); err != nil {
			return err
		}
		n, err = tx.admit(limit)
		return err
	})
	return n, err
}
