package core

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
)

// admitAtOnce is how many queued runs the end of one run may admit: the one
// whose place it leaves, and one more, so that room that came otherwise fills.
const admitAtOnce = 2

// WriteRun records progress of a run in one transaction. It returns ErrFenced
// when the run's attempt is no longer the present one or the run has ended.
// Once it is committed Run.ExpiresAt tells what the row says.
func (s Execution) WriteRun(ctx context.Context, w flow.RunWrite) error {
	p, err := s.prepareWrite(&w)
	if err != nil {
		return err
	}
	d := Durability(w.Durable || w.End)
	if p.run.Sizes == nil { // they are read before the row is changed
		err = s.Write(ctx, d, p.Alone)
	} else {
		err = s.writeRun(ctx, d, p)
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

// runWrite is a write with everything encoded, so that the transaction itself
// is statements alone.
type runWrite struct {
	flow.RunWrite
	s          *DB
	run        flow.Run // as it shall be
	row        gen.UpdateRunParams
	steps      []any
	deliveries []newDelivery
	sizes      map[string]int64 // Run.Sizes after this write
	givenUp    bool             // the run ends even if its webhook cannot be read
}

func (s Execution) prepareWrite(w *flow.RunWrite) (*runWrite, error) {
	p := &runWrite{RunWrite: *w, s: s.DB, run: *w.Run}
	r := &p.run
	if w.End != r.State.Ended() {
		return nil, fmt.Errorf("db: write of %s: state %s does not fit End=%v", r.ID, r.State, w.End)
	}
	if w.End {
		if r.EndedAt.IsZero() {
			r.EndedAt = s.Config.Now()
		}
		r.ExpiresAt = r.EndedAt.Add(s.Config.Retention)
	}
	p.row = updateRow(r, placeOf(r.State), w)
	p.steps = stepRows(r, w.Steps)
	p.sizes = stepSizes(p.steps)
	p.sizes[""] = int64(len(p.row.Outputs) + len(p.row.Error))
	for i := range w.Deliveries {
		d, err := s.DeliveryRow(r, &w.Deliveries[i])
		if err != nil {
			return nil, err
		}
		p.deliveries = append(p.deliveries, d)
	}
	return p, nil
}

func placeOf(s flow.RunState) int64 {
	switch {
	case s.Ended():
		return PlaceEnded
	case s == flow.RunWaiting:
		return PlaceWaiting
	}
	return PlaceWorker
}

func updateRow(r *flow.Run, place int64, w *flow.RunWrite) gen.UpdateRunParams {
	return gen.UpdateRunParams{
		ID: r.ID, WorkspaceID: r.WorkspaceID, Attempt: r.Attempt, State: string(r.State), Place: place,
		Outputs: dbconn.EncodeMap(r.Outputs), Error: dbconn.EncodeError(r.Error),
		InputTokens: r.Usage.InputTokens, OutputTokens: r.Usage.OutputTokens, CostNanoUsd: r.Usage.CostNanoUSD,
		ProgressDone: int64(r.Progress.Done), ProgressTotal: int64(r.Progress.Total), Seq: r.Seq, RunSeq: r.RunSeq,
		StartedAt: dbconn.Micros(r.StartedAt), EndedAt: dbconn.Micros(r.EndedAt), ExpiresAt: dbconn.Micros(r.ExpiresAt),
		DeadlineAt: dbconn.Micros(r.DeadlineAt), WaitingSince: dbconn.Micros(r.WaitingSince), KeepCrashes: dbconn.BoolInt(!w.Progressed), KeepTrial: dbconn.BoolInt(!w.Progressed && place == PlaceWorker),
		Busy: dbconn.BoolInt(w.Busy), Writes: r.Writes,
	}
}

// repeated tells a write that was committed, although its caller did not hear
// of it, from one that comes too late.
func (p *runWrite) repeated(tx *Tx) error {
	n, err := tx.IsWritten(tx.Ctx, gen.IsWrittenParams{ID: p.row.ID, Attempt: p.row.Attempt, Writes: p.row.Writes})
	if err == nil && (n == 0 || p.row.Writes == 0) {
		err = dbconn.ErrFenced
	}
	return err
}

func (p *runWrite) runID() string { return p.row.ID }

// doubted has nothing to note: Run.Writes tells a write that was committed.
func (p *runWrite) doubted(s *DB, err error) error { return s.outageOf(err) }

// Alone carries out the write with statements of its own.
func (p *runWrite) Alone(tx *Tx) error {
	before := p.run.Sizes
	if before == nil {
		var err error
		if before, err = sizesOf(tx.Ctx, tx.Queries, p.run.ID); err != nil {
			return err
		}
	}
	n, err := tx.UpdateRun(tx.Ctx, p.row)
	if err != nil {
		return fmt.Errorf("write %s: %w", p.run.ID, err)
	}
	if n == 0 {
		return p.repeated(tx)
	}
	if len(p.steps) > 0 {
		if err := tx.writeSteps(p.steps); err != nil {
			return err
		}
	}
	if err := p.recorded(tx, before); err != nil || p.row.Place == PlaceWorker {
		return err
	}
	if p.row.Place == PlaceEnded && p.run.NoWebhook {
		return p.letGo(tx, false, nil) // a cancel no longer matters
	}
	return p.readAndLetGo(tx)
}

// readAndLetGo reads what others may have written, once the row is ours, and
// lets go. It is a second statement since RETURNING costs SQLite more than both
// together.
func (p *runWrite) readAndLetGo(tx *Tx) error {
	aside, err := tx.FindAside(tx.Ctx, p.run.ID)
	if err != nil {
		return fmt.Errorf("read %s: %w", p.run.ID, err)
	}
	return p.letGo(tx, aside.CancelRequested != 0, aside.Webhook)
}

// recorded does what follows from any progress, whose row has been written.
func (p *runWrite) recorded(tx *Tx, before map[string]int64) error {
	for _, d := range p.deliveries {
		if err := tx.AddDelivery(d); err != nil {
			return err
		}
	}
	tx.StoreBytes(p.run.WorkspaceID, p.grown(before))
	tx.Batch.consumed(&p.run, p.Steps, p.s.Config.Now())
	tx.Notify(p.run.ID)
	p.leave(tx)
	return nil
}

// leave counts that a worker no longer holds the run, if that is so.
func (p *runWrite) leave(tx *Tx) {
	if p.row.Place != PlaceWorker {
		tx.Moved(p.run.WorkspaceID, p.run.FlowID, PlaceWorker, p.row.Place)
	}
	if p.row.Place == PlaceEnded {
		tx.Batch.ended(&p.run)
	}
}

// grown returns by how many bytes this write changes the stored size of the
// run. It may exceed a quota: an accepted run may always continue to its end.
func (p *runWrite) grown(before map[string]int64) (n int64) {
	for path, size := range p.sizes {
		n += size - before[path]
	}
	return n
}

// letGo does what follows when no worker holds the run any more.
func (p *runWrite) letGo(tx *Tx, cancel bool, webhook []byte) error {
	switch p.row.Place {
	case PlaceEnded:
		return p.end(tx, webhook)
	case PlaceWaiting:
		return p.wait(tx, cancel)
	}
	return nil
}

// end does what the end of a run entails, in the transaction that ends it.
func (p *runWrite) end(tx *Tx, webhook []byte) error {
	if len(webhook) > 0 {
		err := tx.addRunWebhook(&p.run, webhook)
		if p.givenUp && flow.IsPermanent(err) {
			p.s.Config.Log.Error("the webhook of a failed run cannot be sent", "run", p.run.ID, "error", err)
			err = nil
		}
		if err != nil {
			return err
		}
	}
	return p.release(tx)
}

// wait lets go of the worker. A run that was asked to cancel meanwhile goes
// straight back to one.
func (p *runWrite) wait(tx *Tx, cancel bool) error {
	if !p.WakeAt.IsZero() {
		wake := gen.SetWakeParams{RunID: p.run.ID, WorkspaceID: p.run.WorkspaceID, WakeAt: dbconn.Micros(p.WakeAt)}
		if err := tx.SetWake(tx.Ctx, wake); err != nil {
			return fmt.Errorf("set wake: %w", err)
		}
	}
	if cancel {
		return tx.ResumeRun(p.run.WorkspaceID, p.run.ID, PlaceWaiting)
	}
	return p.release(tx)
}

// release gives the place of this run to the next in line. A set does that
// once for all of its runs.
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

// lockIfCrowded makes sure on PostgreSQL that of a run that ends and one that
// is just joining the queue for its place, the later one sees the other.
func (tx *Tx) lockIfCrowded(k FlowKey) error {
	if tx.Store.pool == nil {
		return nil
	}
	l, err := tx.FlowLimits(k)
	if err != nil && !errors.Is(err, &flow.Error{Code: flow.CodeNotFound}) {
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
