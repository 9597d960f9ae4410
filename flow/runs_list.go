package flow

import "time"

// RunQuery selects the runs of a list. Empty fields do not filter.
type RunQuery struct {
	WorkspaceID WorkspaceID
	FlowID      FlowID
	KeyID       string
	States      []RunState
	Version     int64
	Draft       bool // only runs of drafts; Version is ignored
	Trigger     Trigger
	From, Until time.Time // accepted at From or later and before Until; in milliseconds
	// Text is searched in inputs and metadata, ignoring case.
	Text string
	// SearchTime bounds the search for Text; 0 means 2 seconds.
	SearchTime time.Duration

	// Before continues with runs older than this ID, After with newer ones.
	Before, After string
	Limit         int
}

// RunRow is a run in a list, without its inputs and outputs.
type RunRow struct {
	ID            string
	FlowID        FlowID
	Version       int64
	Draft         bool
	State         RunState
	Trigger       Trigger
	KeyID, UserID string
	Usage         Usage
	Progress      Progress
	CreatedAt     time.Time
	StartedAt     time.Time // zero until then, like EndedAt
	EndedAt       time.Time
	ErrorCode     Code
	ErrorMessage  string
	Error         *Error // nil unless the run failed
	InputSummary  string // beginning of the inputs
	Erased        Code   // why the content was erased; empty while it exists
}

// Duration returns the time from start to end, or to now if the run has not ended.
func (r *RunRow) Duration(now time.Time) time.Duration {
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
	// Looked is the number of runs that were searched for the text. More reports whether
	// others were not searched.
	Looked int
	More   bool
	// Reached is when the last searched run was accepted. It is zero unless More is set.
	Reached time.Time
}
