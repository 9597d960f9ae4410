package core

import (
	"context"
	"fmt"

	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
)

// MakersOf returns the keys that a key was made by, its own maker first. Nothing is read
// for a key that a person made.
func MakersOf(ctx context.Context, q *gen.Queries, ws flow.WorkspaceID, k *flow.Key) (list []flow.Key, err error) {
	for maker := k.Maker(); maker != "" && len(list) < flow.MaxKeyMakers; {
		r, err := q.FindKey(ctx, gen.FindKeyParams{ID: maker, WorkspaceID: ws})
		if err != nil {
			return nil, fmt.Errorf("find the key %s, which made another: %w", maker, err)
		}
		list = append(list, KeyOf(r))
		maker = list[len(list)-1].Maker()
	}
	return list, nil
}

// AllowRows returns how many rows of a batch, at most n, may start now. Rows use the slots that no queued run of the
// workspace wants, except that one row is always in progress. Each counts as a start against the runs per day of
// the flow and of the key.
func AllowRows(tx *Tx, c *flow.Children, keyID string, n int) (int, error) {
	k := FlowKey{c.WorkspaceID, c.FlowID}
	limits, err := tx.FlowLimits(k)
	if err != nil {
		return 0, err
	}
	free, err := spareSlots(tx, k, limits)
	if err != nil {
		return 0, fmt.Errorf("count the free slots of %s: %w", c.FlowID, err)
	}
	if c.Running == 0 {
		free = max(free, 1)
	}
	if n = int(min(int64(n), free)); n <= 0 {
		return 0, nil
	}
	budgets := []flow.Budget{{FlowID: c.FlowID, Limit: limits.RunsPerDay}}
	if keyID != "" {
		r, err := tx.Queries.FindKey(tx.Ctx, gen.FindKeyParams{ID: keyID, WorkspaceID: c.WorkspaceID})
		if err != nil && !dbconn.IsNoRows(err) {
			return 0, fmt.Errorf("find the key %s of a batch: %w", keyID, err)
		}
		if err == nil {
			key := KeyOf(r)
			if key.Makers, err = MakersOf(tx.Ctx, tx.Queries, c.WorkspaceID, &key); err != nil {
				return 0, err
			}
			budgets = nil // keys come before the flow, as in takeBudgets
			for _, k := range keysOf(&key) {
				budgets = append(budgets, flow.Budget{KeyID: k.ID, Limit: k.RunsPerDay})
			}
			budgets = append(budgets, flow.Budget{FlowID: c.FlowID, Limit: limits.RunsPerDay})
		}
	}
	return takeStarts(tx, c.WorkspaceID, budgets, n)
}

// spareSlots returns how many runs of a flow could be admitted now, or 0 while runs of the workspace are queued. It takes
// no lock, so it may be a little off; admission itself is exact.
func spareSlots(tx *Tx, k FlowKey, l flowLimits) (int64, error) {
	if tx.Store.QueueOrNil() == nil {
		return flow.MaxChildConcurrency, nil // a process with workers decides
	}
	queued, err := tx.queueLength(FlowKey{k.ws, ""})
	if err != nil || queued > 0 {
		return 0, err
	}
	capacity, err := tx.capacity()
	if err != nil {
		return 0, err
	}
	free := int64(flow.MaxChildConcurrency)
	for _, b := range []flowBound{{FlowKey{}, max(capacity, 1)}, {FlowKey{k.ws, ""}, l.AllRunning}, {k, l.MaxRunning}} {
		if b.limit == 0 {
			continue
		}
		n, err := tx.count(b.key)
		if err != nil {
			return 0, err
		}
		free = min(free, max(b.limit-n, 0))
	}
	return free, nil
}

// SpareCapacity returns how many runs all instances together may still admit, as this process knows it without a query; -1 if it does
// not. It may be a little off; admission itself is exact.
func SpareCapacity(tx *Tx) (int64, error) {
	if tx.Store.QueueOrNil() == nil {
		return flow.MaxChildConcurrency, nil // a process with workers decides
	}
	running, known := tx.Batch.Counts.admitted[FlowKey{}]
	if !known && !tx.Batch.Counts.locked {
		running, known = tx.Store.Live.admitted()
	}
	if !known {
		return -1, nil
	}
	capacity, err := tx.capacity()
	return min(max(capacity-running, 0), flow.MaxChildConcurrency), err
}

// takeStarts takes up to n starts from budgets of runs, and returns how many. The rows are locked first.
func takeStarts(tx *Tx, ws flow.WorkspaceID, budgets []flow.Budget, n int) (int, error) {
	day := DayOf(tx.Store.Config.Now())
	add := func(b *flow.Budget, runs int64) (int64, error) {
		subject := b.KeyID + string(b.FlowID)
		used, err := tx.Queries.AddStarts(tx.Ctx, gen.AddStartsParams{WorkspaceID: ws, Subject: subject, Day: day, Runs: runs})
		if err != nil {
			return 0, fmt.Errorf("take starts from the budget of %s: %w", subject, err)
		}
		return used, nil
	}
	for i := range budgets {
		if budgets[i].Limit <= 0 {
			continue
		}
		used, err := add(&budgets[i], 0)
		if err != nil {
			return 0, err
		}
		n = int(max(0, min(int64(n), budgets[i].Limit-used)))
	}
	for i := range budgets {
		if budgets[i].Limit <= 0 || n == 0 {
			continue
		}
		if _, err := add(&budgets[i], int64(n)); err != nil {
			return 0, err
		}
	}
	return n, nil
}
