package flow

import "time"

// RunChoice is which runs a list shows. What is left empty does not narrow it.
type RunChoice struct {
	WorkspaceID WorkspaceID
	FlowID      string
	KeyID       string
	States      []RunState
	Version     int64
	Draft       bool // runs of drafts alone; Version is not looked at then
	Trigger     Trigger
	From, Until time.Time // accepted at From or later, and before Until; by the millisecond
	// Text is looked for in inputs and metadata, whatever its case.
	Text string
	// SearchTime bounds how long Text is looked for; 0 means 2 seconds.
	SearchTime time.Duration

	// Before continues with runs older than this ID, After with newer ones.
	Before, After string
	Limit         int
}

// RunRow is a run as a list shows it, without what is large.
type RunRow struct {
	ID, FlowID    string
	Version       int64
	Draft         bool
	State         RunState
	Trigger       Trigger
	KeyID, UserID string
	Usage         Usage
	Progress      Progress
	CreatedAt     time.Time
	StartedAt     time.Time // zero until then, as is the next
	EndedAt       time.Time
	ErrorCode     Code
	ErrorMessage  string
	InputSummary  string // what its inputs begin with
	Erased        Code   // why its content is gone; empty while it is there
}

// Took is how long a run has worked at a time, or had when it ended.
func (r *RunRow) Took(now time.Time) time.Duration {
	switch {
	case r.StartedAt.IsZero():
		return 0
	case r.EndedAt.IsZero():
		return max(0, now.Sub(r.StartedAt))
	}
	return max(0, r.EndedAt.Sub(r.StartedAt))
}

// RunPage is a page of a list, newest first.
type RunPage struct {
	Rows []RunRow
	// Older and Newer are the IDs where the adjacent pages begin; empty at the
	// ends of the list.
	Older, Newer string
	// Looked is how many runs were read for the text, and More that there are
	// others that were not: the text may be in them too.
	Looked int
	More   bool
	// Reached is when the last run that was read was accepted. It is zero unless
	// there are More.
	Reached time.Time
}
