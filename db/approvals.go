package db

import (
	"context"
	"errors"
	"slices"
	"time"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
)

// SaveApproval stores an open question under the hash of its link's token. A question
// that the step asked before is replaced, unless it has been answered.
func (s *Approvals) SaveApproval(ctx context.Context, tokenHash string, a *flow.Approval) error {
	asked := a.Question
	asked.Rendered = "" // not part of what the flow provides
	if size := len(dbconn.EncodeAny(asked)); size > flow.MaxQuestion {
		return flow.Errorf(flow.CodeInputInvalid, "The message and the values are %s; an approval shows at most %s.", flow.Size(int64(size)), flow.Size(flow.MaxQuestion))
	}
	question := dbconn.EncodeAny(a.Question)
	return s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		return tx.Queries.SaveApproval(tx.Ctx, gen.SaveApprovalParams{
			RunID: a.RunID, Path: a.Path, WorkspaceID: a.WorkspaceID, FlowID: a.FlowID, Node: a.Node, TokenHash: tokenHash,
			Question: question, CreatedAt: s.DB.NowMicros(), ExpiresAt: dbconn.Micros(a.ExpiresAt),
		})
	})
}

// FindApproval returns the question of a step.
func (s *Approvals) FindApproval(ctx context.Context, ws flow.WorkspaceID, runID flow.RunID, path string) (*flow.Approval, error) {
	r, err := s.DB.Reads.FindApproval(ctx, gen.FindApprovalParams{RunID: runID, Path: path, WorkspaceID: ws})
	return foundApproval(r, err)
}

// FindApprovalByToken returns the question that a link answers, in any workspace.
func (s *Approvals) FindApprovalByToken(ctx context.Context, tokenHash string) (*flow.Approval, error) {
	r, err := s.DB.Reads.FindApprovalByToken(ctx, tokenHash)
	return foundApproval(gen.FindApprovalRow(r), err)
}

// ListApprovals returns the questions of a run, by path, answered ones too.
func (s *Approvals) ListApprovals(ctx context.Context, ws flow.WorkspaceID, runID flow.RunID) ([]flow.Approval, error) {
	rows, err := s.DB.Reads.ListApprovalsOfRun(ctx, gen.ListApprovalsOfRunParams{RunID: runID, WorkspaceID: ws})
	return approvalsOf(rows, err, func(r gen.ListApprovalsOfRunRow) gen.FindApprovalRow { return gen.FindApprovalRow(r) })
}

// OpenApprovals returns the questions of a workspace that can be answered, newest
// first, at most limit.
func (s *Approvals) OpenApprovals(ctx context.Context, ws flow.WorkspaceID, limit int) ([]flow.Approval, error) {
	rows, err := s.DB.Reads.ListOpenApprovals(ctx, gen.ListOpenApprovalsParams{WorkspaceID: ws, Now: s.DB.NowMicros(), MaxRows: int32(limit)})
	return approvalsOf(rows, err, func(r gen.ListOpenApprovalsRow) gen.FindApprovalRow { return gen.FindApprovalRow(r) })
}

// CountApprovals returns how many questions of a workspace can be answered.
func (s *Approvals) CountApprovals(ctx context.Context, ws flow.WorkspaceID) (int64, error) {
	return s.DB.Reads.CountOpenApprovals(ctx, gen.CountOpenApprovalsParams{WorkspaceID: ws, Now: s.DB.NowMicros()})
}

// DecideApproval answers a question and hands its run to a worker. Of two answers, even
// concurrent ones, the first counts: the transaction locks the run, as every write of its
// worker does. check may refuse or change d; it is called with the question and what the
// run was started by.
func (s *Approvals) DecideApproval(ctx context.Context, ws flow.WorkspaceID, runID flow.RunID, path string, d flow.Decision,
	check func(q *flow.Question, started flow.Starter) (flow.Decision, error),
) (a *flow.Approval, err error) {
	err = s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		run, err := tx.Queries.LockRun(tx.Ctx, runID)
		if err != nil {
			return dbconn.NotFoundErr(err, "approval")
		}
		if a, err = foundApproval(tx.Queries.FindApproval(tx.Ctx, gen.FindApprovalParams{RunID: runID, Path: path, WorkspaceID: ws})); err != nil {
			return err
		}
		started := flow.Starter{KeyID: run.KeyID}
		if d.By.Type == flow.ByKey {
			if started.Related, err = startedBy(tx, ws, runID, run.KeyID, d.By.ID); err != nil {
				return err
			}
		}
		if d, err = check(&a.Question, started); err != nil {
			return err
		}
		d.At = dbconn.TimeOf(s.DB.NowMicros())
		if a.Decision == nil && !a.Closed && !d.At.Before(a.ExpiresAt) {
			a.Decision = &flow.Decision{Outcome: flow.OutcomeExpired, At: a.ExpiresAt}
		}
		if a.Decision != nil || a.Closed {
			return a.DecidedError()
		}
		a.Decision = &d
		if err := decide(tx, a); err != nil {
			return err
		}
		if err := decideCovered(tx, a); err != nil {
			return err
		}
		tx.Notify(runID)
		return tx.ResumeDecided(ws, runID)
	})
	return a, err
}

