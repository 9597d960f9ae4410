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

// Duration returns the time from start to end, or to now if the run has not ended.
func (r *Run) Duration(now time.Time) time.Duration {
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
	Rows []Run // without inputs, outputs and metadata
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
