package jobs

import (
	"context"
	"time"

	"sluice/flow"
	"sluice/flow/filelinks"
)

// approvals lets steps ask people. The token of a link exists only in the message or
// output that the step makes with it; the store has its hash.
type approvals struct {
	store Store
	links *filelinks.Signer // knows the public address; nil: links have only a path
}

// AskApproval stores a question and returns the link that answers it. Only the hash of
// the token is stored, so the link cannot be recovered from the database. Without the base
// URL of the server, the link is a path.
func (a approvals) AskApproval(ctx context.Context, q *flow.Approval) (link string, err error) {
	token := flow.NewLinkToken()
	if err := a.store.SaveApproval(ctx, flow.Hash([]byte(token)), q); err != nil {
		return "", err
	}
	if a.links != nil {
		link = a.links.Base
	}
	return link + flow.ApprovalLink(token), nil
}

// TakeDecision returns the decision, or nil while the question is open; see
// flow.Approvals.
func (a approvals) TakeDecision(ctx context.Context, ws flow.WorkspaceID, runID flow.RunID, path string, now time.Time) (*flow.Decision, error) {
	return a.store.TakeDecision(ctx, ws, runID, path, now)
}
