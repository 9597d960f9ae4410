package console

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"

	"sluice/flow"
	"sluice/handlers/web"
	"sluice/views/components"
	consoleview "sluice/views/console"
	"sluice/views/layout"
)

// auditRoutes returns the route of the audit log. Only owners may read it, because it shows
// what each member did and from which address.
func (s *Server) auditRoutes() []route {
	return []route{{"GET", "/settings/audit", web.Owner, s.showAudit}}
}

// auditPerPage is the number of entries on a page of the log.
const auditPerPage = 50

// showAudit is GET /settings/audit. The cursors of a page are the IDs of its first
// and last entry. It reads one entry more than fits on a page, to know whether
// another page follows.
func (s *Server) showAudit(c *call) error {
	newer, older := c.QueryParam("before"), c.QueryParam("after")
	var list []flow.AuditEntry
	var err error
	pages := components.Pages{Path: "/settings/audit"}
	if newer != "" {
		if list, err = s.Store.ListAuditAfter(c.Ctx(), c.WorkspaceID(), newer, auditPerPage+1); len(list) > auditPerPage {
			list = list[1:]
			pages.Before = list[0].ID
		}
		if len(list) > 0 { // there are always older entries: the user came from there
			pages.After = list[len(list)-1].ID
		}
	} else {
		if list, err = s.Store.ListAudit(c.Ctx(), c.WorkspaceID(), older, auditPerPage+1); len(list) > auditPerPage {
			list = list[:auditPerPage]
			pages.After = list[auditPerPage-1].ID
		}
		if older != "" && len(list) > 0 {
			pages.Before = list[0].ID
		}
	}
	if err != nil {
		return fmt.Errorf("list the audit log: %w", err)
	}
	flows, err := s.Store.ListFlowHeads(c.Ctx(), c.WorkspaceID())
	if err != nil {
		return fmt.Errorf("list the flows of the audit log: %w", err)
	}
	names := map[string]string{}
	for i := range flows {
		names[string(flows[i].ID)] = flows[i].Name
	}
	bases, err := s.Store.ListBases(c.Ctx(), c.WorkspaceID())
	if err != nil {
		return fmt.Errorf("list the knowledge bases of the audit log: %w", err)
	}
	for i := range bases {
		names[bases[i].ID] = bases[i].Name
	}
	rows := make([]consoleview.AuditRow, len(list))
	for i := range list {
		rows[i] = auditRow(&list[i])
		rows[i].Target = cmp.Or(names[rows[i].Target], rows[i].Target) // the ID of a deleted flow or base stays
		if rows[i].Detail == rows[i].Target {
			rows[i].Detail = ""
		}
	}
	return c.Render(http.StatusOK, consoleview.Audit(c.Page("Audit log", layout.SectionSettings), rows, pages))
}

