package jobs

import (
	"context"

	"sluice/flow"
)

// ListenForTest receives notifications of other instances until ctx ends.
func (r *Runner) ListenForTest(ctx context.Context) { r.listen(ctx) }

// HasLiveRun reports whether this process watches or works on a run.
func (r *Runner) HasLiveRun(runID flow.RunID) bool { return r.broker.find(runID) != nil }

// RelayCount returns the number of instances to which a run's text is streamed.
func (r *Runner) RelayCount(runID flow.RunID) (n int) {
	l := r.broker.find(runID)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.watchers {
		if w.relay != nil {
			n++
		}
	}
	return n
}

// DisconnectMirror ends the connection on which a run's text arrives.
func (r *Runner) DisconnectMirror(runID flow.RunID) {
	l := r.broker.find(runID)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mirror.disconnect()
}

// FailStarts makes the first calls of the River client's Start return errs.
func (q *Queue) FailStarts(errs ...error) { q.client = &failingClient{q.client, errs} }

type failingClient struct {
	client
	errs []error
}

func (f *failingClient) Start(ctx context.Context) error {
	if len(f.errs) > 0 {
		err := f.errs[0]
		f.errs = f.errs[1:]
		return err
	}
	return f.client.Start(ctx)
}

// RowBudgets returns the budgets of a store with which rows of batches wait.
func RowBudgets(s Store) flow.BudgetStore { return rowBudgets{s} }
