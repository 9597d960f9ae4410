package console

import "sluice/views/components"

// WorkspaceSettings is the page of one workspace.
type WorkspaceSettings struct {
	ID, Name string
	// MaxRunning and MaxQueued are said in words: "No limit", "10,000".
	MaxRunning, MaxQueued string
	MayCreate             bool
	Errors                components.Errors
}
