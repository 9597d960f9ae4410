package console

import (
	"time"

	"sluice/views/components"
	"sluice/views/layout"
	"sluice/views/viewtest"

	"github.com/a-h/templ"
)

func settingsSamples(theme layout.Theme) map[string]templ.Component {
	as := func(role string) layout.Page { return settingsPage(theme, role) }
	workspace := WorkspaceSettings{ID: "default", Name: "Acme support", MaxRunning: "No limit", MaxQueued: "100,000", MayCreate: true, Timezone: "Europe/Berlin", Timezones: []components.Option{{Value: "Europe/Berlin", Label: "Europe/Berlin"}, {Value: "UTC", Label: "UTC"}}}
	return map[string]templ.Component{
		"settings-workspace":        WorkspaceSettingsPage(as("owner"), workspace),
		"settings-workspace-viewer": WorkspaceSettingsPage(as("viewer"), WorkspaceSettings{ID: "default", Name: "Acme support", MaxRunning: "20", MaxQueued: "100,000"}),
		"settings-workspace-errors": WorkspaceSettingsPage(as("owner"), WorkspaceSettings{ID: "default", MaxRunning: "20", MaxQueued: "100,000", Errors: components.Errors{"name": "Give the workspace a name."}}),
		"audit":                     Audit(as("owner"), sampleAudit(), components.Pages{Path: "/settings/audit", Before: "aud_1", After: "aud_2"}),
		"audit-empty":               Audit(as("owner"), nil, components.Pages{}),
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

func sampleAudit() []AuditRow {
	return []AuditRow{
		{At: viewtest.Noon, Who: "Ada Kowalski", What: "made the key", Target: "Site", Detail: "key_01jd6v0q8z", From: "192.0.2.17"},
		{At: viewtest.Noon.Add(-time.Minute), Who: "Somebody", What: "failed to sign in as", Target: "ada@example.com", Detail: "Chrome on Windows", From: "203.0.113.9", Alarm: true},
		{At: viewtest.Noon.Add(-time.Hour), Who: "Lin Chen", What: "published", Target: "Route a support ticket", Detail: "v4", From: "192.0.2.18"},
		{At: viewtest.Noon.Add(-2 * time.Hour), Who: "Command line", What: "saved the credential", Target: "openai", Detail: "OpenAI"},
	}
}
