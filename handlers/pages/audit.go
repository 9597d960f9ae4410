package pages

import (
	"context"

	"sluice/flow"
)

// auditStore keeps the audit logs.
type auditStore interface {
	AddAudit(ctx context.Context, e flow.AuditEntry) error
	ListAudit(ctx context.Context, ws, beforeID string, limit int) ([]flow.AuditEntry, error)
	ListAuditAfter(ctx context.Context, ws, afterID string, limit int) ([]flow.AuditEntry, error)
}

// audit writes to the workspace's log who did what. A failure to do so fails
// the request, since nobody could tell later.
func (c *call) audit(action, target, detail string) error {
	if c.member == nil || c.member.WorkspaceID == "" {
		return nil // there is no log that this belongs to
	}
	return c.s.Store.AddAudit(c.ctx(), flow.AuditEntry{
		WorkspaceID: c.ws(), Actor: c.member.UserID, Action: action, Target: target, Detail: detail, IP: c.ip(),
	})
}
