package console

import "sluice/views/components"

// WorkspaceSettings are the name and limits of a workspace.
type WorkspaceSettings struct {
	ID, Name string
	// MaxRunning and MaxQueued are formatted: "No limit", "10,000".
	MaxRunning, MaxQueued string
	MayCreate             bool
	Timezone              string
	Timezones             []components.Option
	Errors                components.Errors
}
