package db_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"sluice/db"
	"sluice/db/core"
	"sluice/flow"
)

// beforeMakers is the last migration before keys could make keys.
const beforeMakers = 49

// TestKeys_gain_nothing_by_the_upgrade opens a database with keys that the previous
// program wrote. They have the scopes, flows and limits that they had, and no makers.
func TestKeys_gain_nothing_by_the_upgrade(t *testing.T) {
	t.Parallel()
	old := map[string]flow.Key{
		"key_plain":  {Scopes: []flow.Scope{flow.ScopeRun, flow.ScopeRead}, CreatedBy: "cli"},
		"key_manage": {Scopes: []flow.Scope{flow.ScopeManage}, CreatedBy: "user_gone", RPM: 5, Concurrency: 6, RunsPerDay: 7, USDPerDay: 8},
		"key_edit":   {Scopes: []flow.Scope{flow.ScopeEdit, flow.ScopeApprove}, Flows: []string{"flow_a", "flow_b"}, CreatedBy: ""},
	}
	var rows []string
	for id, k := range old {
		list := func(texts any) string { return strings.ReplaceAll(fmt.Sprintf("%q", texts), " ", ",") }
		flows := ""
		if len(k.Flows) > 0 {
			flows = list(k.Flows)
		}
		rows = append(rows, fmt.Sprintf(`INSERT INTO keys (id, workspace_id, name, prefix, hash, scopes, flows, rpm, concurrency, usd_per_day, runs_per_day, run_trigger, created_by, created_at, expires_at, revoked_at, last_used_at, last_used_ip, uses)
				VALUES ('%s', 'default', 'old', 'slu_abc', 'hash of %s', '%s', '%s', %d, %d, %d, %d, '', '%s', 1, 0, 0, 0, '', 7)`, id, id, list(k.Scopes), flows, k.RPM, k.Concurrency, k.USDPerDay, k.RunsPerDay, k.CreatedBy))
	}
	cfg := core.Config{DataDir: t.TempDir()}
	if err := db.MigrateTo(t.Context(), cfg, beforeMakers, rows...); err != nil {
		t.Fatal(err)
	}
	s, err := db.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for id, was := range old {
		k, err := s.FindKeyByHash(t.Context(), "hash of "+id)
		if err != nil {
			t.Fatal(err)
		}
		same := slices.Equal(k.Scopes, was.Scopes) && slices.Equal(k.Flows, was.Flows) && k.RPM == was.RPM && k.Concurrency == was.Concurrency && k.RunsPerDay == was.RunsPerDay && k.USDPerDay == was.USDPerDay
		if !same || len(k.Makers) > 0 || k.Maker() != "" || k.MayMakeKeys() {
			t.Errorf("%s became %+v, was %+v", id, k, was)
		}
		if tree, err := s.ListKeyTree(t.Context(), ws, id); err != nil || len(tree) != 1 {
			t.Errorf("%s has made %v, %v", id, tree, err)
		}
	}
}
