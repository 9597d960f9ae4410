package core

import (
	"context"
	"errors"
	"fmt"

	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
	"sluice/flow/inflight"
)

// FindRun returns a run; an empty flowID means any flow of the workspace.
func (s Execution) FindRun(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, runID flow.RunID) (*flow.Run, error) {
	run, whole, err := s.FindRunHead(ctx, ws, flowID, runID)
	if err != nil || whole {
		return run, err
	}
	return ReadRow(ctx, s.DB, func(ctx context.Context) (*flow.Run, error) { return ReadRun(ctx, s.DB.Reads, ws, flowID, runID) })
}

// FindRun returns a run; an empty flowID means any flow of the workspace. A run
// that failed because its data cannot be read is returned without that data.
func FindRun(ctx context.Context, q *gen.Queries, ws flow.WorkspaceID, flowID flow.FlowID, runID flow.RunID) (*flow.Run, error) {
	return ReadRun(inflight.WithLease(ctx, nil), q, ws, flowID, runID)
}

// ReadRun is FindRun outside of transactions: it waits until there is memory for a large run.
func ReadRun(ctx context.Context, q *gen.Queries, ws flow.WorkspaceID, flowID flow.FlowID, runID flow.RunID) (*flow.Run, error) {
	if err := takeMemory(ctx, string(runID), func() (int64, error) {
		return q.WeighContent(ctx, gen.WeighContentParams{ID: runID, WorkspaceID: ws})
	}); err != nil {
		return nil, err
	}
	r, err := q.FindRun(ctx, gen.FindRunParams{ID: runID, WorkspaceID: ws, FlowID: flowID})
	if err != nil {
		return nil, dbconn.Unreadable(dbconn.NotFoundErr(err, "run"), "run", runID)
	}
	if err := countMemory(ctx, string(runID), r.Run.Inputs, r.Run.Outputs, r.Run.Metadata); err != nil {
		return nil, err
	}
	return foundRun(&r)
}

// WeighRun returns the workspace of a run, and how many bytes LoadRun would read.
func (s Execution) WeighRun(ctx context.Context, runID flow.RunID) (flow.WorkspaceID, int64, error) {
	r, err := s.DB.Reads.WeighRun(ctx, runID)
	if dbconn.IsNoRows(err) {
		return "", 0, dbconn.ErrFenced
	}
	if err != nil {
		return "", 0, fmt.Errorf("weigh %s: %w", runID, err)
	}
	return r.WorkspaceID, r.Bytes, nil
}

// FindRunHead is FindRun in one query and without waiting for memory: whole reports whether the
// run has its inputs, outputs and metadata, which are left out if they are large.
func (s Execution) FindRunHead(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, runID flow.RunID) (run *flow.Run, whole bool, err error) {
	head := gen.New(headReader{ReaderOf(s.DB)})
	r, err := ReadRow(ctx, s.DB, func(ctx context.Context) (gen.FindRunRow, error) {
		return head.FindRun(ctx, gen.FindRunParams{ID: runID, WorkspaceID: ws, FlowID: flowID})
	})
	if err != nil {
		return nil, false, dbconn.Unreadable(dbconn.NotFoundErr(err, "run"), "run", runID)
	}
	if whole = r.Run.Inputs != leftOut; !whole {
		r.Run.Inputs, r.Run.Outputs, r.Run.Metadata = "", "", ""
	}
	run, err = foundRun(&r)
	return run, whole, err
}

// foundRun converts a row of FindRun.
func foundRun(r *gen.FindRunRow) (*flow.Run, error) {
	run, err := RunOf(&r.Run)
	if run != nil {
		run.FlowSlug = r.FlowSlug
	}
	if run != nil && run.Error != nil && run.Error.Code == flow.CodeInternal {
		return run, nil // it failed because its data cannot be read, and its error says so
	}
	if err != nil {
		return nil, dbconn.Unreadable(err, "run", r.Run.ID)
	}
	return run, nil
}

