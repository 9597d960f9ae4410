package core

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/db/parts"
	"sluice/flow"
)

// admitAtOnce is how many queued runs the end of one run may admit: one for its
// own slot, and one more, so that slots that became free in other ways fill up.
const admitAtOnce = 2

// WriteRun records progress of a run in one transaction. It returns ErrFenced if
// the attempt is no longer current or the run has ended. After the commit it sets
// Run.ExpiresAt and Run.Sizes.
func (s Execution) WriteRun(ctx context.Context, w flow.RunWrite) error {
	p, err := s.encodeWrite(&w)
	if err != nil {
		return err
	}
	d := Durability(w.Durable || w.End)
	if p.run.Sizes == nil || len(p.parts) > 0 || p.interrupted() { // statements that a set does not have
		err = s.DB.Write(ctx, d, p.ExecuteAlone)
	} else {
		err = s.DB.writeRun(ctx, d, p)
	}
	if err != nil {
		return err
	}
	w.Run.ExpiresAt = p.run.ExpiresAt
	if w.Run.Sizes != nil {
		maps.Copy(w.Run.Sizes, p.sizes)
	}
	return nil
}

// runWrite is a write with all rows encoded, so that the transaction only runs
// statements.
type runWrite struct {
	flow.RunWrite
	s                  *DB
	run                flow.Run // as it will be stored
	row                gen.UpdateRunParams
	steps              []any
	parts              map[string]string // outputs that are stored apart from their step, by path
	deliveries         []newDelivery
	webhookMessages    []flow.NewDelivery // for the per-run webhook
	sizes              map[string]int64   // Run.Sizes after this write
	ignoreWebhookError bool               // end the run even if its webhook cannot be read
}

// encodeWrite encodes the rows of a write.
func (s Execution) encodeWrite(w *flow.RunWrite) (*runWrite, error) {
	p := &runWrite{RunWrite: *w, s: s.DB, run: *w.Run}
	r := &p.run
	if w.End != r.State.Ended() {
		return nil, fmt.Errorf("db: write of %s: state %s does not fit End=%v", r.ID, r.State, w.End)
	}
	if w.End {
		if r.EndedAt.IsZero() {
			r.EndedAt = s.DB.Config.Now()
		}
		r.ExpiresAt = r.EndedAt.Add(s.DB.Config.Retention)
	}
	var texts dbconn.Texts
	p.row = updateRow(&texts, r, placeOf(r.State), w)
	p.steps = stepRows(&texts, r, w.Steps)
	p.parts = takeParts(p.steps, w.Steps)
	p.sizes = stepSizes(p.steps)
	for path, outputs := range p.parts {
		p.sizes[path] += int64(len(outputs))
	}
	p.sizes[""] = int64(len(p.row.Outputs) + len(p.row.Error))
	for i := range w.Deliveries {
		if w.Deliveries[i].OfRun {
			p.webhookMessages = append(p.webhookMessages, w.Deliveries[i])
			continue
		}
		d, err := s.DB.DeliveryRow(r, &w.Deliveries[i])
		if err != nil {
			return nil, err
		}
		p.deliveries = append(p.deliveries, d)
	}
	return p, nil
}

// interrupted reports whether a worker died during a paid call of one of the steps.
func (p *runWrite) interrupted() bool {
	return slices.ContainsFunc(p.Steps, func(s flow.Step) bool { return s.Interrupted })
}

// interruptedStep returns the step at a path if a worker died during a paid call of it, or nil.
func (p *runWrite) interruptedStep(path string) *flow.Step {
	if i := slices.IndexFunc(p.Steps, func(s flow.Step) bool { return s.Interrupted && s.Path == path }); i >= 0 {
		return &p.Steps[i]
	}
	return nil
}

// placeOf returns where a run in a state is counted when its worker stores it. A worker does
// not store a run as queued.
func placeOf(s flow.RunState) int64 {
	switch {
	case s.Ended():
		return PlaceEnded
	case s == flow.RunWaiting:
		return PlaceWaiting
	}
	return PlaceWorker
}

