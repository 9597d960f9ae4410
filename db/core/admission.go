package core

import (
	"cmp"
	"context"
	"slices"

	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow/fairness"
)

// admitOrQueue returns the first place of a new run: with a worker if there is a
// free slot, otherwise in the queue unless it is full. holder is this instance
// if one of its own workers was reserved.
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
		return PlaceWorker, tx.ReserveWorker(), nil
	}
	return placeQueue, "", tx.checkQueue(k, limits)
}

// hasSlot reports whether one more run of the flow may be admitted. The limits
// of flows and workspaces are exact. On PostgreSQL the capacity is not:
// concurrent starts do not wait for each other, and jobs beyond the capacity
// wait for a worker instead.
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

// flowBound is a limit for the number of admitted or queued runs of a key.
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

// checkQueue returns an error if the queue of the flow or workspace is full.
func (tx *Tx) checkQueue(k FlowKey, l flowLimits) error {
	for _, b := range []flowBound{{k, l.MaxQueued}, {FlowKey{k.ws, ""}, cmp.Or(l.AllQueued, fairness.DefaultMaxQueued)}} {
		if b.limit == 0 {
			continue
		}
		n, err := tx.queueLength(b.key)
		if err == nil && n >= b.limit {
			var children int64 // do not count; they belong to runs that were accepted
			children, err = tx.Queries.CountQueuedChildren(tx.Ctx, gen.CountQueuedChildrenParams{WorkspaceID: b.key.ws, FlowID: b.key.flow})
			n -= children
		}
		if err == nil {
			err = fairness.CheckQueueLength(n, b.limit)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// queueLength returns the number of queued runs of a flow or workspace,
// including the changes of this transaction.
func (tx *Tx) queueLength(k FlowKey) (int64, error) {
	r := &tx.Batch.Counts
	n, ok := r.queued[k]
	if !ok {
		var err error
		if k.flow == "" {
			n, err = tx.Queries.QueueLengthOfWorkspace(tx.Ctx, k.ws)
		} else {
			n, err = tx.Queries.QueueLengthOfFlow(tx.Ctx, gen.QueueLengthOfFlowParams{WorkspaceID: k.ws, FlowID: k.flow})
		}
		if err != nil && !dbconn.IsNoRows(err) {
			return 0, err
		}
		r.queued[k] = n
	}
	return n + r.joined[k], nil
}

// flushLengths stores the changes of queue lengths in a fixed order, so that
// transactions cannot deadlock.
func (tx *Tx) flushLengths() error {
	var keys []FlowKey
	for k, d := range tx.Batch.Counts.joined {
		if k.flow != "" && d != 0 {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(a, b FlowKey) int {
		return dbconn.CompareTexts(string(a.ws), string(b.ws), string(a.flow), string(b.flow))
	})
	for _, k := range keys {
		err := tx.Queries.AddQueueLength(tx.Ctx, gen.AddQueueLengthParams{WorkspaceID: k.ws, FlowID: k.flow, Queued: tx.Batch.Counts.joined[k]})
		if err != nil {
			return err
		}
	}
	return nil
}

// AdmitRuns admits up to limit queued runs while there are free slots. The end of
// a run admits the next one in its own transaction; AdmitRuns is for slots that
// become free in other ways: a raised limit, a new instance, or runs queued by a
// process without workers.
func (s Execution) AdmitRuns(ctx context.Context, limit int) (n int, err error) {
	if s.DB.QueueOrNil() == nil {
		return 0, nil
	}
	if _, err := s.DB.Reads.NextWorkspace(ctx, ""); dbconn.IsNoRows(err) {
		return 0, nil
	}
	err = s.DB.Write(ctx, Durable, func(tx *Tx) error {
		if err := tx.lockAdmission(); err != nil {
			return err
		}
		n, err = tx.admit(limit)
		return err
	})
	return n, err
}
