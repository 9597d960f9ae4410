package console

import (
	"fmt"
	"net/http"
	"strings"

	"sluice/flow"
	"sluice/handlers/web"
	"sluice/views/components"
	consoleview "sluice/views/console"
	"sluice/views/layout"
)

func (s *Server) auditRoutes() []route {
	return []route{{"GET", "/settings/audit", web.Owner, s.showAudit}}
}

// auditPage is how many lines of the log are on a page.
const auditPage = 50

// showAudit pages through the log by the IDs of its lines. One more than is
// shown tells whether there is a page beyond.
func (s *Server) showAudit(c *call) error {
	newer, older := c.QueryParam("before"), c.QueryParam("after")
	var list []flow.AuditEntry
	var err error
	pages := components.Pages{Path: "/settings/audit"}
	if newer != "" {
		if list, err = s.Store.ListAuditAfter(c.Ctx(), c.WorkspaceID(), newer, auditPage+1); len(list) > auditPage {
			list = list[1:]
			pages.Before = list[0].ID
		}
		pages.After = newerOrNothing(list)
	} else {
		if list, err = s.Store.ListAudit(c.Ctx(), c.WorkspaceID(), older, auditPage+1); len(list) > auditPage {
			list = list[:auditPage]
			pages.After = list[auditPage-1].ID
		}
		if older != "" && len(list) > 0 {
			pages.Before = list[0].ID
		}
	}
	if err != nil {
		return fmt.Errorf("list the audit log: %w", err)
	}
	rows := make([]consoleview.AuditRow, len(list))
	for i := range list {
		rows[i] = auditRow(&list[i])
	}
	return c.Render(http.StatusOK, consoleview.Audit(c.Page("Audit log", layout.SectionSettings), rows, pages))
}

// newerOrNothing is where the older lines go on: there is always one, since we
// come from there.
func newerOrNothing(list []flow.AuditEntry) string {
	if len(list) == 0 {
		return ""
	}
	return list[len(list)-1].ID
}

// auditWords say what was done; the target follows.
var auditWords = map[string]string{
	"session.begin": "signed in", "session.end": "signed out", "session.refuse": "failed to sign in as",
	"password.change": "changed their password", "password.offer": "made a link to a new password for", "password.reset": "set a new password by a link",
	"member.add": "added the member", "member.invite": "invited", "member.revoke": "revoked the invitation", "member.join": "joined as",
	"member.role": "changed the role of", "member.remove": "removed the member", "member.leave": "left the workspace",
	"workspace.setup": "set up the workspace", "workspace.create": "created the workspace", "workspace.rename": "renamed the workspace to", "workspace.limits": "changed the quotas of",
	"key.create": "created the key", "key.change": "changed the key", "key.roll": "rolled the key", "key.revoke": "revoked the key", "key.handover": "handed over the key",
	"credential.save": "saved the credential", "credential.remove": "removed the credential", "credential.test": "tested the credential",
	"flow.publish": "published", "flow.live": "made live a version of", "flow.restore": "restored a version of", "flow.archive": "archived", "flow.limits": "changed the limits of",
	"flow.create": "made the flow", "flow.import": "imported the flow", "flow.duplicate": "duplicated the flow", "flow.export": "exported the flow",
	"key.secret.read": "read the webhook secret of", "flow.secret.read": "read the signing secret of", "flow.secret.rotate": "replaced the signing secret of", "flow.secret.end": "ended the old signing secret of",
	"delivery.redeliver": "sent again", "delivery.redeliver_failed": "sent failed messages again of", "delivery.test": "tested a webhook of", "price.set": "set the price of", "price.remove": "removed the price of",
	"form.on": "opened the form of", "form.off": "closed the form of", "form.change": "changed the form of",
	"run.erase": "erased the run", "run.cancel": "canceled the run",
}

func auditRow(e *flow.AuditEntry) consoleview.AuditRow {
	row := consoleview.AuditRow{
		At: e.CreatedAt, Who: auditWho(e), What: auditWords[e.Action], Target: e.Target, Detail: e.Detail, From: e.IP,
		Alarm: e.Action == "session.refuse",
	}
	if row.What == "" {
		row.What = strings.NewReplacer(".", " ", "_", " ").Replace(e.Action)
	}
	if strings.HasPrefix(row.Target, flow.PrefixKey) && row.Detail != "" {
		row.Target, row.Detail = row.Detail, row.Target // the name says more than the ID
	}
	return row
}

func auditWho(e *flow.AuditEntry) string {
	switch {
	case e.Person != "":
		return e.Person
	case e.Actor == "cli":
		return "Command line"
	case e.Actor == "":
		return "Somebody"
	}
	return e.Actor
}
