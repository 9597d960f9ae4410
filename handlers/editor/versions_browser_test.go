package editor_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"sluice/e2e/chrome"
	"sluice/flow"
	"sluice/handlers/webtest"
)

// TestPublishInTheBuilder publishes, makes a breaking change, reads the warning and rolls back.
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
	p.Has("#publish-dialog", "Listening for your first call")
	p.Has("#flow-state", "v1 live")
	p.Shot("published")
	p.Theme("dark")
	p.Shot("published-dark")
	p.Theme("light")
	p.Click("#publish-dialog [data-key-and-copy]")
	p.Until(`/slu_(?!YOUR_KEY)/.test(document.getElementById("first-command").textContent)`)
	call(t, h.Http.URL+"/v1/flow/"+id+"/run", chrome.Value[string](p, `/slu_\w+/.exec(document.getElementById("first-command").textContent)[0]`))
	p.Has("#publish-dialog", "Your first call arrived")
	p.Until(`document.querySelector("#canvas-nodes [data-state=succeeded]") !== null`)
	p.Shot("published-received")
	p.Click("#publish-dialog [data-close]")
	h.Key("production")

	p.Eval(`document.getElementById("canvas").commit("Remove", [{op: "remove", nodes: ["tone"]}])`)
	p.Has("#flow-state", "1 problem")
	p.Eval(`document.getElementById("canvas").commit("Set", [{op: "set", node: "say", field: "template", value: "Hi {{who}}"}])`)
	p.Has("#publish-button", "Publish v2")
	p.Click("#publish-button a")
	p.Has("#publish-dialog", "This breaks programs that call v1")
	p.Shot("publish-breaks")
	p.Click("#publish-dialog footer button")
	p.Has("#flow-state", "v2 live")
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

// TestRunPageInABrowser follows a run to its end and keeps the selection.
func TestRunPageInABrowser(t *testing.T) {
	h := webtest.Setup(t)
	id, b := h.Flow(webtest.RequestFlow(webtest.FlakyServer(t, 99))), chrome.Start(t)
	h.Publish(id)
	run, err := h.Call(id, h.Key("production"), map[string]any{"q": "I was charged twice for October"})
	if err != nil {
		t.Fatal(err)
	}
	p := h.Open(b, flow.MemberEditor, "/runs/"+string(run.ID))
	p.Has("#step", "Ask the server")
	p.Shot("run-failed")
	p.Theme("dark")
	p.Shot("run-dark")
	p.Phone()
	p.Shot("run-phone")
	p.Click(`.waterfall a[href*="step=trim"]`)
	p.Has("#step", "Polite")
}

// call starts a run of a flow as a program does.
func call(t *testing.T, url, key string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(`{"who": "Ada"}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close() //nolint:errcheck // it was read
	if answer.StatusCode != http.StatusAccepted {
		body, _ := io.ReadAll(answer.Body)
		t.Fatalf("%s: %s", answer.Status, body)
	}
}
