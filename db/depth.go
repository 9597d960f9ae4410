package db

import (
	"context"

	"sluice/flow"
)

// Depth counts what is open, for metrics.
type Depth struct {
	Queued, Admitted, Waiting int64 // runs
	Deliveries                int64 // pending
}

// QueueDepth counts open runs and deliveries.
func (s Runs) QueueDepth(ctx context.Context) (d Depth, err error) {
	counts := []struct {
		n    *int64
		read func(context.Context) (int64, error)
	}{
		{&d.Queued, s.Reads.QueueLength}, {&d.Admitted, s.Reads.CountAdmitted},
		{&d.Waiting, s.Reads.CountWaiting}, {&d.Deliveries, s.Reads.CountPendingDeliveries},
	}
	for _, c := range counts {
		if *c.n, err = c.read(ctx); err != nil {
			return d, err
		}
	}
	return d, nil
}

// CountOpenRuns counts the runs in a state that is not final. A million queued
// ones are not counted but looked up.
func (s Runs) CountOpenRuns(ctx context.Context, state flow.RunState) (int64, error) {
	if state == flow.RunWaiting {
		return s.Reads.CountWaiting(ctx)
	}
	n, err := s.Reads.CountAdmittedIn(ctx, string(state))
	if err != nil || state != flow.RunQueued {
		return n, err
	}
	line, err := s.Reads.QueueLength(ctx)
	return n + line, err
}
