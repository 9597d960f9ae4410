package editor_test

import (
	"strings"
	"testing"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/input"

	"sluice/e2e/chrome"
	"sluice/flow"
	"sluice/handlers/webtest"
)

// addInput edits the draft as the canvas does.
const addInput = `document.querySelector("#canvas").commit("Add", [{op: "add", node: {id: "tone", kind: "input", position: {x: 0, y: 400}, config: {name: "tone", type: "text", default: "friendly"}}}])`

// TestAPIPane edits, publishes and calls a flow: the pane follows the draft,
// publishing clears the marks, a new key appears in the code samples, and a test
// request is shown as HTTP and on the canvas.
func TestAPIPane(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id := h.PublishedFlow(webtest.TicketRouting)
	p := h.As(flow.MemberEditor).Tab(chrome.StartAlone(t).Context(), 1440, 900)
	for _, name := range []string{"clipboard-read", "clipboard-write"} {
		webtest.Send(p, cdpbrowser.SetPermission, cdpbrowser.SetPermissionParams{Permission: &cdpbrowser.PermissionDescriptor{Name: name}, Setting: cdpbrowser.PermissionSettingGranted, Origin: h.Http.URL})
	}
	p.Builder("/flows/" + id)
	p.Until(`document.querySelector("#canvas[ready]") !== null`)

	// The tab's content is not requested while it is hidden.
	webtest.Value[bool](p, addInput+`, true`)
	p.Until(`document.querySelector("#save-state").dataset.state === "saved" && document.querySelector("#canvas").sync.rev > 0`)
	p.Want(`performance.getEntriesByType("resource").filter((e) => e.name.includes("/api")).length`, "0")
	p.Want(`document.querySelector("#flow-api a").getAttribute("href")`, `"/flows/`+id+`/api"`)
	webtest.Value[bool](p, `(canvas.keys.focus("ticket"), true)`)
	p.Press("A")
	p.Until(`document.querySelector("#tab-api").getAttribute("aria-selected") === "true"`)
	p.Until(`document.querySelector("#api-field-tone .tag")?.textContent === "in v2"`)
	p.Until(`document.querySelector("#api-state").textContent.includes("draft differs: 1 input added")`)

	// An edit while it is seen: focus and scroll stay where they are.
	push(p, "#api-lang-python")
	p.Until(`document.querySelector("#api-code").textContent.includes("import")`)
	webtest.Value[bool](p, `(() => { document.querySelector("#api-mode-stream").focus(); document.querySelector("#canvas").commit("Name", [{op: "set", node: "tone", field: "name", value: "voice"}]); return true; })()`)
	p.Until(`document.querySelector("#api-field-tone code")?.textContent === "voice"`)
	p.Want(`document.activeElement.id`, `"api-mode-stream"`)

	push(p, "#api-field-ticket a")
	p.Until(`document.querySelector("#canvas").chosen().join() === "ticket"`)
	p.Want(`document.querySelector("#tab-api").getAttribute("aria-selected")`, `"true"`)

	t.Run("is quick", func(t *testing.T) { timed(p, t) })

	h.Publish(id)
	h.Server.Editor.AnnounceLive(flow.FlowID(id), 2)
	p.Until(`document.querySelector("#api-state").textContent.includes("v2 live") && !document.querySelector("#api-fields .tag")`)
	p.Until(`document.querySelector("#api-code").textContent.includes("voice") || document.querySelector("#api-code").textContent.includes("ticket")`)

	// A key that was just made stands in the code, and is copied with it.
	push(p, "#api-lang-curl")
	p.Until(`document.querySelector("#api-code").textContent.includes("slu_YOUR_KEY")`)
	webtest.Value[bool](p, `(() => { const f = document.querySelector("#api-keys form"); f.noValidate = true; f.requestSubmit(); return true; })()`)
	p.Until(`document.querySelector("#flow-keys [data-new-key]") !== null`)
	p.Until(`document.querySelector("#api-code").textContent.includes(document.querySelector("[data-new-key]").textContent.trim())`)
	push(p, "[data-copy-from=api-code]")
	p.Until(`document.querySelector("[data-copy-from=api-code]").dataset.copied !== undefined`)
	if copied := webtest.Value[string](p, `navigator.clipboard.readText()`); !strings.Contains(copied, "/v1/flow/"+id+"/run") || strings.Contains(copied, "slu_YOUR_KEY") {
		t.Errorf("copied %q", copied)
	}
	push(p, "#api-lang-python")
	p.Until(`document.querySelector("#api-code").textContent.includes("import") && !document.querySelector("#api-code").textContent.includes("slu_YOUR_KEY")`)

	// Try it.
	push(p, "[data-command=try-api]")
	p.Until(`document.querySelector("#api-try details").open && document.activeElement.id === "try-ticket"`)
	webtest.Value[bool](p, `(document.querySelector("#api-try-form").requestSubmit(), true)`)
	p.Until(`document.querySelector("#api-exchange")?.textContent.includes("HTTP/1.1 200 OK")`)
	p.Until(`document.querySelector("#node-team").dataset.state === "succeeded" && document.querySelector(".run-bar").dataset.run === document.querySelector(".exchange").dataset.run`)

	// The tab is remembered, and the page comes with it.
	p.Builder("/flows/" + id)
	p.Want(`document.querySelector("#tab-api").getAttribute("aria-selected")`, `"true"`)
	p.Until(`document.querySelector("#canvas[ready]") !== null`)
	p.Want(`performance.getEntriesByType("resource").filter((e) => e.name.endsWith("/api")).length`, "0")
	p.Want(`document.querySelector("#api-state").checkVisibility()`, "true")

	// A command that goes to a part of it waits for it.
	p.Click("#tab-node")
	p.Builder("/flows/" + id)
	p.Until(`document.querySelector("#canvas[ready]") !== null`)
	p.Want(`document.querySelector("#tab-node").getAttribute("aria-selected")`, `"true"`)
	p.Press("Ctrl+K")
	p.Write("try the api")
	p.Press("Enter")
	p.Until(`document.querySelector("#api-try details")?.open && document.activeElement.id === "try-ticket"`)

	// A version published while the tab is hidden is shown when it opens.
	webtest.Value[bool](p, `(document.querySelector("#canvas").commit("Describe", [{op: "set", node: "tone", field: "description", value: "How it sounds."}]), true)`)
	p.Until(`document.querySelector("#api-state").textContent.includes("draft differs")`)
	p.Click("#tab-node")
	p.Builder("/flows/" + id)
	p.Until(`document.querySelector("#canvas[ready]") !== null`)
	p.Mouse(input.DispatchMouseEventTypeMouseMoved, p.Middle("#tab-api"))
	p.Until(`document.querySelector("#api-state")?.textContent.includes("draft differs")`)
	h.Publish(id)
	h.Server.Editor.AnnounceLive(flow.FlowID(id), 3)
	p.Click("#tab-api")
	p.Until(`document.querySelector("#api-state").textContent.includes("v3 live")`)
}
