package web

import (
	"context"
	"net/url"
	"slices"
	"time"

	"sluice/flow"
)

// ApprovalPath returns the path of the dashboard's page that answers a question.
func ApprovalPath(runID flow.RunID, path string) string {
	return "/approvals/" + url.PathEscape(string(runID)) + "/" + url.PathEscape(path)
}

// ApprovalReader reads the questions of runs.
type ApprovalReader interface {
	ListApprovals(ctx context.Context, ws flow.WorkspaceID, runID flow.RunID) ([]flow.Approval, error)
}

// OpenQuestions returns the questions of a run that can be answered now, oldest first.
func OpenQuestions(ctx context.Context, s ApprovalReader, run *flow.Run, now time.Time) ([]flow.Approval, error) {
	if run.State.Ended() {
		return nil, nil
	}
	asked, err := s.ListApprovals(ctx, run.WorkspaceID, run.ID)
	return slices.DeleteFunc(asked, func(a flow.Approval) bool {
		return a.Decision != nil || a.Closed || !now.Before(a.ExpiresAt)
	}), err
}
