package main

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"sluice/db"
	"sluice/flow"
	"sluice/flow/hooks"
	"sluice/flow/schedule"
	"sluice/flow/triggers"
)

// TestDoctor_lists_triggers_that_cannot_start sets triggers that cannot start runs, each for another reason, and some that are as
// people want them.
func TestDoctor_lists_triggers_that_cannot_start(t *testing.T) {
	t.Parallel()
	ctx, dir := context.Background(), t.TempDir()
	if code, out := doctor(t, dir, "migrate"); code != exitOK {
		t.Fatal(out)
	}
	s, err := db.Open(ctx, db.Config{DataDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	flowOf := func(slug string, live bool) flow.FlowID {
		f := &flow.Flow{ID: flow.NewIDs().NewFlow(), WorkspaceID: flow.DefaultWorkspace, Slug: slug, Name: slug, Draft: []byte(`{"name":"x"}`)}
		if err := s.CreateFlow(ctx, f); err != nil {
			t.Fatal(err)
		}
		if live {
			if _, _, err := s.PublishFlow(ctx, f.WorkspaceID, f.ID, f.Draft, "", "cli"); err != nil {
				t.Fatal(err)
			}
		}
		return f.ID
	}
	live, draft := flowOf("live", true), flowOf("draft", false)
	add := func(name string, f flow.FlowID, change func(*triggers.Trigger)) {
		t.Helper()
		x := &triggers.Trigger{ID: flow.NewIDs().New(flow.PrefixTrigger), WorkspaceID: flow.DefaultWorkspace, FlowID: f, Name: name, Kind: triggers.Schedule, On: true, CreatedAt: s.Now(),
			Config: triggers.Config{Spec: schedule.Spec{Cron: "@daily"}}, TriggerTimes: flow.TriggerTimes{Next: s.Now().Add(time.Hour), Due: s.Now().Add(time.Hour)}}
		change(x)
		if err := s.CreateTrigger(ctx, x); err != nil {
			t.Fatal(err)
		}
	}
	add("fine", live, func(*triggers.Trigger) {})
	add("paused", draft, func(x *triggers.Trigger) { x.On, x.Reason = false, triggers.ReasonPaused })
	add("unpublished", draft, func(*triggers.Trigger) {})
	add("failing", live, func(x *triggers.Trigger) { x.On, x.Reason = false, triggers.ReasonFailed })
	add("secretless", live, func(x *triggers.Trigger) {
		x.Kind, x.Token, x.Hook = triggers.Hook, triggers.NewToken(), hooks.Config{Verify: hooks.Verify{Secrets: []string{"gone"}}}
	})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	_, out := doctor(t, dir, "doctor", "--json")
	var report struct{ Findings []finding }
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, f := range report.Findings {
		if f.Name != "triggers" {
			continue
		}
		for _, want := range []string{"3 triggers", "unpublished of draft (the flow has no live version)", "failing of live (it was turned off after failed runs)", `secretless of live (there is no credential "gone")`} {
			if !strings.Contains(f.Text, want) {
				t.Errorf("%q lacks %s", f.Text, want)
			}
		}
		if strings.Contains(f.Text, "fine") || strings.Contains(f.Text, "paused") {
			t.Errorf("%q names a trigger that is as people want it", f.Text)
		}
		return
	}
	t.Errorf("doctor says nothing about triggers: %s", out)
}
