package pages

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/input"

	"sluice/flow"
)

// paneEdits is how many edits the pane is timed with.
const paneEdits = 12

// addInput is an edit of the draft by the canvas.
const addInput = `document.querySelector("#canvas").commit("Add", [{op: "add", node: {id: "tone", kind: "input", position: {x: 0, y: 400}, config: {name: "tone", type: "text", default: "friendly"}}}])`

// TestAPIPane goes the way of somebody who draws a flow and calls it: the pane
// follows the draft, publishing clears the marks, a new key stands in the code,
// and a request that is tried out shows as HTTP and on the canvas.
func TestAPIPane(t *testing.T) {
	t.Parallel()
	h := setup(t)
	id := h.live(ticketRouting)
	p := h.as(flow.MemberEditor).tab(chromium(t), 1440, 900)
	for _, name := range []string{"clipboard-read", "clipboard-write"} {
		send(p, cdpbrowser.SetPermission, cdpbrowser.SetPermissionParams{Permission: &cdpbrowser.PermissionDescriptor{Name: name}, Setting: cdpbrowser.PermissionSettingGranted, Origin: h.http.URL})
	}
	p.open("/flows/" + id)
	p.until(`document.querySelector("#canvas[ready]") !== null`)

	// What the tab shows is not asked for while nobody sees it.
	value[bool](p, addInput+`, true`)
	p.until(`document.querySelector("#save-state").dataset.state === "saved" && document.querySelector("#canvas").sync.rev > 0`)
	p.want(`performance.getEntriesByType("resource").filter((e) => e.name.includes("/api")).length`, "0")
	p.want(`document.querySelector("#flow-api a").getAttribute("href")`, `"/flows/`+id+`/api"`)
	p.press("A")
	p.until(`document.querySelector("#tab-api").getAttribute("aria-selected") === "true"`)
	p.until(`document.querySelector("#api-field-tone .tag")?.textContent === "in v2"`)
	p.until(`document.querySelector("#api-state").textContent.includes("draft differs: 1 input added")`)

	// An edit while it is seen: focus and scroll stay where they are.
	p.push("#api-lang-python")
	p.until(`document.querySelector("#api-code").textContent.includes("import")`)
	value[bool](p, `(() => { document.querySelector("#api-manner-stream").focus(); document.querySelector("#canvas").commit("Name", [{op: "set", node: "tone", field: "name", value: "voice"}]); return true; })()`)
	p.until(`document.querySelector("#api-field-tone code")?.textContent === "voice"`)
	p.want(`document.activeElement.id`, `"api-manner-stream"`)

	p.push("#api-field-ticket a")
	p.until(`document.querySelector("#canvas").chosen().join() === "ticket"`)
	p.want(`document.querySelector("#tab-api").getAttribute("aria-selected")`, `"true"`)

	t.Run("is quick", func(t *testing.T) { p.timed(t) })

	h.publish(id)
	h.server.announceLive(id, 2)
	p.until(`document.querySelector("#api-state").textContent.includes("v2 live") && !document.querySelector("#api-fields .tag")`)
	p.until(`document.querySelector("#api-code").textContent.includes("voice") || document.querySelector("#api-code").textContent.includes("ticket")`)

	// A key that was just made stands in the code, and is copied with it.
	p.push("#api-lang-curl")
	p.until(`document.querySelector("#api-code").textContent.includes("slu_YOUR_KEY")`)
	value[bool](p, `(() => { const f = document.querySelector("#api-keys form"); f.noValidate = true; f.requestSubmit(); return true; })()`)
	p.until(`document.querySelector("#flow-keys [data-new-key]") !== null`)
	p.until(`document.querySelector("#api-code").textContent.includes(document.querySelector("[data-new-key]").textContent.trim())`)
	p.push("[data-copy-from=api-code]")
	p.until(`document.querySelector("[data-copy-from=api-code]").dataset.copied !== undefined`)
	if copied := value[string](p, `navigator.clipboard.readText()`); !strings.Contains(copied, "/v1/flow/"+id+"/run") || strings.Contains(copied, "slu_YOUR_KEY") {
		t.Errorf("copied %q", copied)
	}
	p.push("#api-lang-python")
	p.until(`document.querySelector("#api-code").textContent.includes("import") && !document.querySelector("#api-code").textContent.includes("slu_YOUR_KEY")`)

	// Try it.
	p.push("[data-command=try-api]")
	p.until(`document.querySelector("#api-try details").open && document.activeElement.id === "try-ticket"`)
	value[bool](p, `(document.querySelector("#api-try-form").requestSubmit(), true)`)
	p.until(`document.querySelector("#api-exchange")?.textContent.includes("HTTP/1.1 200 OK")`)
	p.until(`document.querySelector("#node-team").dataset.state === "succeeded" && document.querySelector(".run-bar").dataset.run === document.querySelector(".exchange").dataset.run`)

	// The tab is remembered, and the page comes with it.
	p.open("/flows/" + id)
	p.want(`document.querySelector("#tab-api").getAttribute("aria-selected")`, `"true"`)
	p.until(`document.querySelector("#canvas[ready]") !== null`)
	p.want(`performance.getEntriesByType("resource").filter((e) => e.name.endsWith("/api")).length`, "0")
	p.want(`document.querySelector("#api-state").checkVisibility()`, "true")

	// A command that goes to a part of it waits for it.
	p.click("#tab-node")
	p.open("/flows/" + id)
	p.until(`document.querySelector("#canvas[ready]") !== null`)
	p.want(`document.querySelector("#tab-node").getAttribute("aria-selected")`, `"true"`)
	p.press("Ctrl+K")
	p.write("try the api")
	p.press("Enter")
	p.until(`document.querySelector("#api-try details")?.open && document.activeElement.id === "try-ticket"`)

	// What is published between a glance and a look is seen.
	value[bool](p, `(document.querySelector("#canvas").commit("Describe", [{op: "set", node: "tone", field: "description", value: "How it sounds."}]), true)`)
	p.until(`document.querySelector("#api-state").textContent.includes("draft differs")`)
	p.click("#tab-node")
	p.open("/flows/" + id)
	p.until(`document.querySelector("#canvas[ready]") !== null`)
	p.mouse(input.DispatchMouseEventTypeMouseMoved, p.middle("#tab-api"))
	p.until(`document.querySelector("#api-state")?.textContent.includes("draft differs")`)
	h.publish(id)
	h.server.announceLive(id, 3)
	p.click("#tab-api")
	p.until(`document.querySelector("#api-state").textContent.includes("v3 live")`)
}

// push clicks what may have to be scrolled to.
func (p *tab) push(selector string) {
	p.t.Helper()
	value[bool](p, fmt.Sprintf(`(document.querySelector(%q).click(), true)`, selector))
}

// timed logs how long the pane takes to follow an acknowledged edit.
func (p *tab) timed(t *testing.T) {
	t.Helper()
	for i := range paneEdits {
		want, _ := json.Marshal(strings.Repeat("x", i+1))
		value[bool](p, `(performance.clearMeasures(), document.querySelector("#canvas").commit("Describe", [{op: "set", node: "tone", field: "description", value: `+string(want)+`}]), true)`)
		p.until(`document.querySelector("#api-field-tone .about p")?.textContent === ` + string(want) + ` && performance.getEntriesByName("api:followed").length > 0`)
		value[bool](p, `((window.followed ??= []).push(performance.getEntriesByName("api:followed").at(-1).duration), true)`)
	}
	took := value[[]float64](p, `window.followed`)
	slices.Sort(took)
	at := func(q float64) float64 { return took[int(math.Ceil(q*float64(len(took))))-1] }
	t.Logf("from an acknowledged edit to the new pane: p50 %.0f ms, p95 %.0f ms", at(0.5), at(0.95))
}
