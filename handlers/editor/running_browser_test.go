package editor_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"sluice/flow"
	"sluice/handlers"
	"sluice/handlers/webtest"
)

func TestRunInTheBuilder(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	b, id := h.As(flow.MemberEditor), h.Flow(webtest.TicketRouting)
	p := b.Tab(webtest.Chromium(t), 1440, 900)
	p.Allow("status of 422") // the form without its input
	p.Open("/flows/" + id)
	p.Until(`document.querySelector("#canvas[ready]") !== null`)

	webtest.Value[chromedp.Void](p, `window.heights = JSON.stringify([...document.querySelectorAll("#canvas-nodes > article")].map((n) => n.offsetHeight))`)
	p.Click("#run-button")
	p.Until(`document.querySelector("#run-dialog").open`)
	p.Until(`document.querySelector("#run-form textarea").value.includes("charged twice")`) // the example
	webtest.Value[chromedp.Void](p, `document.querySelector("#run-form textarea").value = ""; document.querySelector("#run-form").requestSubmit()`)
	p.Until(`document.querySelector("#run-dialog [aria-invalid]") !== null`)
	p.Click("[data-fill-examples]")
	webtest.Value[chromedp.Void](p, `document.querySelector("#run-form").requestSubmit()`)
	p.Until(`document.querySelector(".run-bar")?.dataset.state === "succeeded"`)
	p.Until(`document.querySelector("#tab-result").ariaSelected === "true" && document.querySelector("#flow-result .result-output")?.textContent.includes("charged twice")`)
	p.Until(`document.querySelector(".result-next .btn")?.textContent === "Publish v1" && document.querySelector(".result-inputs dd").textContent.includes("charged twice")`)
	p.Until(`document.querySelector("#node-team").dataset.state === "succeeded" && document.querySelector("#node-ask").dataset.state === "skipped"`)
	p.Until(`document.querySelector("#node-team meter") && document.querySelector("#node-reply .result-text").textContent.includes("charged twice")`)
	p.Until(`/ms|s$/.test(document.querySelector("#node-team .node-badge").title)`)
	p.Until(`JSON.stringify([...document.querySelectorAll("#canvas-nodes > article")].map((n) => n.offsetHeight)) === window.heights && document.querySelector("#node-reply [data-result]").offsetHeight === 46`) // a run moves nothing
	webtest.Value[chromedp.Void](p, `(() => { const c = document.querySelector("#canvas"), line = c.edges.path("words.text>reply.value"), m = line.getPointAtLength(line.getTotalLength() / 2).matrixTransform(line.getScreenCTM()); document.elementFromPoint(m.x, m.y + 4).dispatchEvent(new PointerEvent("pointerover", { bubbles: true, clientX: m.x, clientY: m.y })); })()`)
	p.Until(`document.querySelector(".wire-tip:not([hidden])")?.textContent.includes("charged twice") && document.querySelectorAll("[data-port][data-pointed]").length === 2`)
	webtest.Value[chromedp.Void](p, `document.querySelector("#canvas").selection.set(["reply"])`)
	p.Until(`document.querySelector("#node-reply .result").offsetHeight > 46 && JSON.stringify([...document.querySelectorAll("#canvas-nodes > article")].map((n) => n.offsetHeight)) === window.heights`) // an overlay
	p.Until(`performance.getEntriesByName("run:painted").length > 0`)                                                                                                                                     // measures how late steps are shown

	webtest.Value[chromedp.Void](p, `document.querySelector("#canvas").selection.set(["reply"]); document.querySelector("#drawer-fold").click(); document.querySelector("#tab-data").click()`)
	p.Until(`document.querySelector("#node-data .values")?.textContent.includes("charged twice")`)
	p.Click("#tab-runs")
	p.Until(`document.querySelector("#flow-runs [data-replay]") !== null`)

	p.Do(chromedp.Reload())
	p.Until(`document.querySelector("#node-team")?.dataset.state === "succeeded" && document.querySelector(".run-bar") !== null`)
	webtest.Value[chromedp.Void](p, `window.before = document.querySelector(".run-bar").dataset.run; document.dispatchEvent(new KeyboardEvent("keydown", {key: "Enter", ctrlKey: true, bubbles: true}))`)
	p.Until(`document.querySelector(".run-bar") && document.querySelector(".run-bar").dataset.run !== window.before && document.querySelector(".run-bar").dataset.state === "succeeded"`)
	webtest.Value[chromedp.Void](p, `document.querySelector("#canvas").selection.set(["words"]); document.querySelector("#canvas").keys.focus("words"); document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {key: "p", bubbles: true}))`)
	p.Until(`document.querySelector("#node-words [data-pinned]") !== null`)
}

