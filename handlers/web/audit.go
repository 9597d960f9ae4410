package web

import (
	"sluice/flow"
)

// Audit writes to the workspace's log who did what. A failure to do so fails
// the request, since nobody could tell later.
func (c *Call) Audit(action, target, detail string) error {
	if c.Member == nil || c.Member.WorkspaceID == "" {
		return nil // there is no log that this belongs to
	}
	return c.s.Store.AddAudit(c.Ctx(), flow.AuditEntry{
		WorkspaceID: c.WorkspaceID(), Actor: c.Member.UserID, Action: action, Target: target, Detail: detail, IP: c.IP(),
	})
}

// AuditAndRedirect writes to the log and leads to another page.
func (c *Call) AuditAndRedirect(path, action, target, detail string) error {
	if err := c.Audit(action, target, detail); err != nil {
		return err
	}
	return c.Redirect(path)
}
