package core

import (
	"context"
	"fmt"
	"time"

	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
)

// IdempotencyLife is how long a repeated start finds the first one.
const IdempotencyLife = 24 * time.Hour

// StartRun accepts a run in one durable write: idempotency row, run row,
// admission and, when it is admitted, its job.
func (s Execution) StartRun(ctx context.Context, n flow.NewRun) (flow.Started, error) {
	run := n.Run
	if run.ID == "" {
		run.ID = s.IDs().New(flow.PrefixRun)
	}
	if run.CreatedAt.IsZero() {
		run.CreatedAt = s.Config.Now()
	}
	run.CreatedAt = run.CreatedAt.UTC().Truncate(time.Microsecond)
	run.State = flow.RunQueued
	n.Run = run
	row, err := s.RunRow(&run, n.Webhook)
	if err != nil {
		return flow.Started{}, err
	}
	w := &StartWrite{N: &n, Row: row, steps: stepRows(&run, n.Steps)}
	if err := s.writeRun(ctx, Durable, w); err != nil {
		return flow.Started{}, err
	}
	if w.first != nil {
		return flow.Started{Run: w.first, Replayed: true}, nil
	}
	run.Attempt = w.Row.Attempt
	return flow.Started{Run: &run}, nil
}

// StartWrite is the start of a run.
type StartWrite struct {
	N      *flow.NewRun
	Row    gen.InsertRunParams // its place is decided in the transaction
	steps  []any
	first  *flow.Run // that an equal request has started
	doubt  bool      // an earlier try may have been committed
	pinned int64     // bytes of a document that was not stored yet
}

func (w *StartWrite) runID() string { return w.Row.ID }

func (w *StartWrite) doubted(s *DB, err error) error {
	w.doubt = w.doubt || err != nil
	return s.outageOf(err)
}

// Alone carries out the start with statements of its own.
func (w *StartWrite) Alone(tx *Tx) (err error) {
	if w.doubt {
		if found, err := w.find(tx); found || err != nil {
			return err
		}
	}
	if w.first, err = tx.claimIdempotency(w.N, w.Row.ID); w.first != nil || err != nil {
		return err
	}
	if err := w.check(tx); err != nil {
		return err
	}
	if w.pinned = 0; len(w.N.Document) > 0 {
		if w.pinned, err = tx.AddDocument(w.Row.WorkspaceID, w.Row.DocumentHash, w.N.Document); err != nil {
			return err
		}
	}
	if err := w.decide(tx); err != nil {
		return err
	}
	if err := tx.InsertRun(tx.Ctx, w.Row); err != nil {
		return fmt.Errorf("insert run: %w", err)
	}
	if err := tx.writeSteps(w.steps); err != nil {
		return err
	}
	if err := tx.LinkFiles(w.Row.WorkspaceID, w.Row.ID, w.N.Files); err != nil {
		return err
	}
	if err := tx.inheritFiles(w.Row.WorkspaceID, w.Row.ID, w.Row.ParentRunID); err != nil {
		return err
	}
	w.hand(tx)
	return w.keep(tx)
}

// check refuses a start for what its key and its flow may do.
func (w *StartWrite) check(tx *Tx) error {
	if err := tx.checkRecent(w.N); err != nil {
		return err
	}
	if err := tx.takeBudgets(&w.Row, w.N.Key); err != nil {
		return err
	}
	return tx.checkKey(w.Row.WorkspaceID, w.N.Key)
}

// decide finds out where the run begins, anew each time it is called.
func (w *StartWrite) decide(tx *Tx) (err error) {
	r := &w.Row
	if r.Place, r.InstanceID, err = tx.admitOrQueue(FlowKey{r.WorkspaceID, r.FlowID}); err != nil {
		return err
	}
	r.Attempt, r.Busy = dbconn.BoolInt(r.Place == PlaceWorker), tx.BusyAt(r.InstanceID)
	tx.Moved(r.WorkspaceID, r.FlowID, PlaceEnded, r.Place)
	return nil
}

// hand gives the run to a worker, unless it waits in the queue.
func (w *StartWrite) hand(tx *Tx) {
	if w.Row.Place == PlaceWorker {
		tx.HandRun(flow.Job{Kind: flow.JobRun, ID: w.Row.ID, Attempt: w.Row.Attempt, Run: fresh(w.N)}, w.Row.InstanceID)
	}
}

// keep counts what the run stores, which a quota may refuse.
func (w *StartWrite) keep(tx *Tx) error {
	size := flow.StorageItem + sizeOfStart(&w.Row) + sizeOfSteps(w.steps) + w.pinned
	return tx.StoreChecked(w.Row.WorkspaceID, flow.Storage{Bytes: size, Runs: 1})
}

// find looks for the run of an earlier try, of which it is not known whether it
// was committed. If it was, no worker has the run yet.
func (w *StartWrite) find(tx *Tx) (found bool, err error) {
	r, err := tx.FindPlace(tx.Ctx, w.Row.ID)
	if dbconn.IsNoRows(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for %s: %w", w.Row.ID, err)
	}
	if w.Row.Attempt = r.Attempt; r.Place == PlaceWorker && r.Attempt == 1 && r.InstanceID == tx.Store.Holder() {
		w.Row.Place, w.Row.InstanceID = r.Place, tx.Take()
		w.hand(tx)
	}
	return true, nil
}