// TestRunInTheBuilder_explains_failure checks that a failed run shows its failed node with advice, and
// that text of a step appears in its node while it is produced.
func TestRunInTheBuilder_explains_failure(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t, func(c *handlers.Config) { c.Runner = &talking{Runner: c.Runner} })
	b := h.As(flow.MemberEditor)
	id, let := h.SlowFlow()
	p := b.Tab(webtest.Chromium(t), 1440, 900)
	p.Open("/flows/" + id)
	p.Until(`document.querySelector("#canvas[ready]") !== null`)
	webtest.Value[chromedp.Void](p, `document.querySelector("#run-button").click()`)
	p.Until(`document.querySelector("#node-get .result-text .caret") !== null && document.querySelector("#node-get .result-text").textContent.includes("Thanks for")`)
	p.Until(`document.querySelector("#node-get").dataset.state === "running" && document.querySelector(".run-bar [data-command=stop]") !== null`)
	let <- http.StatusTeapot
	p.Until(`document.querySelector("#node-get .result-error") !== null && document.querySelector(".run-bar").dataset.state === "failed"`)
	p.Until(`document.querySelector("#canvas").selection.nodes.has("get") && document.querySelector("#tab-result").ariaSelected === "true" && document.querySelector("#flow-result .note.bad") !== null && document.querySelector("#flow-result [data-jump=get]") !== null`)
	p.Until(`document.querySelector("#live").textContent.startsWith("Run failed")`)

	webtest.Value[chromedp.Void](p, `document.querySelector(".run-bar [data-command=rerun]").click()`)
	p.Until(`document.querySelector(".run-bar [data-command=stop]") !== null`)
	webtest.Value[chromedp.Void](p, `document.querySelector(".run-bar [data-command=stop]").click()`)
	p.Until(`document.querySelector(".run-bar").dataset.state === "canceled"`)
	webtest.Value[chromedp.Void](p, `document.querySelector(".run-bar [data-command=leave-run]").click()`)
	p.Until(`document.querySelector(".run-bar") === null && !document.querySelector("#node-get").dataset.state`)
}

func TestData_expands_large_value(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	b := h.As(flow.MemberEditor)
	id := h.Flow(`{"schema":"sluice.flow/v1","name":"Big","nodes":[{"id":"in","kind":"input","config":{"name":"in","type":"json"}},{"id":"out","kind":"output","config":{"name":"out"}}],"edges":[{"from":"in.value","to":"out.value"}]}`)
	run := h.RunDraft(b, id, url.Values{"filled": {"1"}, "in.in": {`{"deep":{"notes":"` + strings.Repeat("x", 9000) + `","word":"found"},"small":[1,[2]]}`}})
	p := b.Tab(webtest.Chromium(t), 1440, 900)
	p.Open("/flows/" + id + "?run=" + string(run.ID))
	p.Until(`document.querySelector("#node-out")?.dataset.state === "succeeded"`)
	webtest.Value[chromedp.Void](p, `document.querySelector("#canvas").selection.set(["out"]); document.querySelector("#drawer-fold").click(); document.querySelector("#tab-data").click()`)
	p.Until(`document.querySelector("#node-data .tree .later") !== null && !document.querySelector("#node-data").textContent.includes("found")`)
	webtest.Value[chromedp.Void](p, `document.querySelector("#node-data .tree details:has(> .later)").open = true`)
	p.Until(`document.querySelector("#node-data .tree").textContent.includes("found")`)
}

// talking is a runner whose steps produce text while they run.
type talking struct{ handlers.Runner }

func (r *talking) WatchText(runID flow.RunID) flow.Watch {
	w, texts, said := r.Runner.WatchText(runID), make(chan struct{}, 1), false
	texts <- struct{}{}
	w.Texts = texts
	w.Read = func(ready func(string, int) bool) []flow.Delta {
		if said || !ready("get", 1) {
			return nil
		}
		said = true
		return []flow.Delta{{Path: "get", Attempt: 1, Text: "Thanks for letting us know, and sorry about the double charge. I have asked our billing team to"}}
	}
	return w
}
