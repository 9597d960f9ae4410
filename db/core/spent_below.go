package core

import (
	"cmp"
	"hash/fnv"
	"time"

	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
)

// spentParts is the number of rows that add up what the child runs below a flow have
// cost on a day. A run always uses the same one.
const spentParts = 8

// belowEntry is a cost of a child run, for one flow above it.
type belowEntry struct {
	ws     flow.WorkspaceID
	flowID flow.FlowID
	day    string
	part   int64
	cost   flow.NanoUSD
}

// addSpentBelow counts the cost of a step of a child run for the budgets of the flows above.
func (b *batch) addSpentBelow(r *flow.Run, cost flow.NanoUSD, now time.Time) {
	if cost == 0 || len(r.FlowsAbove) == 0 {
		return
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(r.ID)) // a hash never fails
	for _, id := range r.FlowsAbove {
		b.below = append(b.below, belowEntry{r.WorkspaceID, id, DayOf(now), int64(h.Sum32() % spentParts), cost})
	}
}

// flushBelow stores the costs of child runs, in a fixed order so that transactions
// cannot deadlock.
func (tx *Tx) flushBelow() error {
	compare := func(a, b belowEntry) int {
		return cmp.Or(dbconn.CompareTexts(string(a.ws), string(b.ws), string(a.flowID), string(b.flowID), a.day, b.day), cmp.Compare(a.part, b.part))
	}
	for _, e := range mergeEqual(tx.Batch.below, compare, func(sum, e *belowEntry) { sum.cost += e.cost }) {
		err := tx.Queries.AddSpentBelow(tx.Ctx, gen.AddSpentBelowParams{WorkspaceID: e.ws, FlowID: e.flowID, Day: e.day, Part: e.part, CostNanoUsd: e.cost})
		if err != nil {
			return err
		}
	}
	return nil
}