// TakeDecision returns the decision on a step's question, or nil while it is open. A
// question that is overdue at now expires.
func (s *Approvals) TakeDecision(ctx context.Context, ws flow.WorkspaceID, runID flow.RunID, path string, now time.Time) (d *flow.Decision, err error) {
	err = s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		if _, err := tx.Queries.LockRun(tx.Ctx, runID); err != nil {
			return dbconn.NotFoundErr(err, "approval")
		}
		a, err := foundApproval(tx.Queries.FindApproval(tx.Ctx, gen.FindApprovalParams{RunID: runID, Path: path, WorkspaceID: ws}))
		if err != nil {
			return err
		}
		if a.Decision == nil && !now.Before(a.ExpiresAt) {
			a.Decision = &flow.Decision{Outcome: flow.OutcomeExpired, At: a.ExpiresAt}
			if err := decide(tx, a); err != nil {
				return err
			}
		}
		if d = a.Decision; d == nil {
			return nil
		}
		return tx.Queries.SeeApproval(tx.Ctx, gen.SeeApprovalParams{RunID: runID, Path: path})
	})
	return d, err
}

// decideCovered answers the other open questions of a run that an approval of all calls of a tool covers.
func decideCovered(tx *core.Tx, a *flow.Approval) error {
	if !a.Decision.All {
		return nil
	}
	rows, err := tx.Queries.ListApprovalsOfRun(tx.Ctx, gen.ListApprovalsOfRunParams{RunID: a.RunID, WorkspaceID: a.WorkspaceID})
	list, err := approvalsOf(rows, err, func(r gen.ListApprovalsOfRunRow) gen.FindApprovalRow { return gen.FindApprovalRow(r) })
	if err != nil {
		return err
	}
	own := *a.Decision
	own.Values = nil
	for i := range list {
		other := &list[i]
		if other.Decision != nil || !a.Decision.At.Before(other.ExpiresAt) || !a.Covers(other) {
			continue
		}
		other.Decision = &own
		if err := decide(tx, other); err != nil {
			return err
		}
	}
	return nil
}

// decide stores the decision of a.
func decide(tx *core.Tx, a *flow.Approval) error {
	n, err := tx.Queries.DecideApproval(tx.Ctx, gen.DecideApprovalParams{
		RunID: a.RunID, Path: a.Path, DecidedAt: dbconn.Micros(a.Decision.At), Decision: dbconn.EncodeAny(a.Decision),
	})
	if err == nil && n == 0 {
		err = errors.New("the approval was decided although its run was locked")
	}
	return err
}

// foundApproval decodes a row, or converts its error to CodeNotFound. The approval is closed
// if its run or its step has ended, or is being canceled, even without an answer.
func foundApproval(r gen.FindApprovalRow, err error) (*flow.Approval, error) {
	if err != nil {
		return nil, dbconn.NotFoundErr(err, "approval")
	}
	a := &flow.Approval{
		WorkspaceID: r.WorkspaceID, FlowID: r.FlowID, RunID: r.RunID, Path: r.Path, Node: r.Node,
		CreatedAt: dbconn.TimeOf(r.CreatedAt), ExpiresAt: dbconn.TimeOf(r.ExpiresAt), Closed: r.Place == core.PlaceEnded || r.CancelRequested != 0 || slices.Contains([]string{string(flow.StepCanceled), string(flow.StepFailed)}, r.StepState),
	}
	if a.Question, err = dbconn.Decode[flow.Question](r.Question); err == nil && r.Decision != "" {
		a.Decision, err = dbconn.Decode[*flow.Decision](r.Decision)
	}
	return a, err
}

// approvalsOf decodes the rows of a query. convert copies its row type, which has the
// columns of FindApproval.
func approvalsOf[R any](rows []R, err error, convert func(R) gen.FindApprovalRow) ([]flow.Approval, error) {
	list := make([]flow.Approval, 0, len(rows))
	for _, r := range rows {
		a, e := foundApproval(convert(r), err)
		if e != nil {
			return nil, e
		}
		list = append(list, *a)
	}
	return list, err
}
