package editor_test

import (
	"testing"

	"sluice/e2e/chrome"
	"sluice/flow"
	"sluice/handlers/webtest"
)

// TestPublishInTheBuilder publishes, breaks the API, is warned and rolls back.
func TestPublishInTheBuilder(t *testing.T) {
	h := webtest.Setup(t)
	id, b := h.Flow(webtest.PublishGreeting), chrome.Start(t)
	path := "/flows/" + id
	p := h.Open(b, flow.MemberEditor, path)
	p.There("flow-canvas[ready]")
	p.Click("#publish-button a")
	p.Has("#publish-dialog", "Publish")
	p.Shot("publish-first")
	p.Click("#publish-dialog footer button")
	p.Has("#publish-dialog", "New runs use")
	p.Has("#publish-button", "v1 is live")
	p.Shot("published")
	p.Click("#publish-dialog [data-close]")
	h.Key("production")

	p.Eval(`document.getElementById("canvas").commit("Remove", [{op: "remove", nodes: ["tone"]}])`)
	p.Has("#publish-button", "problem")
	p.Eval(`document.getElementById("canvas").commit("Set", [{op: "set", node: "say", field: "template", value: "Hi {{who}}"}])`)
	p.Has("#publish-button", "Publish v2")
	p.Click("#publish-button a")
	p.Has("#publish-dialog", "This breaks programs that call v1")
	p.Shot("publish-breaks")
	p.Click("#publish-dialog footer button")
	p.Has("#publish-button", "v2 is live")
	p.Until(`!document.getElementById("publish-dialog").open`)

	p.Go(h.Http.URL + path + "/compare?from=1&to=2")
	p.Has("#comparison", "Programs that rely on v1 may fail with v2")
	p.Shot("compare")
	p.Go(h.Http.URL + path + "/versions")
	p.Shot("versions")
	p.Click(`a[href$="/versions/1/live"]`)
	p.Has("main", "Roll back to v1")
	p.Eval(`document.querySelector("main footer button").click()`) // a pointer would meet the transition between the pages
	p.Has("#version-1", "live")
}

// TestRunPageInABrowser watches a run to its end and keeps what is selected.
func TestRunPageInABrowser(t *testing.T) {
	h := webtest.Setup(t)
	id, b := h.Flow(webtest.Fetching(webtest.Asked(t, 99))), chrome.Start(t)
	h.Publish(id)
	run, err := h.Call(id, h.Key("production"), map[string]any{"q": "I was charged twice for October"})
	if err != nil {
		t.Fatal(err)
	}
	p := h.Open(b, flow.MemberEditor, "/runs/"+run.ID)
	p.Has("#step", "Ask the server")
	p.Shot("run-failed")
	p.Theme("dark")
	p.Shot("run-dark")
	p.Phone()
	p.Shot("run-phone")
	p.Click(`.waterfall a[href$="step=trim"]`)
	p.Has("#step", "Polite")
}
