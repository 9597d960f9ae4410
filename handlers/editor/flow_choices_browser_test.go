package editor_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"sluice/e2e/chrome"
	"sluice/flow"
	"sluice/handlers/web"
	"sluice/handlers/webtest"
)

// A node that runs another flow offers the first flows by name, and finds the others on the server: with the keyboard, and without scripts.
func TestSubflowInBrowser_finds_a_flow_among_many(t *testing.T) {
	t.Parallel()
	b := chrome.Start(t)
	h := webtest.Setup(t)
	named := func(name string) string {
		return h.PublishedFlow(`{"schema": "sluice.flow/v1", "name": "` + name + `", "nodes": [{"id": "say", "kind": "template", "config": {"template": "Hello"}}, {"id": "out", "kind": "output", "config": {"name": "hello"}}], "edges": [{"from": "say.text", "to": "out.value"}]}`)
	}
	first := named("Flow 000")
	for i := range web.MaxOptions {
		named(fmt.Sprintf("Flow %03d", i+1))
	}
	w := &webtest.Inspector{T: t, Env: h, ID: h.Flow(`{"schema": "sluice.flow/v1", "name": "Parent", "nodes": [{"id": "child", "kind": "subflow", "position": {"x": 0, "y": 0}, "config": {"flow": "` + first + `"}}], "edges": []}`)}
	path := "/flows/" + w.ID + "/node/child"
	page := w.As(flow.MemberEditor)
	if body := page.Get(path).Is(http.StatusOK).Body; strings.Contains(body, "data-find-flow") {
		t.Error("few flows can be searched")
	}
	last := named("Zebra crossing")
	body := page.Get(path).Is(http.StatusOK).Body
	if strings.Contains(body, "Zebra") || !strings.Contains(body, "The first 101 of 102 flows") || !strings.Contains(body, "data-find-flow") {
		t.Error("the form does not offer the first flows and a search for the others")
	}
	body = page.Get(path + "?" + url.Values{"find": {" CROSS zeb"}}.Encode()).Is(http.StatusOK).Body
	if !strings.Contains(body, last) || strings.Contains(body, "Flow 001") || !strings.Contains(body, "Flows found: 1") || !strings.Contains(body, first) {
		t.Error("without scripts, the search does not find the flow")
	}

	w.Tab = h.Open(b, flow.MemberEditor, "/flows/"+w.ID)
	w.Until(`document.querySelector("flow-canvas[ready]") !== null`)
	w.Choose("child")
	w.There("[data-find-flow]")
	w.Eval(`document.querySelector("[data-find-flow]").focus()`)
	w.Keys("zebra")
	w.Has(".ins-found", "Flows found: 1")
	w.Keys(kb.Enter)
	w.Until(`document.activeElement.matches(".ins-child select")`)
	w.Pick(".ins-child select", last)
	w.Until(`document.querySelector("flow-canvas").draft.nodes.get("child").config.flow === ` + fmt.Sprintf("%q", last))
	w.Saved()
	w.Until(`[...document.querySelector(".ins-child select").selectedOptions].map((o) => o.text).join() === "Zebra crossing"`)
	w.Shot("subflow-search")
}

// TestSubflow_shows_a_long_name_in_full chooses a flow whose name does not fit the field.
func TestSubflow_shows_a_long_name_in_full(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	const name = "Answer what customers ask about orders from before the move"
	child := h.PublishedFlow(strings.Replace(mapChild, "Sort reviews", name, 1))
	parent := func(flow string) string {
		return h.Flow(`{"schema": "sluice.flow/v1", "name": "Parent", "nodes": [{"id": "child", "kind": "subflow", "config": {"flow": "` + flow + `", "input.text": "Hello"}}], "edges": []}`)
	}
	page := h.As(flow.MemberEditor)
	page.Get("/flows/" + parent(child) + "/node/child").Is(http.StatusOK).Has(`<p class="ins-flow-name" dir="auto">` + name + `</p>`)
	page.Get("/flows/" + parent(h.PublishedFlow(mapChild)) + "/node/child").Is(http.StatusOK).Lacks("ins-flow-name")
}
