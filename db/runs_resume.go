package db

import (
	"fmt"
	"sluice/db/dbconn"
	"sluice/db/gen"
)

// resume hands a run that no worker holds to one, without regard to capacity:
// it has been admitted before or only has to be ended. A process without a
// queue leaves a wake that is due instead.
func (tx *Tx) resume(ws, runID string, from int64) error {
	if tx.s.queueOrNil() == nil {
		return tx.wakeNow(ws, runID, from)
	}
	if err := tx.ClearWake(tx.ctx, runID); err != nil {
		return fmt.Errorf("clear wake of %s: %w", runID, err)
	}
	_, err := tx.hand(runID, from)
	return err
}

func (tx *Tx) wakeNow(ws, runID string, from int64) error {
	if from != placeWaiting {
		r, err := tx.ParkRun(tx.ctx, gen.ParkRunParams{ID: runID, FromPlace: from, Place: placeWaiting})
		if dbconn.IsNoRows(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("park %s: %w", runID, err)
		}
		tx.moved(ws, r, from, placeWaiting)
	}
	return tx.SetWake(tx.ctx, gen.SetWakeParams{RunID: runID, WorkspaceID: ws, WakeAt: tx.s.now()})
}