// auditText has a verb phrase for each action, which precedes the target. Other
// actions are shown by name.
var auditText = map[string]string{
	"session.begin": "signed in", "session.end": "signed out", "session.refuse": "failed to sign in as",
	"identity.link": "will sign in with", "factor.on": "turned on two-step sign-in", "factor.off": "turned off two-step sign-in", "factor.codes": "made new recovery codes", "factor.reset": "turned off two-step sign-in of", "factor.recover": "signed in with a recovery code",
	"password.change": "changed their password", "password.set": "set the password of", "password.offer": "created a password reset link for", "password.reset": "reset their password with a link",
	"member.add": "added the member", "member.invite": "invited", "member.revoke": "revoked the invitation", "member.join": "joined as",
	"member.role": "changed the role of", "member.remove": "removed the member", "member.leave": "left the workspace",
	"workspace.setup": "set up the workspace", "workspace.create": "created the workspace", "workspace.rename": "renamed the workspace to", "workspace.limits": "changed the quotas of", "workspace.timezone": "set the time zone of the workspace to",
	"key.create": "created the key", "key.change": "changed the key", "key.roll": "rotated the key", "key.revoke": "revoked the key", "key.handover": "handed over the key",
	"credential.save": "saved the credential", "credential.remove": "removed the credential", "credential.test": "tested the credential", "credential.connect": "connected the credential", "credential.disconnect": "disconnected the credential", "credential.hosts": "changed the hosts of the credential", "credential.limits": "changed the limits of the credential",
	"tool.never": "published a tool that changes something without asking, in", "flow.publish": "published", "flow.live": "changed the live version of", "flow.restore": "restored", "flow.revert": "restored a version of", "flow.alias": "gave away a former slug of", "flow.archive": "archived", "flow.limits": "changed the limits of",
	"flow.create": "created the flow", "flow.edit": "changed the draft of", "flow.rename": "changed the slug of", "flow.import": "imported the flow", "flow.duplicate": "duplicated the flow", "flow.export": "exported the flow",
	"key.secret.read": "read the webhook secret of", "flow.secret.read": "read the signing secret of", "flow.secret.rotate": "rotated the signing secret of", "flow.secret.end": "ended the old signing secret of",
	"delivery.redeliver": "resent", "delivery.redeliver_failed": "resent failed messages of", "delivery.test": "tested a webhook of", "price.set": "set the price of", "price.remove": "removed the price of",
	"case.change": "changed a test case of", "case.delete": "deleted a test case of", "case.settings": "changed the gate of", "gate.override": "published without passing tests",
	"trigger.create": "added a trigger to", "trigger.change": "changed a trigger of",
	"trigger.rotate": "rotated the URL of a trigger of", "trigger.reveal": "read the URL of a trigger of", "trigger.capture": "captured requests to a trigger of", "trigger.test": "sent a test to a trigger of",
	"trigger.delete": "deleted a trigger of", "trigger.pause": "paused a trigger of", "trigger.resume": "resumed a trigger of", "trigger.now": "started a trigger of",
	"case.recordings": "added recorded results to", "case.labels": "labeled test cases of", "test.live": "tested with real calls",
	"alarm.create": "added the alarm", "alarm.change": "changed the alarm", "alarm.delete": "deleted the alarm", "alarm.pause": "paused the alarm", "alarm.resume": "resumed the alarm", "alarm.test": "tested the alarm", "alarm.rotate": "replaced the secret of the alarm",
	"knowledge.create": "created the knowledge base", "knowledge.change": "changed the knowledge base", "knowledge.delete": "deleted the knowledge base",
	"knowledge.add": "added a document to", "knowledge.remove": "removed a document from", "knowledge.rebuild": "rebuilt",
	"form.on": "turned on the form of", "form.off": "turned off the form of", "form.change": "changed the form of",
	"run.erase": "erased the run", "run.cancel": "canceled the run", "file.erase": "erased the file", "approval.answer": "answered a question of the run",
}

// auditRow converts a log entry. For keys, the name comes first and then the
// ID.
func auditRow(e *flow.AuditEntry) consoleview.AuditRow {
	row := consoleview.AuditRow{
		At: e.CreatedAt, Who: auditActor(e), What: auditText[e.Action], Target: e.Target, Detail: e.Detail, From: e.IP,
		Alarm: e.Action == "session.refuse",
	}
	if e.Action == "flow.restore" && strings.HasSuffix(e.Detail, " to the draft") { // older entries used flow.restore for both actions
		row.What = auditText["flow.revert"]
	}
	if row.What == "" {
		row.What = strings.NewReplacer(".", " ", "_", " ").Replace(e.Action)
	}
	if strings.HasPrefix(row.Target, flow.PrefixKey) && row.Detail != "" {
		row.Target, row.Detail = row.Detail, row.Target // the name says more than the ID
	}
	return row
}

// auditActor returns who did something. Entries without an actor are failed
// sign-ins.
func auditActor(e *flow.AuditEntry) string {
	switch {
	case strings.HasPrefix(e.Actor, flow.PrefixKey) && e.Person != "":
		return "API key “" + e.Person + "”"
	case e.Person != "":
		return e.Person
	case e.Actor == "cli":
		return "Command line"
	case e.Actor == "":
		return "Someone"
	case strings.HasPrefix(e.Actor, flow.PrefixKey):
		return "API key " + e.Actor
	}
	return e.Actor
}
