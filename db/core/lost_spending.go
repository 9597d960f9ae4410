package core

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
)

// lostEntry is the estimated cost of a call whose bill is unknown, for one budget: that of a
// flow or of a key.
type lostEntry struct {
	ws      flow.WorkspaceID
	subject string
	day     string
	cost    flow.NanoUSD
}

// addLost counts an estimate for the budgets of a flow, of the flows above it and of a key.
func (b *batch) addLost(ws flow.WorkspaceID, flowID flow.FlowID, above []flow.FlowID, keyID string, cost flow.NanoUSD, now time.Time) {
	if cost <= 0 {
		return
	}
	subjects := []string{string(flowID)}
	for _, id := range above {
		subjects = append(subjects, string(id))
	}
	if keyID != "" {
		subjects = append(subjects, keyID)
	}
	for _, subject := range subjects {
		b.lost = append(b.lost, lostEntry{ws, subject, DayOf(now), cost})
	}
}

// flushLost stores the estimates, in a fixed order so that transactions cannot deadlock.
func (tx *Tx) flushLost() error {
	compare := func(a, b lostEntry) int {
		return cmp.Or(dbconn.CompareTexts(string(a.ws), string(b.ws), a.day, b.day, a.subject, b.subject))
	}
	for _, e := range mergeEqual(tx.Batch.lost, compare, func(sum, e *lostEntry) { sum.cost += e.cost }) {
		err := tx.Queries.AddLostSpending(tx.Ctx, gen.AddLostSpendingParams{WorkspaceID: e.ws, Subject: e.subject, Day: e.day, NanoUsd: int64(e.cost)})
		if err != nil {
			return err
		}
	}
	return nil
}

// bookInterrupted counts what an attempt of the step had reserved when its worker died: its call
// may have been charged. Of a later day than the reservation it counts nothing.
func (tx *Tx) bookInterrupted(ctx context.Context, r flow.Reservation, now time.Time) error {
	reserved, err := tx.Queries.FindInterrupted(ctx, gen.FindInterruptedParams{RunID: r.RunID, Path: r.Path, WorkspaceID: r.WorkspaceID, Day: DayOf(now), Attempt: r.Attempt})
	if dbconn.IsNoRows(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the reservation of %s: %w", r.Path, err)
	}
	tx.Batch.addLost(r.WorkspaceID, r.FlowID, r.FlowsAbove, r.KeyID, flow.NanoUSD(reserved), now)
	return nil
}
