package layout

import (
	"sluice/views/components"
)

// SettingsTab is one page of the settings.
type SettingsTab string

// The tabs, with their labels.
const (
	TabWorkspace SettingsTab = "Workspace"
	TabMembers   SettingsTab = "Members"
	TabSessions  SettingsTab = "Sessions"
	TabAudit     SettingsTab = "Audit log"
)

// settingsPages are the tabs in order, each with its path and the least role that sees it.
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

// HasRole reports whether the signed-in user has at least the given role.
func (p Page) HasRole(role Role) bool {
	return role == "" || p.Person != nil && Role(p.Person.Role).AtLeast(role)
}

// settingsTabs returns the tabs that the user may open.
func settingsTabs(p Page, now SettingsTab) (tabs []components.Tab) {
	for _, s := range settingsPages {
		if p.HasRole(s.from) {
			tabs = append(tabs, components.Tab{Label: string(s.tab), Href: s.path, Current: s.tab == now})
		}
	}
	return tabs
}

// WorkspaceChoice is one workspace in the switcher.
type WorkspaceChoice struct {
	ID, Name, Role string
	Current        bool
}
