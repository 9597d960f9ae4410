package console_test

import (
	"net/http"
	"testing"

	"sluice/e2e/chrome"
	"sluice/flow"
	"sluice/handlers/webtest"
)

// TestFind finds flows, nodes, runs and documentation for the command palette.
func TestFind(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id := h.Flow(`{"schema": "sluice.flow/v1", "name": "Route a ticket", "description": "For the help desk.", "nodes": [{"id": "team", "kind": "classify", "label": "Which team?", "config": {"text": "x", "labels": ["a", "b"]}}]}`)
	b := h.As(flow.MemberViewer)
	b.Get("/find?q=route").Is(http.StatusOK).Has(`"heading":"Flows"`, `"href":"/flows/`+id+`"`)
	b.Get("/find?q=which+team").Is(http.StatusOK).Has(`"title":"Which team?"`, `"note":"Classify in Route a ticket"`, `"href":"/flows/`+id+`?node=team"`)
	b.Get("/find?q=desk+help").Is(http.StatusOK).Has(`"title":"Route a ticket"`)
	b.Get("/find?q=idempotency").Is(http.StatusOK).Has(`"heading":"Docs"`, `"href":"/docs/`)
	// Sections that only mention a word, such as in a sample, do not fill the list.
	b.Get("/find?q=refund").Is(http.StatusOK).Has(`"title":"Search the docs for “refund”"`, `"href":"/docs?q=refund"`).Lacks(`"href":"/docs/`)
	b.Get("/find?q=qqqzzzqq").Is(http.StatusOK).Has(`"items":[]`)
	b.Get("/find?q=run_01jd6v0q8zzzzzzzzzzzzzzzzz").Is(http.StatusOK).Lacks(`"heading":"Runs"`)
	b.Get("/find").Is(http.StatusOK).Has(`"items":[]`)
	h.Anonymous().Get("/find?q=route").RedirectsTo("/sign-in?next=%2Ffind%3Fq%3Droute")
}

// TestFindInABrowser opens the command palette with Ctrl+K and goes to a node.
func TestFindInABrowser(t *testing.T) {
	h := webtest.Setup(t)
	id := h.Flow(`{"schema": "sluice.flow/v1", "name": "Route a ticket", "nodes": [{"id": "team", "kind": "classify", "label": "Which team?", "config": {"text": "x", "labels": ["a", "b"]}}]}`)
	p := h.Open(chrome.Start(t), flow.MemberEditor, "/keys")
	p.Until(`document.readyState === "complete"`)
	p.Eval(`document.dispatchEvent(new KeyboardEvent("keydown", {key: "k", ctrlKey: true, bubbles: true, cancelable: true}))`)
	p.Until(`document.getElementById("chooser")?.open && document.activeElement.matches(".chooser-field")`)
	p.Keys("models")
	p.Until(`document.querySelector("#chooser [aria-selected=true]")?.textContent.includes("Models")`)
	p.Eval(`document.querySelector(".chooser-field").select()`)
	p.Keys("refund") // sections of the documentation that only mention it do not fill the list
	p.Until(`[...document.querySelectorAll("#chooser [role=option]")].map((o) => o.textContent).filter((text) => text.includes("refund")).join().includes("Search the docs for “refund”")`)
	p.Until(`document.querySelectorAll("#chooser [role=option]").length === 1`)
	p.Eval(`document.querySelector(".chooser-field").select()`)
	p.Keys("which team")
	p.Until(`[...document.querySelectorAll("#chooser [role=option]")].some((o) => o.textContent.includes("Classify in Route a ticket"))`)
	p.Shot("find")
	p.Keys("\r")
	p.Until(`location.pathname === "/flows/` + id + `"`)
	p.There("#inspector [data-node=team]")
}
