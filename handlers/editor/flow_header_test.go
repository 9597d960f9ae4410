package editor_test

import (
	"net/url"
	"strings"
	"testing"

	"sluice/flow"
	"sluice/handlers/webtest"
)

// TestFlowPages_say_which_version_is_live opens each page that a tab of the flow leads to, and some below them.
func TestFlowPages_say_which_version_is_live(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id, draft := h.PublishedFlow(webtest.PublishGreeting), h.Flow(webtest.PublishGreeting)
	b := h.As(flow.MemberEditor)
	run := h.RunDraft(b, id, url.Values{"filled": {"1"}, "in.who": {"Sam"}})
	for _, page := range []string{"/runs?flow={flow}", "/runs/" + string(run.ID), "/flows/{flow}/triggers", "/flows/{flow}/triggers/webhook", "/flows/{flow}/batches", "/flows/{flow}/api", "/flows/{flow}/keys", "/flows/{flow}/versions",
		"/flows/{flow}/versions/1/live", "/flows/{flow}/compare", "/flows/{flow}/webhooks", "/flows/{flow}/form", "/flows/{flow}/settings", "/flows/{flow}/limits", "/flows/{flow}/run", "/flows/{flow}/publish"} {
		b.Get(strings.ReplaceAll(page, "{flow}", id)).Is(200).Has(`live-chip ok`, "v1 live")
		if !strings.Contains(page, "run_") && !strings.Contains(page, "/live") {
			b.Get(strings.ReplaceAll(page, "{flow}", draft)).Is(200).Has(`class="live-chip"`, "Not published")
		}
	}
}

// TestFlowPages_say_what_the_flow_has checks the counts beside the tabs of a flow and the chip of its draft.
func TestFlowPages_say_what_the_flow_has(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id := h.PublishedFlow(webtest.PublishGreeting)
	b := h.As(flow.MemberEditor)
	const runs, draft = `Runs<span class="count">`, "draft-chip"
	if page := b.Get("/flows/" + id + "/triggers").Is(200).Body; strings.Contains(page, runs) || strings.Contains(page, draft) {
		t.Error("a flow without runs and without changes shows a count or a draft")
	}
	h.RunDraft(b, id, url.Values{"filled": {"1"}, "in.who": {"Sam"}})
	run := h.RunDraft(b, id, url.Values{"filled": {"1"}, "in.who": {"Ada"}})
	b.Get("/flows/" + id + "/triggers").Is(200).Has(runs + "2</span>")
	b.Get("/runs?flow=" + id).Is(200).Has(runs + "2</span>")
	b.Get("/flows/" + id).Is(200).Has(runs + "2</span>")
	setDraft(h, id, strings.Replace(webtest.PublishGreeting, "Hello", "Good morning", 1))
	for _, page := range []string{"/runs/" + string(run.ID), "/flows/" + id + "/settings"} {
		b.Get(page).Is(200).Has(draft, "Draft · 1 change", "/compare?from=1&amp;to=draft")
	}
}
