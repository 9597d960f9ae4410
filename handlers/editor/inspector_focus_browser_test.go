package editor_test

import (
	"testing"

	"github.com/chromedp/cdproto/page"

	"sluice/e2e/chrome"
	"sluice/handlers/webtest"
)

// TestInspector_keeps_the_focus_when_late_code_loads holds back what the builder loads while the
// browser is idle, as a busy machine does, until a field of the inspector is in use.
func TestInspector_keeps_the_focus_when_late_code_loads(t *testing.T) {
	t.Parallel()
	w := webtest.OpenInspector(t, chrome.Start(t))
	chrome.Call(w.Tab, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: `window.late = []; window.requestIdleCallback = (act) => late.push(act);`})
	w.Go(w.Http.URL + "/flows/" + w.ID)
	w.There("flow-canvas[ready]")
	w.Eval(`{ const c = document.querySelector("flow-canvas"); c.selection.set(["ticket"]); c.open("ticket"); }`)
	w.Until(`document.activeElement?.id === "put-label"`)
	w.Eval(`document.querySelector("#set-type").focus()`)
	w.Eval(`late.forEach((act) => act())`)
	w.Until(`document.getElementById("shortcuts") !== null`) // the late code has loaded
	w.Eval(`new Promise((done) => setTimeout(() => requestAnimationFrame(done)))`)
	if at := chrome.Value[string](w.Tab, `document.activeElement.id`); at != "set-type" {
		t.Errorf("the focus jumped to %q", at)
	}
}
