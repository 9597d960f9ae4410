package jobs_test

import (
	"context"
	"testing"

	"sluice/db"
	"sluice/flow"
)

// TestStartRun_needs_instances_that_know_limits_in_dollars: an older instance would run it without its limit.
func TestStartRun_needs_instances_that_know_limits_in_dollars(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		cfg.Features = []flow.Feature{flow.FeatureTriggers}
		fx := newFixture(t, cfg, gatedFlow)
		start := flow.Start{WorkspaceID: flow.DefaultWorkspace, FlowID: fx.flowID, Trigger: flow.TriggerAPI, Options: flow.RunOptions{MaxUSD: flow.USD}}
		if _, err := fx.runner.StartRun(context.Background(), start); flow.AsError(err).Code != flow.CodeUpgradeInProgress {
			t.Errorf("got %v", err)
		}
	})
}
