package account

import (
	"sluice/views/components"
	"sluice/views/layout"
)

// WorkspaceForm creates a workspace.
type WorkspaceForm struct {
	Name   string
	Errors components.Errors
}

// WorkspacesPage lists workspaces of the user.
type WorkspacesPage struct {
	Query string
	List  []layout.WorkspaceChoice
	More  int // workspaces that match and are not listed
}
