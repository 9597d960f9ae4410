package console_test

import (
	"context"
	"net/http"
	"net/url"
	"testing"

	"sluice/flow"
	"sluice/handlers/webtest"
)

const chatFlow = `{"schema": "sluice.flow/v1", "name": "Ask", "nodes": [
	{"id": "write", "kind": "chat", "config": {"model": "openai/gpt-x", "prompt": "Hello"}},
	{"id": "other", "kind": "chat", "config": {"model": "openai/priced", "prompt": "Hello"}},
	{"id": "answer", "kind": "output", "config": {"name": "answer"}}],
	"edges": [{"from": "write.text", "to": "answer.value"}]}`

func TestLimits(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	ctx := context.Background()
	id := flow.FlowID(h.Flow(chatFlow))
	path := "/flows/" + string(id) + "/limits"
	b := h.As(flow.MemberEditor)
	b.Get(path).Is(http.StatusOK).Has("<h1>Settings</h1>", ">Limits</h2>", "No limit").Lacks("Used today", "openai/gpt-x")
	wrong := url.Values{"max_running": {"two"}, "max_queued": {"-1"}, "runs_per_day": {"10"}, "usd_per_day": {"1,5"}}
	b.Post(path, wrong).Is(http.StatusUnprocessableEntity).Has(`value="two"`, `value="1,5"`, `value="10"`, "A whole number from 1", "An amount up to a million")
	if err := h.Store.SavePrice(ctx, flow.Price{WorkspaceID: flow.DefaultWorkspace, Model: "openai/priced", Call: 1}); err != nil {
		t.Fatal(err)
	}
	b.Post(path, url.Values{"max_running": {"2"}, "max_queued": {"1,000"}, "runs_per_day": {"500"}, "usd_per_day": {"$2.50"}}).RedirectsTo(path)
	f, err := h.Store.FindFlow(ctx, flow.DefaultWorkspace, id)
	if want := (flow.Limits{MaxRunning: 2, MaxQueued: 1000, RunsPerDay: 500, USDPerDay: 25e8}); err != nil || f.Limits != want {
		t.Errorf("stored %+v (%v), want %+v", f.Limits, err, want)
	}
	b.Get(path).Has(`value="500"`, `value="2.5"`, "$0 of $2.50", "0 of 500 runs", "The price of openai/gpt-x is unknown. Runs are rejected").Lacks("openai/priced")
	h.As(flow.MemberOwner).Get("/settings/audit").Has("changed the limits of", "runs a day from no limit to 500, dollars a day from no limit to 2.5")
	b.Post(path, url.Values{"max_running": {""}, "max_queued": {""}, "runs_per_day": {""}, "usd_per_day": {""}}).RedirectsTo(path)
	if f, err = h.Store.FindFlow(ctx, flow.DefaultWorkspace, id); err != nil || f.Limits != (flow.Limits{}) {
		t.Errorf("stored %+v (%v), want no limits", f.Limits, err)
	}
}

func TestLimits_access(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id := h.Flow(chatFlow)
	path := "/flows/" + id + "/limits"
	v := h.As(flow.MemberViewer)
	v.Get(path).Is(http.StatusOK).Has("Runs per day").Lacks("<form class=\"form\"")
	v.Post(path, url.Values{"runs_per_day": {"1"}}).Is(http.StatusForbidden)
	b := h.As(flow.MemberEditor)
	for _, other := range []string{"flow_01jd6v0q8zzzzzzzzzzzzzzzzz", "nothing"} {
		b.Get("/flows/" + other + "/limits").Is(http.StatusNotFound)
		b.Post("/flows/"+other+"/limits", url.Values{}).Is(http.StatusNotFound)
	}
	h.Anonymous().Get(path).RedirectsTo("/sign-in?next=" + url.QueryEscape(path))
}

// TestFlowSettings renames a flow through an edit of its draft.
func TestFlowSettings(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id := h.Flow(chatFlow)
	path := "/flows/" + id + "/settings"
	b := h.As(flow.MemberEditor)
	b.Get(path).Is(http.StatusOK).Has(`value="Ask"`, `aria-current="page">Settings</a>`, `href="/runs?flow=`+id, "Archive flow")
	b.Post(path, url.Values{"name": {" Answer "}, "description": {"Answers mail."}, "tags": {"mail, eu"}}).RedirectsTo(path)
	b.Get(path).Is(http.StatusOK).Has(`value="Answer"`, "Answers mail.", `value="eu, mail"`)
	if d := h.Draft(id); d.Name != "Answer" || d.Description != "Answers mail." {
		t.Errorf("the draft is called %q: %q", d.Name, d.Description)
	}
	b.Post(path, url.Values{"name": {""}, "description": {"kept"}, "tags": {"x"}}).Is(http.StatusUnprocessableEntity).Has("Enter a name.", "kept")
	b.Post(path, url.Values{"name": {"A\u200bB"}}).Is(http.StatusUnprocessableEntity).Has("invisible character")
	v := h.As(flow.MemberViewer)
	v.Get(path).Is(http.StatusOK).Has("Answers mail.").Lacks("Archive flow", "Save limits")
	v.Post(path, url.Values{"name": {"X"}}).Is(http.StatusForbidden)
}