// fresh returns the run for a worker that begins it right away and so need not
// read it, or nil if it comes with steps.
func fresh(n *flow.NewRun) *flow.Run {
	if len(n.Steps) > 0 {
		return nil
	}
	run := n.Run
	run.State, run.Attempt = flow.RunQueued, 1
	run.Sizes = map[string]int64{} // nothing is written yet
	run.NoWebhook = n.Webhook == nil
	return &run
}

// claimIdempotency takes the key for this run, or returns the run that an
// equal request has started.
func (tx *Tx) claimIdempotency(n *flow.NewRun, runID string) (*flow.Run, error) {
	if n.IdempotencyKey == "" {
		return nil, nil
	}
	ws, now := n.Run.WorkspaceID, tx.Store.Config.Now()
	claimed, err := tx.ClaimIdempotency(tx.Ctx, gen.ClaimIdempotencyParams{
		WorkspaceID: ws, Name: n.IdempotencyKey, Fingerprint: n.Fingerprint, RunID: runID,
		CreatedAt: dbconn.Micros(now), StaleBefore: dbconn.Micros(now.Add(-IdempotencyLife)),
	})
	if err != nil || claimed > 0 {
		return nil, err
	}
	held, err := tx.FindIdempotency(tx.Ctx, gen.FindIdempotencyParams{WorkspaceID: ws, Name: n.IdempotencyKey})
	if err != nil {
		return nil, fmt.Errorf("find idempotency key: %w", err)
	}
	if held.Fingerprint != n.Fingerprint {
		return nil, errMismatch()
	}
	return FindRun(tx.Ctx, tx.Queries, ws, "", held.RunID)
}

func errMismatch() error {
	return flow.Errorf(flow.CodeIdempotencyMismatch, "This Idempotency-Key was used for another request. Use a new key for a new request.")
}

// checkKey holds a key to its number of open runs.
func (tx *Tx) checkKey(ws string, k *flow.Key) error {
	if k == nil || k.Concurrency <= 0 {
		return nil
	}
	if err := tx.lockAdmission(); err != nil {
		return err
	}
	n, err := tx.CountOpenOfKey(tx.Ctx, gen.CountOpenOfKeyParams{WorkspaceID: ws, KeyID: k.ID})
	if err != nil {
		return fmt.Errorf("count runs of key: %w", err)
	}
	if n += tx.Batch.Counts.startedBy[k.ID]; n >= k.Concurrency {
		e := flow.Errorf(flow.CodeConcurrencyLimited, "This key may have %d runs at once, and they have not ended yet.", k.Concurrency)
		e.Retryable, e.After = true, time.Second
		return e
	}
	return nil
}

// RunRow is the row of a new run. It is made before the transaction, since the
// one writer of SQLite should not spend its time on encoding.
func (s Execution) RunRow(r *flow.Run, webhook *flow.NewDelivery) (gen.InsertRunParams, error) {
	sealed, err := s.sealWebhook(r, webhook)
	return gen.InsertRunParams{
		ID: r.ID, WorkspaceID: r.WorkspaceID, FlowID: r.FlowID, Version: r.Version, Draft: dbconn.BoolInt(r.Draft),
		DocumentHash: r.DocumentHash, State: string(r.State), RunTrigger: string(r.Trigger),
		KeyID: r.KeyID, UserID: r.UserID, ParentRunID: r.ParentRunID, RerunFrom: r.RerunFrom,
		ProgressDone: int64(r.Progress.Done), ProgressTotal: int64(r.Progress.Total), Seq: r.Seq, RunSeq: r.RunSeq,
		Save: dbconn.BoolInt(r.Save), Timeout: r.Timeout.Microseconds(), CreatedAt: dbconn.Micros(r.CreatedAt), DeadlineAt: dbconn.Micros(r.DeadlineAt),
		Gist: flow.Gist(r.Inputs), Webhook: sealed, Metadata: dbconn.EncodeMap(r.Metadata), Inputs: dbconn.EncodeMap(r.Inputs),
	}, err
}

// FindStarted returns the run that an idempotency key has started, nil when
// the key is free, and CodeIdempotencyMismatch as StartRun does. It lets a
// repeated request be answered before anything is read or checked for it.
func (s Execution) FindStarted(ctx context.Context, ws, key, fingerprint string) (*flow.Run, error) {
	held, err := s.Reads.FindIdempotency(ctx, gen.FindIdempotencyParams{WorkspaceID: ws, Name: key})
	if dbconn.IsNoRows(err) || err == nil && held.CreatedAt <= dbconn.Micros(s.Config.Now().Add(-IdempotencyLife)) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find idempotency key: %w", err)
	}
	if held.Fingerprint != fingerprint {
		return nil, errMismatch()
	}
	return s.FindRun(ctx, ws, "", held.RunID)
}
