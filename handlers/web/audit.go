package web

import (
	"sluice/flow"
)

// Audit adds an entry to the audit log of the workspace. Return its error: a change
// that cannot be audited must not be reported as done.
func (c *Call) Audit(action, target, detail string) error {
	if c.Member == nil || c.Member.WorkspaceID == "" {
		return nil // without a workspace there is no log
	}
	return c.s.Store.AddAudit(c.Ctx(), flow.AuditEntry{
		WorkspaceID: c.WorkspaceID(), Actor: c.Member.UserID, Action: action, Target: target, Detail: detail, IP: c.IP(),
	})
}

// AuditAndRedirect adds an audit entry and redirects to another page.
func (c *Call) AuditAndRedirect(path, action, target, detail string) error {
	if err := c.Audit(action, target, detail); err != nil {
		return err
	}
	return c.Redirect(path)
}
