package account

import "sluice/views/components"

// WorkspaceForm creates a workspace.
type WorkspaceForm struct {
	Name   string
	Errors components.Errors
}
