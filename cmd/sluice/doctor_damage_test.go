package main

import (
	"strings"
	"testing"

	"sluice/db"
	"sluice/flow"
)

// TestFindings_damage has an index that was rebuilt, a row that is passed over, and unused pages.
func TestFindings_damage(t *testing.T) {
	t.Parallel()
	var f findings
	f.database(db.Inspection{Unused: 3, Damaged: []flow.DamagedRow{
		{Table: "runs", ID: "runs_expiry", Task: db.IndexTask, Error: "it was damaged and has been rebuilt"},
		{Table: "runs", ID: "run_1", Task: "erase", Error: "refused"},
	}})
	for name, want := range map[string]string{
		"indexes":      "1 index was damaged in the last day: runs runs_expiry",
		"rows":         "1 row cannot be read or processed and is passed over: runs run_1 (erase: refused)",
		"unused pages": "3 pages of the database waste space",
	} {
		found := false
		for _, one := range f {
			found = found || one.Name == name && strings.Contains(one.Text, want) && one.Advice != ""
		}
		if !found {
			t.Errorf("%s: %q is not among %+v", name, want, f)
		}
	}
}
