package db

import (
	"context"
	"fmt"
	"time"

	"sluice/db/gen"
	"sluice/flow"
)

// idempotencyLife is how long a repeated start finds the first one.
const idempotencyLife = 24 * time.Hour

// StartRun accepts a run in one durable write: idempotency row, run row,
// admission and, when it is admitted, its job.
func (s *Store) StartRun(ctx context.Context, n flow.NewRun) (flow.Started, error) {
	run := n.Run
	if run.ID == "" {
		run.ID = s.ids.New(flow.PrefixRun)
	}
	if run.CreatedAt.IsZero() {
		run.CreatedAt = s.cfg.Now()
	}
	run.CreatedAt = run.CreatedAt.UTC().Truncate(time.Microsecond)
	run.State = flow.RunQueued
	row, err := s.runRow(&run, n.Webhook)
	if err != nil {
		return flow.Started{}, err
	}
	n.Run = run
	var first *flow.Run
	steps := stepRows(&run, n.Steps)
	err = s.write(ctx, durable, func(tx *Tx) (err error) {
		if first, err = tx.claimIdempotency(&n, run.ID); first != nil || err != nil {
			return err
		}
		return tx.startRun(&n, &row, steps)
	})
	if err != nil {
		return flow.Started{}, err
	}
	if first != nil {
		return flow.Started{Run: first, Replayed: true}, nil
	}
	run.Attempt = row.Attempt
	return flow.Started{Run: &run}, nil
}

// startRun inserts the run; it sets place and attempt of the row anew each
// time it runs.
func (tx *Tx) startRun(n *flow.NewRun, row *gen.InsertRunParams, steps []any) (err error) {
	if err := tx.checkRecent(n); err != nil {
		return err
	}
	if err := tx.takeBudgets(row, n.Key); err != nil {
		return err
	}
	if err := tx.checkKey(row.WorkspaceID, n.Key); err != nil {
		return err
	}
	kept := flow.Storage{Bytes: flow.StorageItem + sizeOfStart(row) + sizeOfSteps(steps), Runs: 1}
	if len(n.Document) > 0 {
		pinned, err := tx.pinDocument(row.WorkspaceID, row.DocumentHash, n.Document)
		if err != nil {
			return err
		}
		kept.Bytes += pinned
	}
	if row.Place, row.InstanceID, err = tx.decide(flowKey{row.WorkspaceID, row.FlowID}); err != nil {
		return err
	}
	row.Attempt, row.Busy = flag(row.Place == placeWorker), tx.busyAt(row.InstanceID)
	if err := tx.InsertRun(tx.ctx, *row); err != nil {
		return fmt.Errorf("insert run: %w", err)
	}
	if err := tx.writeSteps(steps); err != nil {
		return err
	}
	if err := tx.linkFiles(row.WorkspaceID, row.ID, n.Files); err != nil {
		return err
	}
	if err := tx.inheritFiles(row.WorkspaceID, row.ID, row.ParentRunID); err != nil {
		return err
	}
	tx.moved(row.WorkspaceID, row.FlowID, placeEnded, row.Place)
	if row.Place == placeWorker {
		tx.handRun(flow.Job{Kind: flow.JobRun, ID: row.ID, Attempt: row.Attempt, Run: fresh(n)}, row.InstanceID)
	}
	return tx.storeChecked(row.WorkspaceID, kept)
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
	return &run
}

// claimIdempotency takes the key for this run, or returns the run that an
// equal request has started.
func (tx *Tx) claimIdempotency(n *flow.NewRun, runID string) (*flow.Run, error) {
	if n.IdempotencyKey == "" {
		return nil, nil
	}
	ws, now := n.Run.WorkspaceID, tx.s.cfg.Now()
	claimed, err := tx.ClaimIdempotency(tx.ctx, gen.ClaimIdempotencyParams{
		WorkspaceID: ws, Name: n.IdempotencyKey, Fingerprint: n.Fingerprint, RunID: runID,
		CreatedAt: micros(now), StaleBefore: micros(now.Add(-idempotencyLife)),
	})
	if err != nil || claimed > 0 {
		return nil, err
	}
	held, err := tx.FindIdempotency(tx.ctx, gen.FindIdempotencyParams{WorkspaceID: ws, Name: n.IdempotencyKey})
	if err != nil {
		return nil, fmt.Errorf("find idempotency key: %w", err)
	}
	if held.Fingerprint != n.Fingerprint {
		return nil, errMismatch()
	}
	return findRun(tx.ctx, tx.Queries, ws, "", held.RunID)
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
	n, err := tx.CountOpenOfKey(tx.ctx, gen.CountOpenOfKeyParams{WorkspaceID: ws, KeyID: k.ID})
	if err != nil {
		return fmt.Errorf("count runs of key: %w", err)
	}
	if n >= k.Concurrency {
		e := flow.Errorf(flow.CodeConcurrencyLimited, "This key may have %d runs at once, and they have not ended yet.", k.Concurrency)
		e.Retryable, e.After = true, time.Second
		return e
	}
	return nil
}

// runRow is the row of a new run. It is made before the transaction, since the
// one writer of SQLite should not spend its time on encoding.
func (s *Store) runRow(r *flow.Run, webhook *flow.NewDelivery) (gen.InsertRunParams, error) {
	sealed, err := s.sealWebhook(r, webhook)
	return gen.InsertRunParams{
		ID: r.ID, WorkspaceID: r.WorkspaceID, FlowID: r.FlowID, Version: r.Version, Draft: flag(r.Draft),
		DocumentHash: r.DocumentHash, State: string(r.State), RunTrigger: string(r.Trigger),
		KeyID: r.KeyID, UserID: r.UserID, ParentRunID: r.ParentRunID, RerunFrom: r.RerunFrom,
		ProgressDone: int64(r.Progress.Done), ProgressTotal: int64(r.Progress.Total), Seq: r.Seq, RunSeq: r.RunSeq,
		Save: flag(r.Save), Timeout: r.Timeout.Microseconds(), CreatedAt: micros(r.CreatedAt), DeadlineAt: micros(r.DeadlineAt),
		Gist: flow.Gist(r.Inputs), Webhook: sealed, Metadata: encodeMap(r.Metadata), Inputs: encodeMap(r.Inputs),
	}, err
}

// FindStarted returns the run that an idempotency key has started, nil when
// the key is free, and CodeIdempotencyMismatch as StartRun does. It lets a
// repeated request be answered before anything is read or checked for it.
func (s *Store) FindStarted(ctx context.Context, ws, key, fingerprint string) (*flow.Run, error) {
	held, err := s.read.FindIdempotency(ctx, gen.FindIdempotencyParams{WorkspaceID: ws, Name: key})
	if isNoRows(err) || err == nil && held.CreatedAt <= micros(s.cfg.Now().Add(-idempotencyLife)) {
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
