package library

import (
	"context"
	"fmt"

	"sluice/flow"
)

// Answer is an answer to a question of a run.
type Answer struct {
	WorkspaceID flow.WorkspaceID
	RunID       flow.RunID
	Path        string
	Email       string // of the member who answers; empty for keys and links
	IP          string
	Decision    flow.Decision
}

// Answer records an answer, after which the run continues. Only the first answer counts; later
// ones get CodeAlreadyDecided with the name of who decided.
func (l *Library) Answer(ctx context.Context, a Answer) (asked *flow.Approval, err error) {
	err = l.Store.InTransaction(ctx, func(ctx context.Context) error {
		check := func(q *flow.Question, started flow.Starter) (flow.Decision, error) {
			if err := q.MayAnswer(a.Decision.By, a.Email, started); err != nil {
				return a.Decision, err
			}
			return q.CheckDecision(a.Decision)
		}
		if asked, err = l.Store.DecideApproval(ctx, a.WorkspaceID, a.RunID, a.Path, a.Decision, check); err != nil {
			return err
		}
		return l.Store.AddAudit(ctx, flow.AuditEntry{
			WorkspaceID: a.WorkspaceID, Actor: a.Decision.By.ID, IP: a.IP, Action: "approval.answer", Target: string(a.RunID),
			Detail: fmt.Sprintf("%s: %s", a.Path, asked.Decision.Outcome),
		})
	})
	return asked, err
}