// checkRepeated returns nil if this write was already committed but its answer was
// lost, ErrCancelRequested if it would end a run whose cancellation was requested, and
// ErrFenced if the write comes too late.
func (p *runWrite) checkRepeated(tx *Tx) error {
	n, err := tx.Queries.IsWritten(tx.Ctx, gen.IsWrittenParams{ID: p.row.ID, Attempt: p.row.Attempt, Writes: p.row.Writes})
	if err != nil || n > 0 && p.row.Writes > 0 {
		return err
	}
	if p.row.CancelAllowed == 0 {
		n, err = tx.Queries.IsCancelRequested(tx.Ctx, gen.IsCancelRequestedParams{ID: p.row.ID, Attempt: p.row.Attempt})
		if err != nil {
			return err
		}
		if n > 0 {
			return flow.ErrCancelRequested
		}
	}
	return dbconn.ErrFenced
}

// runID implements setMember. It is the ID of the run that progressed.
func (p *runWrite) runID() flow.RunID { return p.row.ID }

// commitFailed records nothing: Run.Writes shows whether a write was committed.
func (p *runWrite) commitFailed(s *DB, err error) error { return s.publicOutage(err) }

// ExecuteAlone executes the write with statements of its own.
func (p *runWrite) ExecuteAlone(tx *Tx) error {
	before := p.run.Sizes
	if before == nil {
		var err error
		if before, err = sizesOf(tx.Ctx, tx.Queries, p.run.ID); err != nil {
			return err
		}
	}
	n, err := tx.Queries.UpdateRun(tx.Ctx, p.row)
	if err != nil {
		return fmt.Errorf("write %s: %w", p.run.ID, err)
	}
	if n == 0 {
		return p.checkRepeated(tx)
	}
	if p.interrupted() {
		if _, err := tx.bookReserved(&p.run, p.interruptedStep); err != nil {
			return err
		}
	}
	if len(p.steps) > 0 {
		if err := tx.writeSteps(p.steps); err != nil {
			return err
		}
		if err := parts.Write(tx.Ctx, tx.Queries, p.run.ID, p.parts); err != nil {
			return err
		}
	}
	if err := p.finishWrite(tx, before); err != nil || p.row.Place == PlaceWorker {
		return err
	}
	if p.row.Place == PlaceEnded && p.run.NoWebhook {
		return p.leaveWorker(tx, false, nil) // a cancel no longer matters
	}
	return p.readAndLeaveWorker(tx)
}

// readAndLeaveWorker reads what others may have written to the row, which is now
// locked, and calls leaveWorker. It is a second statement because UPDATE …
// RETURNING costs more on SQLite than two statements.
func (p *runWrite) readAndLeaveWorker(tx *Tx) error {
	row, err := tx.Queries.FindReleased(tx.Ctx, p.run.ID)
	if err != nil {
		return fmt.Errorf("read %s: %w", p.run.ID, err)
	}
	return p.leaveWorker(tx, row.CancelRequested != 0 || p.missedStop(row.StopRequested), row.Webhook)
}

// finishWrite stores deliveries and counts storage, usage and places, after the row of the
// run was updated.
func (p *runWrite) finishWrite(tx *Tx, before map[string]int64) error {
	for _, d := range p.deliveries {
		if err := tx.AddDelivery(d); err != nil {
			return err
		}
	}
	if err := p.addWebhookMessages(tx); err != nil {
		return err
	}
	tx.TrackBytes(p.run.WorkspaceID, p.growth(before))
	tx.Batch.addConsumed(&p.run, p.Steps, p.s.Config.Now())
	tx.Notify(p.run.ID)
	p.countPlace(tx)
	return nil
}

// addWebhookMessages adds the messages for the per-run webhook, if the run has one.
func (p *runWrite) addWebhookMessages(tx *Tx) error {
	if len(p.webhookMessages) == 0 {
		return nil
	}
	row, err := tx.Queries.FindReleased(tx.Ctx, p.run.ID)
	if err != nil {
		return fmt.Errorf("read the webhook of %s: %w", p.run.ID, err)
	}
	if len(row.Webhook) == 0 {
		return nil
	}
	for _, d := range p.webhookMessages {
		if err := tx.addRunWebhook(&p.run, row.Webhook, d.ID, d.Body); err != nil {
			return err
		}
	}
	return nil
}