// takeMemory takes the memory for JSON that a request is about to read from the store: for the texts,
// and for the values that are decoded from them. size returns the bytes of the texts. Workers have taken theirs
// before they load a run.
func takeMemory(ctx context.Context, what string, size func() (int64, error)) error {
	lease := inflight.LeaseOf(ctx)
	if lease == nil {
		return nil
	}
	n, err := size()
	if err != nil {
		return nil // reading it reports the error
	}
	return memoryError(lease.Read(what, 3*n))
}

// countMemory replaces what takeMemory took by the exact memory of texts that were read.
func countMemory(ctx context.Context, what string, texts ...string) error {
	lease := inflight.LeaseOf(ctx)
	if lease == nil {
		return nil
	}
	var n, heap int64
	for _, text := range texts {
		n += int64(len(text))
	}
	if n < inflight.Small/4 { // counting takes time, and less is never much
		return nil
	}
	for _, text := range texts {
		heap += inflight.CostOf(text).Heap
	}
	return memoryError(lease.Read(what, 2*n+heap))
}

// memoryError converts an error of a lease to that of a request.
func memoryError(err error) error {
	switch {
	case errors.Is(err, inflight.ErrTooLarge):
		return flow.Errorf(flow.CodeOverloaded, "Reading this takes more memory than one request may have on this server.")
	case errors.Is(err, inflight.ErrBusy):
		return flow.ErrMemoryBusy
	default:
		return err
	}
}

// LoadRun returns a run and its steps to a worker, or ErrFenced if the attempt is
// no longer current. On PostgreSQL it also records which instance holds the run.
func (s Execution) LoadRun(ctx context.Context, runID flow.RunID, attempt int64) (*flow.Run, []flow.Step, error) {
	row, err := s.claim(ctx, runID, attempt)
	if dbconn.IsNoRows(err) {
		return nil, nil, dbconn.ErrFenced
	}
	if err != nil {
		return nil, nil, fmt.Errorf("load %s: %w", runID, dbconn.Classify(err))
	}
	run, err := RunOf(&row.Run)
	if err != nil {
		return nil, nil, err
	}
	run.FlowSlug = row.FlowSlug
	run.NoWebhook = len(row.Run.Webhook) == 0
	run.Sizes = map[string]int64{"": int64(len(row.Run.Outputs) + len(row.Run.Error))}
	if run.Attempt == 1 && run.StartedAt.IsZero() && run.Progress.Done == 0 && run.Seq <= 1 {
		return run, nil, nil // a new run without steps; no worker has written one yet
	}
	steps, err := s.findSteps(ctx, run.WorkspaceID, run.ID, allSteps, run.Sizes)
	return run, steps, err
}

// HoldRun records again that this instance holds the run, or returns ErrFenced
// if another attempt is current. It waits for a recovery that is taking the run
// over.
func (s Execution) HoldRun(ctx context.Context, runID flow.RunID, attempt int64) error {
	n, err := s.DB.Reads.HoldRun(ctx, gen.HoldRunParams{ID: runID, Attempt: attempt, InstanceID: s.DB.Holder()})
	if err != nil {
		return fmt.Errorf("hold %s: %w", runID, err)
	}
	if n == 0 {
		return dbconn.ErrFenced
	}
	return nil
}

// claim reads the run of a job and, on PostgreSQL, records the instance.
func (s Execution) claim(ctx context.Context, runID flow.RunID, attempt int64) (gen.FindHeldRunRow, error) {
	r, err := s.DB.Reads.FindHeldRun(ctx, gen.FindHeldRunParams{ID: runID, Attempt: attempt})
	self := s.DB.Self.Load()
	if err != nil || !s.DB.IsPostgres() || self == nil || r.Run.InstanceID == *self {
		return r, err
	}
	r.Run, err = s.DB.Reads.ClaimRun(ctx, gen.ClaimRunParams{ID: runID, Attempt: attempt, InstanceID: *self})
	return r, err
}

// Execution stores runs in progress and their steps: starting, claiming,
// recording and ending them, and admitting queued ones.
type Execution struct{ DB *DB }
