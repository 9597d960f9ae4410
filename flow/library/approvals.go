package library

import (
	"context"
	"fmt"

	"sluice/flow"
	"sluice/flow/wording"
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
			d, err := q.CheckDecision(a.Decision)
			if err == nil && q.Call != nil && len(d.Values) > 0 {
				err = checkArguments(ctx, l, q, &d)
			}
			return d, err
		}
		if asked, err = l.Store.DecideApproval(ctx, a.WorkspaceID, a.RunID, a.Path, a.Decision, check); err != nil {
			return err
		}
		return l.Store.AddAudit(ctx, flow.AuditEntry{
			WorkspaceID: a.WorkspaceID, Actor: a.Decision.By.ID, IP: a.IP, Action: "approval.answer", Target: string(a.RunID),
			Detail: answerDetail(asked),
		})
	})
	return asked, err
}

// answerDetail describes an answer for the audit log.
func answerDetail(a *flow.Approval) string {
	detail := fmt.Sprintf("%s: %s", a.Path, a.Decision.Outcome)
	if c := a.Question.Call; c != nil {
		detail += ", " + c.Tool
	}
	if a.Decision.All {
		detail += ", all calls in this run"
	}
	return detail
}

// checkArguments checks edited arguments of a call against the schema of its tool.
func checkArguments(ctx context.Context, l *Library, q *flow.Question, d *flow.Decision) error {
	if l.CheckArguments == nil {
		return flow.Errorf(flow.CodeInputInvalid, "This server cannot check changed arguments. Approve or reject the call as it is.")
	}
	wrong, err := l.CheckArguments(ctx, q.Call.Schema, q.Arguments(d))
	if err != nil {
		return fmt.Errorf("check the arguments of %s: %w", q.Call.Tool, err)
	}
	if wrong != "" {
		return flow.Errorf(flow.CodeInputInvalid, "The changed arguments do not match what the tool accepts: %s", wording.Period(wrong))
	}
	return nil
}
