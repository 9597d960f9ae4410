package layout

import (
	"sluice/views/components"
)

// SettingsTab is one page of the settings.
type SettingsTab string

// The pages of the settings, as they are called on the screen.
const (
	TabWorkspace SettingsTab = "Workspace"
	TabMembers   SettingsTab = "Members"
	TabSessions  SettingsTab = "Sessions"
	TabAudit     SettingsTab = "Audit log"
)

// settingsPages are the pages in order, with where they are and who sees them.
var settingsPages = []struct {
	tab  SettingsTab
	path string
	from Role
}{
	{TabWorkspace, "/settings/workspace", RoleViewer},
	{TabMembers, "/settings/members", RoleViewer},
	{TabSessions, "/settings/sessions", ""},
	{TabAudit, "/settings/audit", RoleOwner},
}

// may reports whether who looks has at least this role.
func (p Page) HasRole(role Role) bool {
	return role == "" || p.Person != nil && Role(p.Person.Role).AtLeast(role)
}

// settingsTabs are those that the person may open.
func settingsTabs(p Page, now SettingsTab) (tabs []components.Tab) {
	for _, s := range settingsPages {
		if p.HasRole(s.from) {
			tabs = append(tabs, components.Tab{Label: string(s.tab), Href: s.path, Current: s.tab == now})
		}
	}
	return tabs
}

// WorkspaceChoice is one workspace that a person may work in.
type WorkspaceChoice struct {
	ID, Name, Role string
	Current        bool
}