// countPlace updates the counts if a worker no longer holds the run.
func (p *runWrite) countPlace(tx *Tx) {
	if p.row.Place != PlaceWorker {
		tx.RecordMove(p.run.WorkspaceID, p.run.FlowID, PlaceWorker, p.row.Place)
	}
	if p.row.Place == PlaceEnded {
		tx.Batch.addEnded(&p.run)
		if p.run.Caller != nil {
			tx.Batch.Children = append(tx.Batch.Children, newChildEnd(&p.run))
		}
	}
}

// growth returns by how many bytes this write changes the stored size of the run.
// It may exceed a quota: an accepted run may always continue to its end.
func (p *runWrite) growth(before map[string]int64) (n int64) {
	for path, size := range p.sizes {
		n += size - before[path]
	}
	return n
}

// missedStop reports whether the worker did not know that a stop of the run was requested.
func (p *runWrite) missedStop(requested int64) bool { return requested != 0 && !p.run.StopRequested }

// leaveWorker ends the run or lets it wait, by its new place. It does nothing while a
// worker holds the run.
func (p *runWrite) leaveWorker(tx *Tx, cancel bool, webhook []byte) error {
	switch p.row.Place {
	case PlaceEnded:
		return p.end(tx, webhook)
	case PlaceWaiting:
		return p.wait(tx, cancel)
	}
	return nil
}

// end adds the per-run webhook and frees the slot, in the transaction that ends
// the run.
func (p *runWrite) end(tx *Tx, webhook []byte) error {
	if len(webhook) > 0 {
		l, err := tx.FlowLimits(FlowKey{p.run.WorkspaceID, p.run.FlowID}) // a set has read them already
		if err != nil && !flow.IsNotFound(err) {
			return err
		}
		p.run.FlowSlug = l.Slug // the flow may have been renamed since the worker read the run
		err = tx.addRunWebhook(&p.run, webhook, flow.DeliveryID(p.run.ID, "", 0), tx.Store.webhookBody(&p.run))
		if p.ignoreWebhookError && flow.IsPermanent(err) {
			p.s.Config.Log.Error("the webhook of a failed run cannot be sent", "run", p.run.ID, "error", err)
			err = nil
		}
		if err != nil {
			return err
		}
	}
	return p.release(tx)
}

// wait records the wake and frees the slot. A run whose cancellation was requested
// in the meantime goes straight back to a worker.
func (p *runWrite) wait(tx *Tx, cancel bool) error {
	if !p.WakeAt.IsZero() {
		wake := gen.SetWakeParams{RunID: p.run.ID, WorkspaceID: p.run.WorkspaceID, WakeAt: dbconn.Micros(p.WakeAt)}
		if err := tx.Queries.SetWake(tx.Ctx, wake); err != nil {
			return fmt.Errorf("set wake: %w", err)
		}
	}
	if p.Draining { // even after a cancel: the run ends after its last child
		n, err := tx.Queries.CountRunningChildren(tx.Ctx, p.run.ID)
		if err != nil {
			return fmt.Errorf("count the running children of %s: %w", p.run.ID, err)
		}
		if n == 0 { // the last one ended while the worker held the run
			return tx.ResumeRun(p.run.WorkspaceID, p.run.ID, PlaceWaiting)
		}
		return p.release(tx)
	}
	if cancel {
		return tx.ResumeRun(p.run.WorkspaceID, p.run.ID, PlaceWaiting)
	}
	decided, err := tx.wakeDecidedSteps(p.run.ID)
	if err != nil {
		return err
	}
	if decided > 0 { // an approval was answered, or children ended, while the worker still held the run
		return tx.ResumeRun(p.run.WorkspaceID, p.run.ID, PlaceWaiting)
	}
	return p.release(tx)
}

