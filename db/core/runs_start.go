package core

import (
	"context"
	"fmt"
	"time"

	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
	"sluice/flow/fairness"
)

// StartRun accepts a run in one durable write: idempotency row, run row,
// admission and, if it is admitted, its job.
func (s Execution) StartRun(ctx context.Context, n flow.NewRun) (flow.Started, error) {
	run := n.Run
	if run.ID == "" {
		run.ID = s.DB.IDs().NewRun()
	}
	if run.CreatedAt.IsZero() {
		run.CreatedAt = s.DB.Config.Now()
	}
	run.CreatedAt = run.CreatedAt.UTC().Truncate(time.Microsecond)
	run.State = flow.RunQueued
	n.Run = run
	remember, refused := s.DB.refusals.begin(&n, run.CreatedAt)
	if refused != nil {
		return flow.Started{}, refused
	}
	row, err := s.RunRow(&run, n.Webhook, n.Secrets)
	if err != nil {
		return flow.Started{}, err
	}
	run.InputSummary = row.Gist
	w := &StartWrite{N: &n, Row: row, steps: stepRows(&dbconn.Texts{}, &run, n.Steps)}
	if n.Occurrence != nil && !w.isHook() || n.Test != "" { // statements that a set does not have
		err = s.DB.Write(ctx, Durable, w.ExecuteAlone)
	} else {
		err = s.DB.writeRun(ctx, Durable, w)
	}
	if err != nil {
		remember(err)
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
	N         *flow.NewRun
	Row       gen.InsertRunParams // its place is assigned in the transaction
	steps     []any
	first     *flow.Run // the run that an equal request has started
	uncertain bool      // an earlier attempt may have been committed
	pinned    int64     // bytes of the document and the conversations if they were not stored before
}

// runID implements setMember. It is the ID of the run to be stored.
func (w *StartWrite) runID() flow.RunID { return w.Row.ID }

// commitFailed implements setMember. After an error it is unknown whether the run was
// stored, so a repetition looks for it first.
func (w *StartWrite) commitFailed(s *DB, err error) error {
	w.uncertain = w.uncertain || err != nil
	return s.publicOutage(err)
}

// ExecuteAlone executes the start with statements of its own.
func (w *StartWrite) ExecuteAlone(tx *Tx) (err error) {
	if w.uncertain {
		if found, err := w.findEarlier(tx); found || err != nil {
			return err
		}
	}
	if w.first, err = tx.claimIdempotency(w.N, w.Row.ID); w.first != nil || err != nil {
		return err
	}
	if err := w.decideOccurrence(tx); err != nil {
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
	added, err := w.addContext(tx)
	if err != nil {
		return err
	}
	w.pinned += added
	if err := w.assignPlace(tx); err != nil {
		return err
	}
	if err := tx.Queries.InsertRun(tx.Ctx, w.Row); err != nil {
		return fmt.Errorf("insert run: %w", err)
	}
	if err := w.recordOccurrence(tx); err != nil {
		return err
	}
	if w.N.Test != "" {
		if err := tx.Queries.SetTestRun(tx.Ctx, gen.SetTestRunParams{ID: w.N.Test, WorkspaceID: w.Row.WorkspaceID, RunID: w.Row.ID}); err != nil {
			return fmt.Errorf("record the run of %s: %w", w.N.Test, err)
		}
	}
	if w.Row.MaxNanoUsd > 0 {
		if err := AddRunBudget(tx, flow.BudgetOfRun(w.Row.ID), w.Row.MaxNanoUsd); err != nil {
			return err
		}
	}
	if err := tx.writeSteps(w.steps); err != nil {
		return err
	}
	if err := tx.LinkFiles(w.Row.WorkspaceID, w.Row.ID, w.N.Files); err != nil {
		return err
	}
	if err := tx.inheritFiles(&w.Row); err != nil {
		return err
	}
	w.handToWorker(tx)
	return w.checkQuota(tx)
}

// check returns an error if the start exceeds a limit of its key or flow.
func (w *StartWrite) check(tx *Tx) error {
	if err := tx.checkRecent(w.N); err != nil {
		return err
	}
	if err := tx.takeBudgets(&w.Row, w.N); err != nil {
		return err
	}
	return tx.checkConcurrency(w.Row.WorkspaceID, w.N.Key)
}

// assignPlace decides where the run begins. It decides again each time.
func (w *StartWrite) assignPlace(tx *Tx) (err error) {
	r := &w.Row
	if r.Place, r.InstanceID, err = tx.admitOrQueue(FlowKey{r.WorkspaceID, r.FlowID}); err != nil {
		return err
	}
	w.occupyPlace(tx)
	return nil
}

// occupyPlace counts the run at the place where it begins.
func (w *StartWrite) occupyPlace(tx *Tx) {
	r := &w.Row
	r.Attempt, r.Busy = dbconn.BoolInt(r.Place == PlaceWorker), tx.BusyAt(r.InstanceID)
	tx.RecordMove(r.WorkspaceID, r.FlowID, PlaceEnded, r.Place)
}

// handToWorker hands the run to a worker unless it is queued.
func (w *StartWrite) handToWorker(tx *Tx) {
	if w.Row.Place == PlaceWorker {
		tx.HandRun(flow.Job{Kind: flow.JobRun, ID: string(w.Row.ID), Attempt: w.Row.Attempt, Run: newRunForWorker(w.N)}, w.Row.InstanceID)
	}
}

// checkQuota adds the stored size of the run and returns an error if that exceeds
// a quota.
func (w *StartWrite) checkQuota(tx *Tx) error {
	size := flow.StorageItem + sizeOfStart(&w.Row) + sizeOfSteps(w.steps) + w.pinned
	return tx.TrackWithinQuota(w.Row.WorkspaceID, flow.Storage{Bytes: size, Runs: 1})
}

// findEarlier looks for the run of an earlier attempt that may have been
// committed. If it was, no worker has the run yet.
func (w *StartWrite) findEarlier(tx *Tx) (found bool, err error) {
	r, err := tx.Queries.FindPlace(tx.Ctx, w.Row.ID)
	if dbconn.IsNoRows(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for %s: %w", w.Row.ID, err)
	}
	if w.Row.Attempt = r.Attempt; r.Place == PlaceWorker && r.Attempt == 1 && r.InstanceID == tx.Store.Holder() {
		w.Row.Place, w.Row.InstanceID = r.Place, tx.ReserveWorker()
		w.handToWorker(tx)
	}
	return true, nil
}

// newRunForWorker returns the run for a worker that starts it immediately and so
// need not read it, or nil if it has steps.
func newRunForWorker(n *flow.NewRun) *flow.Run {
	if len(n.Steps) > 0 {
		return nil
	}
	run := n.Run
	run.State, run.Attempt = flow.RunQueued, 1
	run.Sizes = map[string]int64{} // nothing is written yet
	run.NoWebhook = n.Webhook == nil
	return &run
}

// claimLife returns how long the idempotency key of a start is kept.
func claimLife(n *flow.NewRun) time.Duration {
	if n.Occurrence != nil {
		return flow.OccurrenceLife
	}
	return flow.IdempotencyLife
}

// claimIdempotency claims the idempotency key for this run, or returns the run
// that an equal request has started.
func (tx *Tx) claimIdempotency(n *flow.NewRun, runID flow.RunID) (*flow.Run, error) {
	if n.IdempotencyKey == "" {
		return nil, nil
	}
	ws, now := n.Run.WorkspaceID, tx.Store.Config.Now()
	claimed, err := tx.Queries.ClaimIdempotency(tx.Ctx, gen.ClaimIdempotencyParams{
		WorkspaceID: ws, Name: n.IdempotencyKey, Fingerprint: n.Fingerprint, RunID: runID,
		CreatedAt: dbconn.Micros(now), ExpiresAt: dbconn.Micros(now.Add(claimLife(n))), StaleBefore: dbconn.Micros(now.Add(-flow.IdempotencyLife)),
	})
	if err != nil || claimed > 0 {
		return nil, err
	}
	held, err := tx.Queries.FindIdempotency(tx.Ctx, gen.FindIdempotencyParams{WorkspaceID: ws, Name: n.IdempotencyKey})
	if err != nil {
		return nil, fmt.Errorf("find idempotency key: %w", err)
	}
	if err := fairness.CheckFingerprint(held.Fingerprint, n.Fingerprint); err != nil {
		return nil, err
	}
	return FindRun(tx.Ctx, tx.Queries, ws, "", held.RunID)
}

// checkConcurrency returns an error if the key or one of its makers has too many open runs.
func (tx *Tx) checkConcurrency(ws flow.WorkspaceID, k *flow.Key) error {
	for _, k := range keysOf(k) {
		if k.Concurrency <= 0 {
			continue
		}
		if err := tx.lockAdmission(); err != nil {
			return err
		}
		n, err := tx.countOpen(ws, k)
		if err == nil {
			err = fairness.CheckConcurrency(k, n+tx.Batch.Counts.startedBy[k.ID])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// countOpen returns how many runs of a key, and of the keys that it made, have not ended.
func (tx *Tx) countOpen(ws flow.WorkspaceID, k *flow.Key) (int64, error) {
	if k.MayMakeKeys() {
		return tx.Queries.CountOpenOfKeys(tx.Ctx, gen.CountOpenOfKeysParams{WorkspaceID: ws, KeyID: k.ID})
	}
	return tx.Queries.CountOpenOfKey(tx.Ctx, gen.CountOpenOfKeyParams{WorkspaceID: ws, KeyID: k.ID})
}

// FindStarted returns the run that an idempotency key has started, or nil if the
// key is unused. It returns CodeIdempotencyMismatch like StartRun. With it, a
// repeated request can be answered before anything else is read or checked.
func (s Execution) FindStarted(ctx context.Context, ws flow.WorkspaceID, key, fingerprint string) (*flow.Run, error) {
	held, err := s.DB.Reads.FindIdempotency(ctx, gen.FindIdempotencyParams{WorkspaceID: ws, Name: key})
	now := s.DB.Config.Now()
	if dbconn.IsNoRows(err) || err == nil && held.CreatedAt <= dbconn.Micros(now.Add(-flow.IdempotencyLife)) && held.ExpiresAt <= dbconn.Micros(now) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find idempotency key: %w", err)
	}
	if err := fairness.CheckFingerprint(held.Fingerprint, fingerprint); err != nil {
		return nil, err
	}
	return s.FindRun(ctx, ws, "", held.RunID)
}

// RunSecrets opens the secret inputs of a run, by name.
func (s Execution) RunSecrets(ctx context.Context, ws flow.WorkspaceID, runID flow.RunID) (map[string]string, error) {
	sealed, err := s.DB.Reads.FindRunSecrets(ctx, gen.FindRunSecretsParams{ID: runID, WorkspaceID: ws})
	if err != nil {
		return nil, dbconn.NotFoundErr(err, "run")
	}
	if len(sealed) == 0 {
		return nil, nil
	}
	text, err := s.DB.Unseal(sealed, ws, string(runID), "secrets")
	if err != nil {
		return nil, fmt.Errorf("secret inputs of %s: %w", runID, err)
	}
	return dbconn.Decode[map[string]string](string(text))
}
