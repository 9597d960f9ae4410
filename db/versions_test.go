package db_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"sluice/flow"
)

const month = 30 * 24 * time.Hour

func TestListCallers(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		other := w.newFlow(ws)
		keys := map[string]string{}
		for _, name := range []string{"production", "staging", "revoked", "expired", "unused"} {
			k := &flow.Key{WorkspaceID: ws, Name: name, Prefix: "slu_" + name[:4], Hash: name}
			if name == "expired" {
				k.ExpiresAt = w.clock.Now().Add(time.Minute)
			}
			w.must(w.CreateKey(w.ctx, k))
			keys[name] = k.ID
		}
		by := func(name string) func(*flow.NewRun) { return func(n *flow.NewRun) { n.Run.KeyID = keys[name] } }
		w.startAndFinish(by("staging"))
		for range 2 {
			w.startAndFinish(by("production"))
		}
		w.startAndFinish(by("revoked"))
		w.startAndFinish(by("expired"))
		w.startAndFinish(by("unused"), func(n *flow.NewRun) { n.Run.FlowID = other.ID })
		w.must(w.RevokeKey(w.ctx, ws, keys["revoked"]))
		w.clock.move(time.Hour)

		list, err := w.ListCallers(w.ctx, ws, w.flow.ID, w.clock.Now().Add(-month))
		w.must(err)
		if len(list) != 2 || list[0] != (flow.Caller{KeyID: keys["production"], Name: "production", Prefix: "slu_prod", Runs: 2, LastDay: "2026-03-14"}) || list[1].Name != "staging" {
			t.Errorf("%+v", list)
		}
		for what, list := range map[string][]flow.Caller{
			"later days":        must(w.ListCallers(w.ctx, ws, w.flow.ID, w.clock.Now().Add(48*time.Hour))),
			"another workspace": must(w.ListCallers(w.ctx, "other", w.flow.ID, time.Time{})),
		} {
			if len(list) > 0 {
				t.Errorf("%s: %+v", what, list)
			}
		}
	})
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestCountVersionRuns(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		w.start()
		w.clock.move(2 * month)
		w.start()
		w.start(func(n *flow.NewRun) { n.Run.Version = 2 })
		w.start(func(n *flow.NewRun) { n.Run.Version = 2 })
		w.start(func(n *flow.NewRun) { n.Run.Version, n.Run.Draft = 0, true })
		runs, whole, err := w.CountVersionRuns(w.ctx, ws, w.flow.ID, w.clock.Now().Add(-month))
		w.must(err)
		if !whole || len(runs) != 2 || runs[1] != 1 || runs[2] != 2 {
			t.Errorf("%v %v", runs, whole)
		}
	})
}

func TestPublishFlow_records_the_publisher(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		v, created, err := w.PublishFlow(w.ctx, ws, w.flow.ID, []byte(`{"schema":"sluice.flow/v1"}`), "First.", "user_1")
		w.must(err)
		wantEqual(t, "created", created, true)
		wantEqual(t, "by", v.By, "user_1")
	})
}

func TestListDeliveriesOfRun(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		r := w.take(w.start().ID)
		r.State, r.EndedAt = flow.RunSucceeded, w.clock.Now()
		w.must(w.WriteRun(w.ctx, flow.RunWrite{Run: r, End: true, Durable: true, Deliveries: []flow.NewDelivery{
			{Node: "tell", URL: "https://example.com/a", Body: []byte("{}")}, {Node: "also", URL: "https://example.com/b", Body: []byte("{}")},
		}}))
		w.startAndFinish()
		list, err := w.ListDeliveriesOfRun(w.ctx, ws, r.ID)
		w.must(err)
		if len(list) != 2 || list[0].Node == list[1].Node || list[0].RunID != r.ID || list[0].State != flow.DeliveryPending {
			t.Errorf("%+v", list)
		}
		list, err = w.ListDeliveriesOfRun(w.ctx, "other", r.ID)
		w.must(err)
		wantEqual(t, "of another workspace", len(list), 0)
	})
}

func TestWriteRun_keeps_attempts_of_steps(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		r := w.take(w.start().ID)
		st, at := step("a"), w.clock.Now()
		st.Attempt = 2
		st.Attempts = []flow.Attempt{
			{Number: 1, StartedAt: at, EndedAt: at.Add(time.Second), Error: &flow.Error{Code: flow.CodeHTTPFailed, Message: "It said no.", Retryable: true},
				Model: "openai/a", InputTokens: 3, Unpriced: true, Next: 1},
			{Number: 2, StartedAt: at.Add(2 * time.Second), Model: "openai/b", Next: 1},
		}
		r.Models = []string{"openai/b"}
		w.must(w.finish(r, flow.RunSucceeded, st, step("b")))
		steps, err := w.FindSteps(w.ctx, ws, r.ID)
		w.must(err)
		read, err := w.FindRun(w.ctx, ws, w.flow.ID, r.ID)
		w.must(err)
		wantEqual(t, "models", strings.Join(read.Models, " "), "openai/b")
		got := steps[0].Tries()
		if steps[0].Alternative() != 1 || got[0].Model != "openai/a" || got[0].InputTokens != 3 || !got[0].Unpriced {
			t.Errorf("%+v", got[0])
		}
		if len(got) != 2 || got[0].Error.Message != "It said no." || !got[0].EndedAt.Equal(at.Add(time.Second)) || !got[1].EndedAt.IsZero() {
			t.Errorf("%+v", got)
		}
		wantEqual(t, "of a step that needed one", len(steps[1].Attempts), 0)
	})
}

// TestSetVersionReach_stays_in_its_workspace checks that what tools can do is kept with a version of its workspace, and listed for live versions of
// flows that are not archived.
func TestSetVersionReach_stays_in_its_workspace(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		v, _, err := w.PublishFlow(w.ctx, ws, w.flow.ID, []byte(`{"schema":"sluice.flow/v1"}`), "First.", "user_1")
		w.must(err)
		want := map[string]flow.ToolReach{"look": {Effect: flow.EffectWrite, Open: true, Hosts: []string{"a.example.com"}}}
		w.must(w.SetVersionReach(w.ctx, ws, w.flow.ID, v.Number, want))
		w.must(w.SetVersionReach(w.ctx, "ws_other", w.flow.ID, v.Number, map[string]flow.ToolReach{}))
		found, err := w.FindVersion(w.ctx, ws, w.flow.ID, v.Number)
		w.must(err)
		wantEqual(t, "the reach", fmt.Sprint(found.Reach), fmt.Sprint(want))
		list, err := w.ListLiveReach(w.ctx, ws)
		w.must(err)
		if len(list) != 1 || list[0].FlowID != w.flow.ID || list[0].DocumentHash != v.DocumentHash || fmt.Sprint(list[0].Reach) != fmt.Sprint(want) {
			t.Errorf("listed %+v", list)
		}
		again, created, err := w.PublishFlow(w.ctx, ws, w.flow.ID, []byte(`{"schema":"sluice.flow/v1"}`), "Again.", "user_1")
		w.must(err)
		if created || fmt.Sprint(again.Reach) != fmt.Sprint(want) {
			t.Errorf("publishing again made %+v, %v", again, created)
		}
		w.must(w.ArchiveFlow(w.ctx, ws, w.flow.ID))
		list, err = w.ListLiveReach(w.ctx, ws)
		w.must(err)
		wantEqual(t, "of archived flows", len(list), 0)
	})
}
