package core

import (
	"fmt"

	"sluice/db/dbconn"
	"sluice/db/gen"
)

// ResumeRun hands a run that no worker holds to a worker, regardless of capacity:
// it was admitted before, or only has to be ended. A process without workers
// records a wake that is due now instead.
func (tx *Tx) ResumeRun(ws, runID string, from int64) error {
	if tx.Store.QueueOrNil() == nil {
		return tx.setDueWake(ws, runID, from)
	}
	if err := tx.ClearWake(tx.Ctx, runID); err != nil {
		return fmt.Errorf("clear wake of %s: %w", runID, err)
	}
	_, err := tx.hand(runID, from)
	return err
}

// setDueWake makes a run wait for a wake that is already due.
func (tx *Tx) setDueWake(ws, runID string, from int64) error {
	if from != PlaceWaiting {
		r, err := tx.ParkRun(tx.Ctx, gen.ParkRunParams{ID: runID, FromPlace: from, Place: PlaceWaiting})
		if dbconn.IsNoRows(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("park %s: %w", runID, err)
		}
		tx.Moved(ws, r, from, PlaceWaiting)
	}
	return tx.SetWake(tx.Ctx, gen.SetWakeParams{RunID: runID, WorkspaceID: ws, WakeAt: tx.Store.NowMicros()})
}
