package core

import (
	"fmt"

	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
)

// decideOccurrence decides the planned time of a trigger that this start is for: it claims the time and looks at the last run.
// Whatever fails later takes this back.
func (w *StartWrite) decideOccurrence(tx *Tx) error {
	o := w.N.Occurrence
	if o == nil || o.Rev == 0 && o.Overlap {
		return nil
	}
	last, err := lastRun(tx, w.Row.WorkspaceID, o)
	if err != nil {
		return err
	}
	return w.checkOverlap(tx, last)
}

// recordOccurrence adds the event of the start. Sets do this after all decisions too, because the row of a trigger stays locked until
// the end of the transaction, and events of one URL would wait for each other.
func (w *StartWrite) recordOccurrence(tx *Tx) error {
	o := w.N.Occurrence
	if o == nil {
		return nil
	}
	n, err := tx.Queries.SetLastRun(tx.Ctx, w.lastRunRow())
	if err := dbconn.MustAffect(n, err, "trigger"); err != nil {
		return fmt.Errorf("set the last run of %s: %w", o.TriggerID, err)
	}
	size := int64(len(o.Request))
	switch {
	case o.Rev > 0: // those of schedules have no requests
	case o.Fresh:
		tx.TrackBytes(w.Row.WorkspaceID, size)
	default:
		if err := TrackRequest(tx, w.Row.WorkspaceID, o.TriggerID, o.Key, size); err != nil {
			return err
		}
	}
	return SaveEvent(tx, w.eventRow())
}

// lastRunRow returns the parameters that set the run of the start as the last one of its trigger.
func (w *StartWrite) lastRunRow() gen.SetLastRunParams {
	return gen.SetLastRunParams{ID: w.N.Occurrence.TriggerID, RunID: w.Row.ID}
}

// eventRow returns the event of the start. SaveEvent sets its time.
func (w *StartWrite) eventRow() gen.SaveEventParams {
	o := w.N.Occurrence
	return gen.SaveEventParams{
		TriggerID: o.TriggerID, EventKey: o.Key, WorkspaceID: w.Row.WorkspaceID, FlowID: w.Row.FlowID, Position: o.Position, State: "started", RunID: w.Row.ID, Detail: o.Detail,
		Request: o.Request, RequestBytes: int64(len(o.Request)),
	}
}

// lastRun claims the planned time of an occurrence, if it has one, and returns the last run of its trigger.
func lastRun(tx *Tx, ws flow.WorkspaceID, o *flow.Occurrence) (flow.RunID, error) {
	if o.Rev > 0 {
		return ClaimTrigger(tx, o.TriggerID, o.Rev, o.Before, o.After)
	}
	t, err := tx.Queries.FindTrigger(tx.Ctx, gen.FindTriggerParams{ID: o.TriggerID, WorkspaceID: ws})
	return t.LastRunID, dbconn.NotFoundErr(err, "trigger")
}

// checkOverlap returns an OverlapError if the last run of the trigger is in progress, or cancels that run.
func (w *StartWrite) checkOverlap(tx *Tx, last flow.RunID) error {
	o := w.N.Occurrence
	if o.Overlap || last == "" {
		return nil
	}
	r, err := tx.Queries.FindPlace(tx.Ctx, last)
	if dbconn.IsNoRows(err) || err == nil && r.Place == PlaceEnded {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find the last run of %s: %w", o.TriggerID, err)
	}
	if !o.Replace {
		return &flow.OverlapError{RunID: last}
	}
	return tx.RequestCancel(w.Row.WorkspaceID, w.Row.FlowID, last)
}

// ClaimTrigger moves a trigger from one planned time to the next and returns its last run. It returns ErrFenced if another
// instance did that before, or if people changed the trigger.
func ClaimTrigger(tx *Tx, id string, rev int64, before, after flow.TriggerTimes) (flow.RunID, error) {
	last, err := tx.Queries.ClaimTrigger(tx.Ctx, gen.ClaimTriggerParams{
		ID: id, Rev: rev, OldNextAt: dbconn.Micros(before.Next), OldDueAt: dbconn.Micros(before.Due), OldWaitingAt: dbconn.Micros(before.Waiting),
		NextAt: dbconn.Micros(after.Next), DueAt: dbconn.Micros(after.Due), WaitingAt: dbconn.Micros(after.Waiting), DecidedAt: dbconn.Micros(after.Decided),
	})
	if dbconn.IsNoRows(err) {
		return "", dbconn.ErrFenced
	}
	if err != nil {
		return "", fmt.Errorf("claim %s: %w", id, err)
	}
	return last, nil
}

// SaveEvent adds an event of a trigger, or decides one that waits. It returns ErrFenced if the event was decided before.
func SaveEvent(tx *Tx, e gen.SaveEventParams) error {
	e.CreatedAt = tx.Store.NowMicros()
	n, err := tx.Queries.SaveEvent(tx.Ctx, e)
	if err == nil && n == 0 {
		err = dbconn.ErrFenced
	}
	if err != nil {
		return fmt.Errorf("save the event %s of %s: %w", e.EventKey, e.TriggerID, err)
	}
	return nil
}

// TrackRequest counts the bytes of a request that an event is about to get, and no longer those that it has.
func TrackRequest(tx *Tx, ws flow.WorkspaceID, id, key string, size int64) error {
	before, err := tx.Queries.FindRequestBytes(tx.Ctx, gen.FindRequestBytesParams{TriggerID: id, EventKey: key})
	if err != nil && !dbconn.IsNoRows(err) {
		return fmt.Errorf("find the event %s of %s: %w", key, id, err)
	}
	tx.TrackBytes(ws, size-before)
	return nil
}

// RequestCancel requests the cancellation of a run that has not ended. A run that no worker holds is handed to one, which ends it.
func (tx *Tx) RequestCancel(ws flow.WorkspaceID, flowID flow.FlowID, runID flow.RunID) error {
	place, err := tx.Queries.SetCancel(tx.Ctx, gen.SetCancelParams{ID: runID, WorkspaceID: ws, FlowID: flowID})
	return requested(tx, ws, runID, place, err)
}

// RequestStop requests the cancellation of a run after the turns of its agents.
func RequestStop(tx *Tx, ws flow.WorkspaceID, flowID flow.FlowID, runID flow.RunID) error {
	place, err := tx.Queries.SetStop(tx.Ctx, gen.SetStopParams{ID: runID, WorkspaceID: ws, FlowID: flowID})
	return requested(tx, ws, runID, place, err)
}

// requested hands a run to a worker that learns of the request. err is that of the request.
func requested(tx *Tx, ws flow.WorkspaceID, runID flow.RunID, place int64, err error) error {
	switch {
	case dbconn.IsNoRows(err): // ended, requested before, or does not exist
		return nil
	case err != nil:
		return fmt.Errorf("cancel %s: %w", runID, err)
	}
	tx.Notify(runID)
	if place == PlaceWorker {
		return nil
	}
	return tx.ResumeRun(ws, runID, place)
}
