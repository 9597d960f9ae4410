package db

import (
	"context"
	"fmt"

	"sluice/db/gen"
	"sluice/flow"
)

// FindRun returns a run; an empty flowID means any flow of the workspace.
func (s *Store) FindRun(ctx context.Context, ws, flowID, runID string) (*flow.Run, error) {
	return findRun(ctx, s.read, ws, flowID, runID)
}

func findRun(ctx context.Context, q *gen.Queries, ws, flowID, runID string) (*flow.Run, error) {
	r, err := q.FindRun(ctx, gen.FindRunParams{ID: runID, WorkspaceID: ws, FlowID: flowID})
	if err != nil {
		return nil, missing(err, "run")
	}
	return runOf(&r)
}

// LoadRun hands a run and its steps to a worker, or ErrFenced when the attempt
// is no longer the present one. On PostgreSQL it also writes down which
// instance holds the run.
func (s *Store) LoadRun(ctx context.Context, runID string, attempt int64) (*flow.Run, []flow.Step, error) {
	row, err := s.claim(ctx, runID, attempt)
	if isNoRows(err) {
		return nil, nil, ErrFenced
	}
	if err != nil {
		return nil, nil, fmt.Errorf("load %s: %w", runID, err)
	}
	run, err := runOf(&row)
	if err != nil {
		return nil, nil, err
	}
	run.Sizes = map[string]int64{"": int64(len(row.Outputs) + len(row.Error))}
	if run.Attempt == 1 && run.StartedAt.IsZero() && run.Progress.Done == 0 {
		return run, nil, nil // it came with no step, and nobody can have written one yet
	}
	steps, err := s.findSteps(ctx, run.WorkspaceID, run.ID, run.Sizes)
	return run, steps, err
}

func (s *Store) claim(ctx context.Context, runID string, attempt int64) (gen.Run, error) {
	if self := s.self.Load(); s.pool != nil && self != nil {
		return s.read.ClaimRun(ctx, gen.ClaimRunParams{ID: runID, Attempt: attempt, InstanceID: *self})
	}
	return s.read.FindHeldRun(ctx, gen.FindHeldRunParams{ID: runID, Attempt: attempt})
}

func runOf(r *gen.Run) (*flow.Run, error) {
	run := &flow.Run{
		ID: r.ID, WorkspaceID: r.WorkspaceID, FlowID: r.FlowID, Version: r.Version, Draft: r.Draft != 0,
		DocumentHash: r.DocumentHash, State: flow.RunState(r.State), Attempt: r.Attempt,
		Trigger: flow.Trigger(r.RunTrigger), KeyID: r.KeyID, UserID: r.UserID,
		ParentRunID: r.ParentRunID, RerunFrom: r.RerunFrom,
		Usage:    flow.Usage{InputTokens: r.InputTokens, OutputTokens: r.OutputTokens, CostNanoUSD: r.CostNanoUsd},
		Progress: flow.Progress{Done: int(r.ProgressDone), Total: int(r.ProgressTotal)},
		Seq:      r.Seq, RunSeq: r.RunSeq, Writes: r.Writes, Save: r.Save != 0, Timeout: since(r.Timeout),
		CancelRequested: r.CancelRequested != 0, Crashes: int(r.Crashes),
		CreatedAt: timeOf(r.CreatedAt), StartedAt: timeOf(r.StartedAt), EndedAt: timeOf(r.EndedAt),
		ExpiresAt: timeOf(r.ExpiresAt), DeadlineAt: timeOf(r.DeadlineAt), WaitingSince: timeOf(r.WaitingSince),
		Erased: flow.Code(r.Erased),
	}
	var err error
	if run.Error, err = decode[*flow.Error](r.Error); err != nil {
		return nil, fmt.Errorf("error of %s: %w", r.ID, err)
	}
	for _, f := range []struct {
		to   *map[string]any
		text string
	}{{&run.Inputs, r.Inputs}, {&run.Outputs, r.Outputs}, {&run.Metadata, r.Metadata}} {
		if *f.to, err = decode[map[string]any](f.text); err != nil {
			return nil, fmt.Errorf("content of %s: %w", r.ID, err)
		}
	}
	return run, nil
}
