package db_test

import (
	"fmt"
	"testing"

	"sluice/db"
	"sluice/db/dbtest"
	"sluice/flow"
	"sluice/flow/schedule"
	"sluice/flow/triggers"
)

// TestCreateTrigger_bounds_workspaces_of_strangers creates triggers in the workspaces of a server with open sign-up.
func TestCreateTrigger_bounds_workspaces_of_strangers(t *testing.T) {
	t.Parallel()
	s := dbtest.SQLite(t, func(c *db.Config) { c.OpenSignup = true })
	create := func(ws flow.WorkspaceID, n int) error {
		return s.CreateTrigger(t.Context(), &triggers.Trigger{
			ID: flow.NewIDs().New(flow.PrefixTrigger), WorkspaceID: ws, FlowID: flow.FlowID("flow_" + ws), Name: fmt.Sprintf("t%d", n), Kind: triggers.Schedule, On: true,
			Config: triggers.Config{Spec: schedule.Spec{Cron: "@daily"}}, CreatedAt: s.Now(),
		})
	}
	for n := range 20 {
		if err := create("ws_stranger", n); err != nil {
			t.Fatal(err)
		}
	}
	if err := create("ws_stranger", 20); flow.AsError(err).Code != flow.CodeQuotaExceeded {
		t.Errorf("the 21st trigger of a stranger gets %v", err)
	}
	for n := range 21 {
		if err := create(flow.DefaultWorkspace, n); err != nil {
			t.Fatal(err)
		}
	}
}
