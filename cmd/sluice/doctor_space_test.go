package main

import (
	"strings"
	"testing"
	"time"

	"sluice/db"
)

// TestFindings_growth compares what doctor says about clean-up and growth in a few situations.
func TestFindings_growth(t *testing.T) {
	t.Parallel()
	const mb, day = 1_000_000, 24 * time.Hour
	stored := db.Growth{Runs: 10_000, PerDay: 5_000} // 10 KB each
	for _, c := range []struct {
		name    string
		e       db.Inspection
		free    int64
		finding string
		verdict verdict
		want    string
	}{
		{"in time", db.Inspection{Backlog: db.Backlog{Runs: 3, Delay: time.Second}}, 0, "retention", verdictOK, "in time"},
		{"late", db.Inspection{Backlog: db.Backlog{Runs: 70_000, Delay: 3 * time.Hour}}, 0, "retention", verdictWarn, "70000 runs are past their retention and still stored, the oldest for 3h0m0s"},
		{"enough space", db.Inspection{Size: 100 * mb, Growth: stored}, 2000 * mb, "growth", verdictOK, "5000 runs a day"},
		{"on another machine", db.Inspection{Size: 100 * mb, Growth: stored}, 0, "growth", verdictOK, "at a retention of 30 days"},
		{"soon full", db.Inspection{Size: 100 * mb, Growth: stored}, 500 * mb, "growth", verdictWarn, "full in about 10 days"},
	} {
		var f findings
		f.growth(c.e, 30*day, c.free)
		found := false
		for _, one := range f {
			if one.Name == c.finding {
				found = true
				if one.State != c.verdict || !strings.Contains(one.Text, c.want) {
					t.Errorf("%s: %+v", c.name, one)
				}
			}
		}
		if !found {
			t.Errorf("%s: %+v has no finding %s", c.name, f, c.finding)
		}
	}
	var few findings
	few.growth(db.Inspection{Size: mb, Growth: db.Growth{Runs: 10, PerDay: 5}}, 30*day, 0)
	if len(few) != 1 {
		t.Errorf("a few runs tell nothing about growth: %+v", few)
	}
}
