package db

import (
	"context"

	"sluice/flow"
)

// CountOpenRuns returns the number of runs in a state that is not final. The number
// of queued runs is stored, so it is not counted.
func (s Runs) CountOpenRuns(ctx context.Context, state flow.RunState) (int64, error) {
	if state == flow.RunWaiting {
		return s.Reads.CountWaiting(ctx)
	}
	n, err := s.Reads.CountAdmittedIn(ctx, string(state))
	if err != nil || state != flow.RunQueued {
		return n, err
	}
	queued, err := s.Reads.QueueLength(ctx)
	return n + queued, err
}
