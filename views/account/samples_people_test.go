package account

import (
	"time"

	"sluice/views/components"
	"sluice/views/layout"
	"sluice/views/viewtest"

	"github.com/a-h/templ"
)

func peopleSamples(theme layout.Theme) map[string]templ.Component {
	as := func(role string) layout.Page { return settingsPage(theme, role) }
	out := func(title string) layout.Page { return layout.Page{Title: title, Theme: theme} }
	unsafe := layout.Page{Title: "Sign up", Theme: theme, Unsafe: true}
	mine := MembersPage{InviteLife: 7 * 24 * time.Hour, ResetLife: time.Hour, Members: sampleMembers(), Now: viewtest.Noon}
	invited := MembersPage{InviteLife: 7 * 24 * time.Hour, ResetLife: time.Hour,
		Members: sampleMembers(), Now: viewtest.Noon, Invites: []InviteRow{{"inv_1", "kim@example.com", "viewer", "Ada Kowalski", viewtest.Noon.Add(6 * 24 * time.Hour)}, {"inv_2", "max@example.com", "editor", "", viewtest.Noon.Add(time.Hour)}},
		Link: &Link{For: "kim@example.com", URL: "https://flows.example.com/invite?token=ABCDEFGHIJKLMNOPQRSTUVWXYZ"},
	}
	refused := MembersPage{InviteLife: 7 * 24 * time.Hour, ResetLife: time.Hour, Members: sampleMembers()[:1], Now: viewtest.Noon, Error: "A workspace needs an owner, and Ada Kowalski is the only one. Make somebody else an owner first.", Form: InviteMember{Email: "kim", Role: "owner", Errors: components.Errors{"email": "This is not an e-mail address."}}}
	reset := MembersPage{InviteLife: 7 * 24 * time.Hour, ResetLife: time.Hour, Members: sampleMembers(), Now: viewtest.Noon, Link: &Link{For: "lin@example.com", Password: true, URL: "https://flows.example.com/password/reset?token=ABCDEFGHIJKLMNOPQRSTUVWXYZ"}}
	return map[string]templ.Component{
		"members":           Members(as("owner"), mine),
		"members-invited":   Members(as("owner"), invited),
		"members-refused":   Members(as("owner"), refused),
		"members-reset":     Members(as("owner"), reset),
		"members-ask":       Members(as("owner"), MembersPage{InviteLife: 7 * 24 * time.Hour, ResetLife: time.Hour, Members: sampleMembers(), Now: viewtest.Noon, Ask: "user_2"}),
		"members-viewer":    Members(as("viewer"), mine),
		"member-sessions":   Sessions(as("owner"), SessionsPage{Rows: sampleSessions(), Now: viewtest.Noon, Of: &MemberRow{UserID: "usr_2", Name: "Lin"}, MayEnd: true}),
		"sessions":          Sessions(as("editor"), SessionsPage{Rows: sampleSessions(), Idle: 7 * 24 * time.Hour, Max: 30 * 24 * time.Hour, Now: viewtest.Noon}),
		"workspace-new":     NewWorkspace(as("owner"), WorkspaceForm{Errors: components.Errors{"name": "Give the workspace a name."}}),
		"workspaces":        Workspaces(as("owner"), WorkspacesPage{List: []layout.WorkspaceChoice{{ID: "ws_1", Name: "Acme support", Role: "owner", Current: true}, {ID: "ws_2", Name: "Marketing", Role: "viewer"}}, More: 312}),
		"workspaces-none":   Workspaces(as("owner"), WorkspacesPage{Query: "sales"}),
		"workspace-none":    NoWorkspace(out("No workspace"), "kim@example.com", true),
		"setup-waits":       SetUpWaits(out("Set-up required")),
		"setup-done":        SetUpDone(out("Set up")),
		"link-over":         LinkOver(out("Link"), 7*24*time.Hour, time.Hour),
		"sign-up":           SignUp(unsafe, SignUpForm{Name: "Kim", Errors: components.Errors{"email": "A user with this email address already exists."}}),
		"sign-in-open":      SignIn(out("Sign in"), SignInForm{SignUp: true}),
		"invite-account":    AcceptInvite(out("Join"), InviteForm{Token: "in_1", Workspace: "Acme support", Role: "editor", InvitedBy: "Ada Kowalski", Email: "lin@example.com", Account: true, SignedIn: true}),
		"invite-other":      AcceptInvite(out("Join"), InviteForm{Token: "in_1", Workspace: "Acme support", Role: "editor", InvitedBy: "Ada Kowalski", Email: "lin@example.com", Account: true, Other: "kim@example.com"}),
		"invite-signed-out": AcceptInvite(out("Join"), InviteForm{Token: "in_1", Workspace: "Acme support", Role: "editor", InvitedBy: "Ada Kowalski", Email: "lin@example.com", Account: true}),
		"password-reset":    NewPassword(out("New password"), NewPasswordForm{Token: "in_1", Email: "lin@example.com", Errors: components.Errors{"password": "A password has 10 to 512 characters; this one has 4."}}),
	}
}

func sampleMembers() []MemberRow {
	return []MemberRow{
		{UserID: "user_1", Name: "Ada Kowalski", Email: "ada@example.com", Role: "owner", JoinedAt: viewtest.Noon.Add(-90 * 24 * time.Hour), You: true, Last: true},
		{UserID: "user_2", Name: "Lin Chen", Email: "lin@example.com", Role: "editor", JoinedAt: viewtest.Noon.Add(-26 * time.Hour), MayReset: true, Keys: []MemberKey{{"Website", "slu_ab12cd", viewtest.Noon.Add(-time.Hour)}, {"Nightly report", "slu_ef34gh", time.Time{}}}, Triggers: []MemberTrigger{{"nightly", "/flows/flow_1/triggers/trg_1"}}, Connections: []MemberConnection{{"issues", "/credentials/issues", "https://auth.example.com"}}},
		{UserID: "user_3", Name: "maximilian.mustermann-schmidt@a-rather-long-company-name.example", Email: "maximilian.mustermann-schmidt@a-rather-long-company-name.example", Role: "viewer", JoinedAt: viewtest.Noon.Add(-3 * time.Minute)},
	}
}

func sampleSessions() []SessionRow {
	return []SessionRow{
		{ID: "sess_1", Device: "Firefox on Linux", IP: "192.0.2.17", SignedInAt: viewtest.Noon.Add(-2 * time.Hour), SeenAt: viewtest.Noon, This: true},
		{ID: "sess_2", Device: "Safari on iPhone", IP: "2001:db8:85a3:8d3:1319:8a2e:370:7348", SignedInAt: viewtest.Noon.Add(-5 * 24 * time.Hour), SeenAt: viewtest.Noon.Add(-26 * time.Hour)},
	}
}

func settingsPage(theme layout.Theme, role string) layout.Page {
	return layout.Page{
		Title: "Settings", Section: layout.SectionSettings, Theme: theme, Workspace: "Acme support",
		Person:       &layout.Person{Name: "Ada Kowalski", Email: "ada@example.com", Role: role},
		Workspaces:   []layout.WorkspaceChoice{{ID: "default", Name: "Acme support", Role: role, Current: true}, {ID: "ws_2", Name: "Acme billing & everything that is about money", Role: "viewer", Current: false}},
		NewWorkspace: role == "owner",
	}
}
