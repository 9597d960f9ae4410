package db_test

import (
	"testing"

	"sluice/flow"
)

// TestStartRun_sees_changes_of_other_processes starts runs, so that their keys
// and limits are cached, and changes these through another process.
func TestStartRun_sees_changes_of_other_processes(t *testing.T) {
	onTwoStores(t, func(t *testing.T, here, there *fixture) {
		for range 3 {
			here.must(here.finish(here.take(here.start().ID), flow.RunSucceeded))
		}
		there.must(there.SetQuota(there.ctx, ws, flow.Storage{Runs: 4}))
		here.start()
		_, err := here.tryStart()
		wantCode(t, err, flow.CodeQuotaExceeded)
		there.must(there.SetQuota(there.ctx, ws, flow.Storage{}))
		here.start()

		there.must(there.SetFlowLimits(there.ctx, ws, here.flow.ID, flow.Limits{MaxRunning: 2, MaxQueued: 1}))
		waiting := here.start() // in the queue
		_, err = here.tryStart()
		wantCode(t, err, flow.CodeQueueFull)
		canceled, err := there.RequestCancel(there.ctx, ws, here.flow.ID, waiting.ID)
		there.must(err)
		wantEqual(t, "asked to cancel", canceled.CancelRequested, true)
		eventually(t, "the refusal is forgotten", func() bool { // it is decided from memory for some milliseconds
			_, err := here.tryStart()
			return err == nil
		})
	})
}
