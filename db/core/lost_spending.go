package core

import (
	"cmp"
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

// bookReserved counts what steps of a run have reserved as lost, and ends these reservations:
// their calls may have been charged. It returns the steps that it counts, which are those that
// wanted returns, or for a nil wanted all. On a later day than that of a reservation, budgets of days do not count it.
func (tx *Tx) bookReserved(r *flow.Run, wanted func(path string) *flow.Step) (booked []gen.ListReservedRow, err error) {
	now := tx.Store.Config.Now()
	list, err := tx.Queries.ListReserved(tx.Ctx, r.ID)
	if err != nil {
		return nil, fmt.Errorf("list the reservations of %s: %w", r.ID, err)
	}
	for _, s := range list {
		var step *flow.Step
		if wanted != nil {
			if step = wanted(s.Path); step == nil {
				continue
			}
		}
		if err := tx.Queries.DropReservation(tx.Ctx, gen.DropReservationParams{RunID: r.ID, Path: s.Path}); err != nil {
			return nil, fmt.Errorf("end the reservation of %s: %w", s.Path, err)
		}
		if s.ReservedDay == DayOf(now) {
			tx.Batch.addLost(r.WorkspaceID, r.FlowID, r.FlowsAbove, r.KeyID, flow.NanoUSD(s.Reserved), now)
		}
		tx.Batch.addRunSpending(r, step, 0, flow.NanoUSD(s.Reserved))
		booked = append(booked, s)
	}
	return booked, nil
}

// loseCalls counts the steps of a failed run that still reserve something: their calls may have
// been charged, and their bills stay unknown.
func (tx *Tx) loseCalls(r *flow.Run) error {
	booked, err := tx.bookReserved(r, nil)
	if err != nil {
		return err
	}
	for _, s := range booked {
		attempts, err := dbconn.Decode[[]flow.Attempt](s.Attempts)
		if err != nil { // damaged; the run fails anyway
			attempts = nil
		}
		step := flow.Step{Attempt: int(s.Attempt), Attempts: attempts, StartedAt: dbconn.TimeOf(s.StartedAt), EndedAt: r.EndedAt}
		if attempts = step.Tries(); len(attempts) > 0 {
			last := &attempts[len(attempts)-1]
			last.Lost, last.Unpriced = true, true
		}
		if err := tx.Queries.LoseStep(tx.Ctx, gen.LoseStepParams{RunID: r.ID, Path: s.Path, Attempts: dbconn.EncodeList(attempts)}); err != nil {
			return fmt.Errorf("count the call of %s: %w", s.Path, err)
		}
		r.Usage.UnpricedSteps += 1 - min(s.UnpricedSteps, 1)
	}
	if r.Usage.UnpricedSteps == 0 {
		return nil
	}
	tx.Batch.usage = append(tx.Batch.usage, UsageEntry{r.WorkspaceID, flow.UsageDay{
		Day: DayOf(r.EndedAt), KeyID: r.KeyID, FlowID: r.FlowID, Usage: flow.Usage{UnpricedSteps: r.Usage.UnpricedSteps},
	}})
	if err := tx.Queries.AddUnpricedSteps(tx.Ctx, gen.AddUnpricedStepsParams{ID: r.ID, Steps: r.Usage.UnpricedSteps}); err != nil {
		return fmt.Errorf("count the calls of %s: %w", r.ID, err)
	}
	return nil
}
