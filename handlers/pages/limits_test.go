package pages

import (
	"context"
	"net/http"
	"net/url"
	"testing"

	"sluice/flow"
)

const chatFlow = `{"schema": "sluice.flow/v1", "name": "Ask", "nodes": [
	{"id": "write", "kind": "chat", "config": {"model": "openai/gpt-x", "prompt": "Hello"}},
	{"id": "other", "kind": "chat", "config": {"model": "openai/priced", "prompt": "Hello"}},
	{"id": "answer", "kind": "output", "config": {"name": "answer"}}],
	"edges": [{"from": "write.text", "to": "answer.value"}]}`

func TestLimits(t *testing.T) {
	t.Parallel()
	h := setup(t)
	ctx := context.Background()
	id := h.flow(chatFlow)
	path := "/flows/" + id + "/limits"
	b := h.as(flow.MemberEditor)
	b.get(path).is(http.StatusOK).has("<h1>Limits</h1>", "No limit").lacks("Used today", "openai/gpt-x")
	wrong := url.Values{"max_running": {"two"}, "max_queued": {"-1"}, "runs_per_day": {"10"}, "usd_per_day": {"1,5"}}
	b.post(path, wrong).is(http.StatusUnprocessableEntity).has(`value="two"`, `value="1,5"`, `value="10"`, "A whole number from 1", "An amount up to a million")
	if err := h.store.SavePrice(ctx, flow.Price{WorkspaceID: flow.DefaultWorkspace, Model: "openai/priced", Call: 1}); err != nil {
		t.Fatal(err)
	}
	b.post(path, url.Values{"max_running": {"2"}, "max_queued": {"1,000"}, "runs_per_day": {"500"}, "usd_per_day": {"$2.50"}}).see(path)
	f, err := h.store.FindFlow(ctx, flow.DefaultWorkspace, id)
	if want := (flow.Limits{MaxRunning: 2, MaxQueued: 1000, RunsPerDay: 500, USDPerDay: 25e8}); err != nil || f.Limits != want {
		t.Errorf("stored %+v (%v), want %+v", f.Limits, err, want)
	}
	b.get(path).has(`value="500"`, `value="2.5"`, "$0 of $2.50", "0 of 500 runs", "No price is entered for openai/gpt-x. ").lacks("openai/priced")
	h.as(flow.MemberOwner).get("/settings/audit").has("changed the limits of", "runs a day from no limit to 500, dollars a day from no limit to 2.5")
	b.post(path, url.Values{"max_running": {""}, "max_queued": {""}, "runs_per_day": {""}, "usd_per_day": {""}}).see(path)
	if f, err = h.store.FindFlow(ctx, flow.DefaultWorkspace, id); err != nil || f.Limits != (flow.Limits{}) {
		t.Errorf("stored %+v (%v), want no limits", f.Limits, err)
	}
}

func TestLimits_who_may(t *testing.T) {
	t.Parallel()
	h := setup(t)
	id := h.flow(chatFlow)
	path := "/flows/" + id + "/limits"
	v := h.as(flow.MemberViewer)
	v.get(path).is(http.StatusOK).has("Runs a UTC day").lacks("<form class=\"form\"")
	v.post(path, url.Values{"runs_per_day": {"1"}}).is(http.StatusForbidden)
	b := h.as(flow.MemberEditor)
	for _, other := range []string{"flow_01jd6v0q8zzzzzzzzzzzzzzzzz", "nothing"} {
		b.get("/flows/" + other + "/limits").is(http.StatusNotFound)
		b.post("/flows/"+other+"/limits", url.Values{}).is(http.StatusNotFound)
	}
	h.stranger().get(path).see("/sign-in?next=" + url.QueryEscape(path))
}
