package views

import (
	"time"

	"github.com/a-h/templ"
)

func init() { sampleSets = append(sampleSets, peopleSamples) }

func peopleSamples(theme Theme) map[string]templ.Component {
	as := func(role string) Page {
		return Page{
			Title: "Settings", Section: SectionSettings, Theme: theme, Workspace: "Acme support",
			Person:       &Person{Name: "Ada Kowalski", Email: "ada@example.com", Role: role},
			Workspaces:   []WorkspaceChoice{{"default", "Acme support", role, true}, {"ws_2", "Acme billing & everything that is about money", "viewer", false}},
			NewWorkspace: role == "owner",
		}
	}
	out := func(title string) Page { return Page{Title: title, Theme: theme} }
	unsafe := Page{Title: "Sign up", Theme: theme, Unsafe: true}
	mine := MembersPage{Members: sampleMembers(), Now: noon}
	invited := MembersPage{
		Members: sampleMembers(), Now: noon, Invites: []InviteRow{{"inv_1", "kim@example.com", "viewer", "Ada Kowalski", noon.Add(6 * 24 * time.Hour)}, {"inv_2", "max@example.com", "editor", "", noon.Add(time.Hour)}},
		Link: &Link{For: "kim@example.com", URL: "https://flows.example.com/invite?token=ABCDEFGHIJKLMNOPQRSTUVWXYZ"},
	}
	refused := MembersPage{Members: sampleMembers()[:1], Now: noon, Error: "A workspace needs an owner, and Ada Kowalski is the only one. Make somebody else an owner first.", Form: InviteMember{Email: "kim", Role: "owner", Errors: Errors{"email": "This is not an e-mail address."}}}
	reset := MembersPage{Members: sampleMembers(), Now: noon, Link: &Link{For: "lin@example.com", Password: true, URL: "https://flows.example.com/password/reset?token=ABCDEFGHIJKLMNOPQRSTUVWXYZ"}}
	workspace := WorkspaceSettings{ID: "default", Name: "Acme support", MaxRunning: "No limit", MaxQueued: "100,000", MayCreate: true}
	return map[string]templ.Component{
		"settings-workspace":        WorkspaceSettingsPage(as("owner"), workspace),
		"settings-workspace-viewer": WorkspaceSettingsPage(as("viewer"), WorkspaceSettings{ID: "default", Name: "Acme support", MaxRunning: "20", MaxQueued: "100,000"}),
		"settings-workspace-errors": WorkspaceSettingsPage(as("owner"), WorkspaceSettings{ID: "default", MaxRunning: "20", MaxQueued: "100,000", Errors: Errors{"name": "Give the workspace a name."}}),
		"members":                   Members(as("owner"), mine),
		"members-invited":           Members(as("owner"), invited),
		"members-refused":           Members(as("owner"), refused),
		"members-reset":             Members(as("owner"), reset),
		"members-ask":               Members(as("owner"), MembersPage{Members: sampleMembers(), Now: noon, Ask: "user_2"}),
		"members-viewer":            Members(as("viewer"), mine),
		"sessions":                  Sessions(as("editor"), SessionsPage{Rows: sampleSessions(), Idle: 7 * 24 * time.Hour, Max: 30 * 24 * time.Hour, Now: noon}),
		"audit":                     Audit(as("owner"), sampleAudit(), Pages{Path: "/settings/audit", Before: "aud_1", After: "aud_2"}),
		"audit-empty":               Audit(as("owner"), nil, Pages{}),
		"workspace-new":             NewWorkspace(as("owner"), WorkspaceForm{Errors: Errors{"name": "Give the workspace a name."}}),
		"workspace-none":            NoWorkspace(out("No workspace"), "kim@example.com", true),
		"setup-waits":               SetUpWaits(out("Set-up required")),
		"setup-done":                SetUpDone(out("Set up")),
		"link-over":                 LinkOver(out("Link")),
		"sign-up":                   SignUp(unsafe, SignUpForm{Name: "Kim", Errors: Errors{"email": "There is already a person with this e-mail address."}}),
		"sign-in-open":              SignIn(out("Sign in"), SignInForm{SignUp: true}),
		"invite-account":            AcceptInvite(out("Join"), InviteForm{Token: "in_1", Workspace: "Acme support", Role: "editor", InvitedBy: "Ada Kowalski", Email: "lin@example.com", Account: true, SignedIn: true}),
		"invite-other":              AcceptInvite(out("Join"), InviteForm{Token: "in_1", Workspace: "Acme support", Role: "editor", InvitedBy: "Ada Kowalski", Email: "lin@example.com", Account: true, Other: "kim@example.com"}),
		"invite-signed-out":         AcceptInvite(out("Join"), InviteForm{Token: "in_1", Workspace: "Acme support", Role: "editor", InvitedBy: "Ada Kowalski", Email: "lin@example.com", Account: true}),
		"password-reset":            NewPassword(out("New password"), NewPasswordForm{Token: "in_1", Email: "lin@example.com", Errors: Errors{"password": "A password has 10 to 512 characters; this one has 4."}}),
	}
}

func sampleMembers() []MemberRow {
	return []MemberRow{
		{UserID: "user_1", Name: "Ada Kowalski", Email: "ada@example.com", Role: "owner", JoinedAt: noon.Add(-90 * 24 * time.Hour), You: true, Last: true},
		{UserID: "user_2", Name: "Lin Chen", Email: "lin@example.com", Role: "editor", JoinedAt: noon.Add(-26 * time.Hour), MayReset: true, Keys: []MemberKey{{"Website", "slu_ab12cd", noon.Add(-time.Hour)}, {"Nightly report", "slu_ef34gh", time.Time{}}}},
		{UserID: "user_3", Name: "maximilian.mustermann-schmidt@a-rather-long-company-name.example", Email: "maximilian.mustermann-schmidt@a-rather-long-company-name.example", Role: "viewer", JoinedAt: noon.Add(-3 * time.Minute)},
	}
}

func sampleSessions() []SessionRow {
	return []SessionRow{
		{ID: "sess_1", Device: "Firefox on Linux", IP: "192.0.2.17", SignedInAt: noon.Add(-2 * time.Hour), SeenAt: noon, This: true},
		{ID: "sess_2", Device: "Safari on iPhone", IP: "2001:db8:85a3:8d3:1319:8a2e:370:7348", SignedInAt: noon.Add(-5 * 24 * time.Hour), SeenAt: noon.Add(-26 * time.Hour)},
	}
}

func sampleAudit() []AuditRow {
	return []AuditRow{
		{At: noon, Who: "Ada Kowalski", What: "made the key", Target: "Site", Detail: "key_01jd6v0q8z", From: "192.0.2.17"},
		{At: noon.Add(-time.Minute), Who: "Somebody", What: "failed to sign in as", Target: "ada@example.com", Detail: "Chrome on Windows", From: "203.0.113.9", Alarm: true},
		{At: noon.Add(-time.Hour), Who: "Lin Chen", What: "published", Target: "Route a support ticket", Detail: "v4", From: "192.0.2.18"},
		{At: noon.Add(-2 * time.Hour), Who: "Command line", What: "saved the credential", Target: "openai", Detail: "OpenAI"},
	}
}
