package main

import (
	"testing"
	"time"

	"sluice/e2e/need"
)

// TestAgentRows_measure_with_little_work measures each row of agents once, with little work: the figures mean nothing, but every response is
// checked.
func TestAgentRows_measure_with_little_work(t *testing.T) {
	need.Time(t)
	b := &benchmark{dir: t.TempDir(), on: platforms[:1], seconds: 300 * time.Millisecond, streams: 3, waiting: 20}
	var err error
	if b.binary, err = build(b.dir, false); err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if r.name != "agents" && r.name != "agentstreams" {
			continue
		}
		if err := r.run(b); err != nil {
			t.Error(err)
		}
	}
	for _, l := range b.lines {
		t.Logf("%s: %s (%s)", l.what, l.measured, l.limit)
	}
	if len(b.lines) != 6 || b.errors != 0 {
		t.Errorf("%d lines, %d incorrect responses", len(b.lines), b.errors)
	}
}
