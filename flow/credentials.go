package flow

import "time"

// Credential is a named secret that flows use to reach something outside. The
// secret itself is kept sealed and given out only for use.
type Credential struct {
	ID, WorkspaceID, Name string
	Provider              string   // openai, anthropic …; empty for a plain secret
	Hosts                 []string // hosts it may be sent to; empty: any
	CreatedAt, UpdatedAt  time.Time
}
