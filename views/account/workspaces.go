package account

import "sluice/views/components"

// WorkspaceForm makes a workspace.
type WorkspaceForm struct {
	Name   string
	Errors components.Errors
}