// wakeDecidedSteps makes the waiting steps due whose approvals were answered or whose
// child runs have ended, and returns their number.
func (tx *Tx) wakeDecidedSteps(runID flow.RunID) (int64, error) {
	now := tx.Store.NowMicros()
	answered, err := tx.Queries.WakeDecidedSteps(tx.Ctx, gen.WakeDecidedStepsParams{RunID: runID, Now: now})
	if err != nil {
		return 0, fmt.Errorf("wake the decided steps of %s: %w", runID, err)
	}
	ended, err := tx.Queries.WakeCallingSteps(tx.Ctx, gen.WakeCallingStepsParams{RunID: runID, Now: now})
	if err != nil {
		return 0, fmt.Errorf("wake the calling steps of %s: %w", runID, err)
	}
	return answered + ended, nil
}

// ResumeDecided hands a waiting run to a worker after a decision on one of its
// approvals, or the end of child runs. It does not touch a run that a worker holds: when
// the worker lets it wait, it finds the decision (see runWrite.wait).
func (tx *Tx) ResumeDecided(ws flow.WorkspaceID, runID flow.RunID) error {
	if _, err := tx.wakeDecidedSteps(runID); err != nil {
		return err
	}
	return tx.ResumeRun(ws, runID, PlaceWaiting)
}

// release gives the slot of this run to the next queued run. A set does that once
// for all of its runs.
func (p *runWrite) release(tx *Tx) error {
	if err := tx.lockIfCrowded(FlowKey{p.run.WorkspaceID, p.run.FlowID}); err != nil {
		return err
	}
	if r := &tx.Batch.Counts; r.unwritten != nil {
		r.released++
		return nil
	}
	_, err := tx.admit(admitAtOnce)
	return err
}

// lockIfCrowded takes the admission lock on PostgreSQL if limits are near, so that
// of a run that ends and a run that is being queued, the later one sees the
// other. Otherwise the queued run could miss the free slot.
func (tx *Tx) lockIfCrowded(k FlowKey) error {
	if !tx.Store.IsPostgres() {
		return nil
	}
	l, err := tx.FlowLimits(k)
	if err != nil && !flow.IsNotFound(err) {
		return err
	}
	limit, err := tx.capacity()
	if err != nil {
		return err
	}
	n, err := tx.count(FlowKey{})
	if err == nil && (n+2 >= limit || l.MaxRunning > 0 || l.AllRunning > 0) {
		return tx.lockAdmission()
	}
	return err
}

// ResumeRun hands a run that no worker holds to a worker, regardless of capacity:
// it was admitted before, or only has to be ended. A process without workers
// records a wake that is due now instead.
func (tx *Tx) ResumeRun(ws flow.WorkspaceID, runID flow.RunID, from int64) error {
	if tx.Store.QueueOrNil() == nil {
		return tx.setDueWake(ws, runID, from)
	}
	if err := tx.Queries.ClearWake(tx.Ctx, runID); err != nil {
		return fmt.Errorf("clear wake of %s: %w", runID, err)
	}
	holder := tx.ReserveWorker()
	r, err := tx.Queries.MoveRun(tx.Ctx, gen.MoveRunParams{ID: runID, FromPlace: from, Place: PlaceWorker, InstanceID: holder, Busy: tx.BusyAt(holder)})
	if err != nil {
		tx.ReturnWorker(holder)
		if dbconn.IsNoRows(err) { // another transaction moved it first
			err = nil
		}
		return err
	}
	tx.RecordMove(r.WorkspaceID, r.FlowID, from, PlaceWorker)
	tx.HandRun(flow.Job{Kind: flow.JobRun, ID: string(runID), Attempt: r.Attempt}, holder)
	return nil
}

// setDueWake makes a run wait for a wake that is already due.
func (tx *Tx) setDueWake(ws flow.WorkspaceID, runID flow.RunID, from int64) error {
	if from != PlaceWaiting {
		r, err := tx.Queries.ParkRun(tx.Ctx, gen.ParkRunParams{ID: runID, FromPlace: from, Place: PlaceWaiting})
		if dbconn.IsNoRows(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("park %s: %w", runID, err)
		}
		tx.RecordMove(ws, r, from, PlaceWaiting)
	}
	return tx.Queries.SetWake(tx.Ctx, gen.SetWakeParams{RunID: runID, WorkspaceID: ws, WakeAt: tx.Store.NowMicros()})
}
