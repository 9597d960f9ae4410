package core

import (
	"context"
	"fmt"

	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
)

// FailRun fails a run whose data cannot be read or written, without reading the
// data. It returns ErrFenced like WriteRun. The returned run has no content.
func (s Execution) FailRun(ctx context.Context, runID flow.RunID, attempt int64, cause *flow.Error) (*flow.Run, error) {
	run := &flow.Run{ID: runID, Attempt: attempt, State: flow.RunFailed, Error: cause}
	err := s.DB.Write(ctx, Durable, func(tx *Tx) error {
		size, err := tx.Queries.SizeRun(tx.Ctx, runID)
		sized := err == nil // false if the row is too damaged even for that
		if err != nil && !dbconn.IsNoRows(err) && !flow.IsPermanent(dbconn.Classify(err)) {
			return fmt.Errorf("size of %s: %w", runID, err)
		}
		run.EndedAt = s.DB.Config.Now()
		run.ExpiresAt = run.EndedAt.Add(s.DB.Config.Retention)
		n, err := tx.Queries.FailRun(tx.Ctx, gen.FailRunParams{
			ID: runID, Attempt: attempt, Error: dbconn.EncodeError(cause), EndedAt: dbconn.Micros(run.EndedAt), ExpiresAt: dbconn.Micros(run.ExpiresAt),
		})
		if err == nil && n == 0 {
			err = dbconn.ErrFenced
		}
		if err != nil {
			return fmt.Errorf("fail %s: %w", runID, err)
		}
		if err := tx.Queries.CancelOpenSteps(tx.Ctx, gen.CancelOpenStepsParams{RunID: runID, EndedAt: dbconn.Micros(run.EndedAt)}); err != nil {
			return fmt.Errorf("cancel the steps of %s: %w", runID, err)
		}
		row, err := tx.Queries.FindFailed(tx.Ctx, runID)
		if flow.IsPermanent(dbconn.Classify(err)) { // the run is then missing from the statistics
			s.DB.Config.Log.Error("a failed run cannot be read", "run", runID, "error", err)
			_, err = tx.admit(admitAtOnce)
			return err
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", runID, err)
		}
		run.WorkspaceID, run.FlowID, run.KeyID, run.Save = row.WorkspaceID, row.FlowID, row.KeyID, row.Save != 0
		run.CreatedAt, run.StartedAt, run.EndedAt = dbconn.TimeOf(row.CreatedAt), dbconn.TimeOf(row.StartedAt), dbconn.TimeOf(row.EndedAt)
		run.Seq, run.RunSeq = row.Seq, row.Seq
		run.FlowsAbove, run.Budgets = dbconn.DecodeIDs[flow.FlowID](row.FlowsAbove), dbconn.DecodeIDs[flow.RunBudgetID](row.Budgets)
		if err := tx.loseCalls(run); err != nil {
			return err
		}
		run.Caller = callerOf(row.CallerRunID, row.CallerPath, row.CallerRound, row.CallerItem)
		if sized {
			left, err := tx.Queries.SizeRun(tx.Ctx, runID)
			if err != nil {
				return fmt.Errorf("size of %s: %w", runID, err)
			}
			tx.TrackBytes(run.WorkspaceID, left-size)
		}
		tx.Notify(runID)
		p := &runWrite{s: s.DB, run: *run, row: gen.UpdateRunParams{Place: PlaceEnded}, ignoreWebhookError: true}
		p.countPlace(tx)
		return p.readAndLeaveWorker(tx)
	})
	if err != nil {
		return nil, err
	}
	return run, nil
}
