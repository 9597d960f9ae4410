package db_test

import (
	"testing"
	"time"

	"sluice/flow"
	"sluice/flow/histogram"
)

func TestFlows(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		w.clock.move(time.Minute)
		w.must(w.UpdateDraft(w.ctx, ws, w.flow.ID, "New", "What it does", []byte(`{"name":"New"}`)))
		f, err := w.FindFlow(w.ctx, ws, w.flow.ID)
		w.must(err)
		wantEqual(t, "rev", f.Rev, 2)
		wantEqual(t, "draft", string(f.Draft), `{"name":"New"}`)
		wantEqual(t, "updated", f.UpdatedAt, w.clock.Now())
		wantCode(t, w.UpdateDraft(w.ctx, "ws_other", w.flow.ID, "", "", nil), flow.CodeNotFound)

		second := w.newFlow(ws)
		list, err := w.ListFlows(w.ctx, ws, w.flow.ID, 10)
		w.must(err)
		wantEqual(t, "next page", len(list), 1)
		wantEqual(t, "on it", list[0].ID, second.ID)
		w.must(w.ArchiveFlow(w.ctx, ws, second.ID))
		list, err = w.ListFlows(w.ctx, ws, "", 10)
		w.must(err)
		wantEqual(t, "not archived", len(list), 1)
		had, err := w.HadFlows(w.ctx, ws)
		w.must(err)
		wantEqual(t, "had flows", had, true)
		_, err = w.FindWorkspace(w.ctx, ws)
		w.must(err)
	})
}

func TestPublishFlow(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		publish := func(doc string) (flow.Version, bool) {
			v, created, err := w.PublishFlow(w.ctx, ws, w.flow.ID, []byte(doc), "first", "me")
			w.must(err)
			return v, created
		}
		live := func() (int64, string) {
			f, err := w.FindFlow(w.ctx, ws, w.flow.ID)
			w.must(err)
			return f.LiveVersion, f.LiveHash
		}
		for _, c := range []struct {
			doc     string
			number  int64
			created bool
		}{{"a", 1, true}, {"a", 1, false}, {"b", 2, true}, {"a", 3, true}} {
			v, created := publish(c.doc)
			wantEqual(t, "number", v.Number, c.number)
			wantEqual(t, "created", created, c.created)
			n, hash := live()
			wantEqual(t, "live", n, c.number)
			wantEqual(t, "live hash", hash, flow.Hash([]byte(c.doc)))
		}
		w.must(w.SetLiveVersion(w.ctx, ws, w.flow.ID, 2, "me"))
		n, _ := live()
		wantEqual(t, "live again", n, 2)
		v, created := publish("a")
		wantEqual(t, "the latest goes live", v.Number, 3)
		wantEqual(t, "as it is", created, false)
		wantCode(t, w.SetLiveVersion(w.ctx, ws, w.flow.ID, 9, "me"), flow.CodeNotFound)
		list, err := w.ListVersions(w.ctx, ws, w.flow.ID)
		w.must(err)
		wantEqual(t, "versions", len(list), 3)
		wantEqual(t, "newest first", list[0].Number, 3)
		_, err = w.FindVersion(w.ctx, "ws_other", w.flow.ID, 1)
		wantCode(t, err, flow.CodeNotFound)
		doc, err := w.FindDocument(w.ctx, ws, list[1].DocumentHash)
		w.must(err)
		wantEqual(t, "document", string(doc), "b")
		_, _, err = w.PublishFlow(w.ctx, "ws_other", w.flow.ID, []byte("a"), "", "")
		wantCode(t, err, flow.CodeNotFound)
	})
}

func TestKeys(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		k := &flow.Key{
			WorkspaceID: ws, Name: "Site", Prefix: "slu_abc", Hash: "hash", Scopes: []flow.Scope{flow.ScopeRun, flow.ScopeRead},
			Flows: []string{string(w.flow.ID)}, RPM: 1, Concurrency: 2, USDPerDay: 3, RunsPerDay: 4, CreatedBy: "me", ExpiresAt: w.clock.Now(),
		}
		w.must(w.CreateKey(w.ctx, k))
		got, err := w.FindKeyByHash(w.ctx, "hash")
		w.must(err)
		wantEqual(t, "scopes", got.Has(flow.ScopeRead) && got.Allows(w.flow.ID) && !got.Allows("flow_b"), true)
		wantEqual(t, "limits", flow.NanoUSD(got.RPM+10*got.Concurrency)+100*got.USDPerDay+flow.NanoUSD(1000*got.RunsPerDay), 4321)
		_, err = w.FindKeyByHash(w.ctx, "none")
		wantCode(t, err, flow.CodeNotFound)

		used := w.clock.Now().Add(time.Hour)
		w.must(w.TouchKeys(w.ctx, []flow.KeyUse{{KeyID: k.ID, At: used, IP: "::1", Count: 3}, {KeyID: k.ID, At: used, IP: "::2", Count: 1}}))
		w.must(w.RevokeKey(w.ctx, ws, k.ID))
		revoked := w.clock.Now()
		w.clock.move(time.Hour)
		w.must(w.RevokeKey(w.ctx, ws, k.ID))
		wantCode(t, w.RevokeKey(w.ctx, "ws_other", k.ID), flow.CodeNotFound)
		list, err := w.ListKeys(w.ctx, ws)
		w.must(err)
		wantEqual(t, "uses", list[0].Uses, 4)
		wantEqual(t, "last use", list[0].LastUsedAt, used)
		wantEqual(t, "revoked", list[0].RevokedAt, revoked)
	})
}

func TestUsage(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		chat := step("write")
		chat.Input, chat.Usage = map[string]any{"model": "openai/gpt-x"}, flow.Usage{InputTokens: 30, OutputTokens: 6, CostNanoUSD: 15}
		chat.Spent = flow.Usage{InputTokens: 10, OutputTokens: 2, CostNanoUSD: 5} // the rest was counted before
		reused := chat
		reused.Path, reused.State, reused.Spent = "again", flow.StepReused, flow.Usage{}
		for _, state := range []flow.RunState{flow.RunSucceeded, flow.RunFailed} {
			r := w.take(w.start().ID)
			w.clock.move(2 * time.Second)
			r.Progress.Done = 3
			w.must(w.finish(r, state, chat, reused))
		}
		days, err := w.Usage(w.ctx, ws, w.clock.Now(), w.clock.Now())
		w.must(err)
		wantEqual(t, "rows", len(days), 2)
		wantEqual(t, "runs", days[0], flow.UsageDay{
			Day: "2026-03-14", FlowID: w.flow.ID, KeyID: "key_a", Bucket: histogram.Bucket(2 * time.Second), Runs: 2, Succeeded: 1, Failed: 1, Steps: 6, Duration: 4 * time.Second,
		})
		wantEqual(t, "model", days[1], flow.UsageDay{
			Day: "2026-03-14", FlowID: w.flow.ID, KeyID: "key_a", Model: "openai/gpt-x",
			Usage: flow.Usage{InputTokens: 20, OutputTokens: 4, CostNanoUSD: 10},
		})
	})
}
