package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"sluice/db"
	"sluice/flow"
	"sluice/flow/library"
	"sluice/flow/value"
)

// The queue polls only every hour here, so a run that ends was woken by the commit.
func TestStartRun_wakes_worker_at_commit(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		fx := newFixture(t, cfg, passThroughFlow).start()
		for range 20 {
			run := fx.startRun(func(s *flow.Start) { s.Wait = 20 * time.Second })
			if run.State != flow.RunSucceeded || run.Outputs.Get("y") != "hello" {
				t.Fatalf("the run is %s with %v", run.State, run.Outputs)
			}
		}
	})
}

func TestStartRun_waits_and_returns_stored_run(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		fx := newFixture(t, cfg, passThroughFlow).start()
		returned := fx.startRun(func(s *flow.Start) { s.Wait = 20 * time.Second })
		stored := fx.awaitEnd(returned)
		if a, b := returned.ExpiresAt, stored.ExpiresAt; !a.Equal(b) {
			t.Errorf("expires at %s as returned, %s as stored", a, b)
		}
		if !returned.EndedAt.Equal(stored.EndedAt) || !returned.StartedAt.Equal(stored.StartedAt) || returned.Seq != stored.Seq {
			t.Errorf("returned %+v, stored %+v", returned, stored)
		}
	})
}

func TestStartRun_rejects(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, sqliteConfig(t), passThroughFlow).start()
	published := fx.flowID
	library := &library.Library{Store: fx.store, Kinds: fx.kinds, IDs: flow.NewIDs()}
	unpublished, err := library.Import(context.Background(), flow.DefaultWorkspace, "", []byte(passThroughFlow))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		flowID flow.FlowID
		set    func(*flow.Start)
		want   flow.Code
	}{
		"unknown flow":      {"flow_unknown", func(*flow.Start) {}, flow.CodeNotFound},
		"unpublished flow":  {unpublished.ID, func(*flow.Start) {}, flow.CodeNotPublished},
		"unknown version":   {published, func(s *flow.Start) { s.Options.Version = 7 }, flow.CodeInputInvalid},
		"missing input":     {published, func(s *flow.Start) { s.Given = nil }, flow.CodeInputInvalid},
		"another workspace": {published, func(s *flow.Start) { s.WorkspaceID = "ws_other" }, flow.CodeNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			s := flow.Start{WorkspaceID: flow.DefaultWorkspace, FlowID: c.flowID, Given: value.FromMap(map[string]any{"x": "hello"})}
			c.set(&s)
			_, err := fx.runner.StartRun(context.Background(), s)
			if !errors.Is(err, &flow.Error{Code: c.want}) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

func TestStartRun_of_draft(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		fx := newFixture(t, cfg, passThroughFlow).start()
		run := fx.awaitEnd(fx.startRun(func(s *flow.Start) { s.Options.Draft = true }))
		if run.State != flow.RunSucceeded || !run.Draft || run.Version != 0 {
			t.Errorf("the draft run is %+v", run)
		}
	})
}

func TestStartRun_replays_after_flow_is_archived(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		fx := newFixture(t, cfg, passThroughFlow).start()
		repeat := func(s *flow.Start) { s.IdempotencyKey, s.Fingerprint, s.Wait = "k", "f", 20*time.Second }
		first := fx.startRun(repeat)
		if err := fx.store.ArchiveFlow(context.Background(), flow.DefaultWorkspace, fx.flowID); err != nil {
			t.Fatal(err)
		}
		if again := fx.startRun(repeat); again.ID != first.ID || again.State != flow.RunSucceeded {
			t.Errorf("the repeated request found %s (%s), wanted %s", again.ID, again.State, first.ID)
		}
		_, err := fx.runner.StartRun(context.Background(), flow.Start{WorkspaceID: flow.DefaultWorkspace, FlowID: fx.flowID})
		if flow.AsError(err).Code != flow.CodeNotFound {
			t.Errorf("an archived flow was started: %v", err)
		}
	})
}

// orderedFlow declares two inputs and two outputs, none of them by name.
const orderedFlow = `{"schema": "sluice.flow/v1", "name": "Order", "nodes": [
	{"id": "iz", "kind": "input", "config": {"name": "z", "type": "text"}},
	{"id": "ia", "kind": "input", "config": {"name": "a", "type": "text"}},
	{"id": "id", "kind": "input", "config": {"name": "d", "type": "text", "default": "d"}},
	{"id": "oz", "kind": "output", "config": {"name": "z"}},
	{"id": "oa", "kind": "output", "config": {"name": "a"}}],
	"edges": [{"from": "iz.value", "to": "oz.value"}, {"from": "ia.value", "to": "oa.value"}]}`

func TestStartRun_keeps_order(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		fx := newFixture(t, cfg, orderedFlow).start()
		object := func(names ...string) *flow.Object {
			o := &flow.Object{}
			for _, name := range names {
				o.Set(name, name)
			}
			return o
		}
		check := func(run *flow.Run) {
			t.Helper()
			got := fmt.Sprint(run.Inputs.Names(), run.Outputs.Names(), run.Metadata.Names())
			if run.State != flow.RunSucceeded || got != "[z a d] [z a] [y x]" {
				t.Errorf("the run is %s with %s", run.State, got)
			}
		}
		first := fx.awaitEnd(fx.startRun(func(s *flow.Start) { s.Given, s.Options.Metadata = object("z", "a"), object("y", "x") }))
		check(first)
		again, err := fx.runner.Rerun(context.Background(), flow.Rerun{
			Start: flow.Start{WorkspaceID: first.WorkspaceID, FlowID: first.FlowID}, ParentRunID: first.ID})
		if err != nil {
			t.Fatal(err)
		}
		check(fx.awaitEnd(again.Run))
	})
}
