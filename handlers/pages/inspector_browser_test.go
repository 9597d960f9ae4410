package pages

import (
	"strings"
	"testing"

	"sluice/e2e/chrome"
	"sluice/flow"
)

const inspectorFlow = `{"schema": "sluice.flow/v1", "name": "Route a support ticket", "nodes": [
	{"id": "ticket", "kind": "input", "position": {"x": 0, "y": 0}, "config": {"name": "ticket", "example": "It is broken."}},
	{"id": "tone", "kind": "input", "position": {"x": 0, "y": 220}, "config": {"name": "tone", "default": "friendly"}},
	{"id": "team", "kind": "classify", "label": "Which team", "position": {"x": 300, "y": 0}, "config": {"labels": ["billing", "delivery"]}},
	{"id": "write", "kind": "chat", "label": "Write a reply", "position": {"x": 600, "y": 60}, "config": {"model": "openai/gpt-5-nano", "prompt": "Answer {{ticket}}"}},
	{"id": "draw", "kind": "hosted_model", "position": {"x": 300, "y": 300}, "config": {"model": "acme/old", "input.steps": 3}},
	{"id": "call", "kind": "http_request", "position": {"x": 600, "y": 400}, "config": {"url": "https://example.com/{{ticket}}", "headers": {"Accept": "*/*"}}},
	{"id": "reply", "kind": "output", "position": {"x": 900, "y": 60}, "config": {"name": "reply"}}],
	"edges": [{"from": "ticket.value", "to": "team.text"}, {"from": "ticket.value", "to": "write.ticket"}, {"from": "write.text", "to": "reply.value"}, {"from": "ticket.value", "to": "call.ticket"}]}`

// bench is the builder in a browser, with the house behind it.
type bench struct {
	*house
	*chrome.Tab
	id string
}

func openBench(t *testing.T, b *chrome.Browser) *bench {
	t.Helper()
	h := setup(t)
	h.server.Files = h.store
	w := &bench{house: h, id: h.flow(inspectorFlow)}
	email := h.person(flow.MemberEditor)
	w.Tab = b.Open(t, h.http.URL+"/sign-in?next=/flows/"+w.id)
	w.Type("[name=email]", email)
	w.Type("[name=password]", password)
	w.Click("main button.primary")
	w.Until(`document.querySelector("flow-canvas[ready]") !== null`)
	w.Has("#inspector h2", "Route a support ticket")
	return w
}

// choose selects a node and waits for its pane.
func (w *bench) choose(node string) {
	w.t.Helper()
	w.Eval(`document.querySelector("flow-canvas").selection.set(["` + node + `"])`)
	w.There(`#inspector .ins[data-node="` + node + `"]`)
}

func (w *bench) saved() {
	w.t.Helper()
	w.Until(`document.querySelector("flow-canvas").sync.waiting === 0`)
}

// until waits for a condition of the draft.
func (w *bench) until(node, field, want string) {
	w.t.Helper()
	w.Until(`JSON.stringify(document.querySelector("flow-canvas").draft.nodes.get("` + node + `").config["` + field + `"] ?? null) === ` + string(flow.EncodeJSON(want)))
	w.saved()
	if got := w.config(w.id, node, field); got != want {
		w.t.Errorf("%s of %s is %s on the server, want %s", field, node, got, want)
	}
}

func field(name string) string { return `#inspector [data-set="` + name + `"]` }

func TestInspectorInBrowser(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the longest of the scripts; what the server does for it is tested without a browser too")
	}
	b := chrome.Start(t)
	t.Run("what is typed is saved, and undone as one step", func(t *testing.T) {
		w := openBench(t, b)
		w.choose("write")
		w.Type("#set-temperature", "0.7")
		w.until("write", "temperature", "0.7")
		w.Type("#set-max_tokens", "200")
		w.until("write", "max_tokens", "200")
		w.Shot("inspector-chat")
		w.Eval(`document.querySelector("flow-canvas").history.undo()`)
		w.until("write", "max_tokens", "null")
		w.Until(`document.querySelector("#set-max_tokens").value === ""`)
		w.until("write", "temperature", "0.7")
		w.Type("#put-label", "Answer it")
		w.Has(`#node-write [data-title]`, "Answer it")
	})
	t.Run("what cannot be read is marked and kept", func(t *testing.T) {
		w := openBench(t, b)
		w.choose("write")
		w.Type("#set-temperature", "warm")
		w.Has(field("temperature")+" .ins-unread", "is not a number")
		w.Eval(`document.querySelector("#set-schema").focus()`)
		w.There(field("schema") + " .cm-editor.cm-focused")
		w.Keys("type: object") // no beginning of which is JSON: a half that is may be saved
		w.Has(field("schema")+" .ins-unread", "This is not JSON yet")
		w.saved()
		if got := w.config(w.id, "write", "schema"); got != "null" {
			t.Errorf("half of it was sent: %s", got)
		}
		w.Until(`document.querySelector("#set-temperature").value === "warm"`)
		w.Shot("inspector-unread")
	})
	t.Run("a name from the list connects its edge", func(t *testing.T) {
		w := openBench(t, b)
		w.choose("write")
		w.Eval(`document.querySelector("#set-prompt").focus()`)
		w.There(field("prompt") + " .cm-editor.cm-focused")
		w.Keys(" in a {{to")
		w.There(".cm-tooltip-autocomplete [aria-selected]")
		w.Shot("inspector-completion")
		w.Theme("dark")
		w.Shot("inspector-completion-dark")
		w.Click(".cm-tooltip-autocomplete li") // Enter would also come as a character of its own, which no keyboard does
		w.Until(`document.querySelector("flow-canvas").draft.hasEdge({ from: "tone.value", to: "write.tone" })`)
		w.saved()
		if got := w.config(w.id, "write", "prompt"); !strings.Contains(got, "{{tone}}") {
			t.Errorf("the prompt is %s", got)
		}
		w.Has(field("prompt")+" .ins-places", "tone")
		w.Eval(`document.querySelector("flow-canvas").history.undo()`)
		w.Until(`!document.querySelector("flow-canvas").draft.hasEdge({ from: "tone.value", to: "write.tone" })`)
		w.saved()
	})
	t.Run("an edge is cut where it arrives", func(t *testing.T) {
		w := openBench(t, b)
		w.choose("team")
		w.Has(field("text")+" .ins-fed", "ticket")
		w.Shot("inspector-fed")
		w.Theme("dark")
		w.Shot("inspector-fed-dark")
		w.Click(field("text") + " [name=disconnect]")
		w.Gone(field("text") + " .ins-fed")
		w.saved()
		if len(w.draft(w.id).Edges) != 3 {
			t.Errorf("the edges are %v", w.draft(w.id).Edges)
		}
	})
	t.Run("a model is chosen from a list", func(t *testing.T) {
		w := openBench(t, b)
		w.choose("write")
		w.Click(field("model") + " [data-models-open]")
		w.There(`[data-model="ollama/llama3.2"]`)
		w.Shot("inspector-models")
		w.Click(`[data-model="ollama/llama3.2"]`)
		w.until("write", "model", `"ollama/llama3.2"`)
		w.choose("draw")
		w.Type("#set-model", "acme/paint")
		w.Keys("\t")
		w.There(`[id="set-input.steps"]`)
		w.until("draw", "model", `"acme/paint"`)
		w.There(field("input.steps") + " [type=range]")
		w.Shot("inspector-hosted")
	})
	t.Run("a credential is made and chosen", func(t *testing.T) {
		w := openBench(t, b)
		w.choose("write")
		w.Click(`[data-fold="more"] > summary`)
		w.Click(field("credential") + " [data-new-credential]")
		w.There("#credential-dialog[open]")
		w.Type("#credential-name", "mine")
		w.Type("#credential-secret", "sk-very-secret")
		w.Shot("inspector-credential")
		w.Click("#credential-dialog .btn.primary")
		w.until("write", "credential", `{"credential":"mine"}`)
		if strings.Contains(chrome.Value[string](w.Tab, `document.documentElement.outerHTML`), "sk-very-secret") {
			t.Error("the secret stays in the page")
		}
	})
	t.Run("rows grow, move and go", func(t *testing.T) {
		w := openBench(t, b)
		w.choose("team")
		w.Type(field("labels")+" [data-row]:nth-child(3) .input", "legal")
		w.until("team", "labels", `["billing","delivery","legal"]`)
		w.Click(field("labels") + ` [data-row]:nth-child(3) [data-row-do="up"]`)
		w.until("team", "labels", `["billing","legal","delivery"]`)
		w.Click(field("labels") + ` [data-row]:nth-child(1) [data-row-do="remove"]`)
		w.until("team", "labels", `["legal","delivery"]`)
		w.choose("call")
		w.Click(`[data-fold="more"] > summary`)
		w.Theme("dark")
		w.Shot("inspector-http")
	})
	t.Run("a page of its own, for a phone too", func(t *testing.T) {
		w := openBench(t, b)
		w.Go(w.http.URL + node(w.id, "write"))
		w.Has("#inspector .ins-places", "ticket")
		w.Shot("inspector-page")
		w.Phone()
		w.Shot("inspector-phone")
		if wide := chrome.Value[bool](w.Tab, `document.documentElement.scrollWidth > innerWidth`); wide {
			t.Error("the page is wider than the phone")
		}
	})
	t.Run("several nodes, and none", func(t *testing.T) {
		w := openBench(t, b)
		w.Shot("inspector-none")
		w.Eval(`document.querySelector("flow-canvas").selection.set(["ticket", "team"])`)
		w.Has("#inspector h2", "2 nodes")
		w.Shot("inspector-several")
		w.Click(`#inspector [data-command="disable"]`)
		w.Until(`document.querySelector("flow-canvas").draft.nodes.get("team").disabled === true`)
		w.Eval(`document.querySelector("flow-canvas").selection.clear()`)
		w.Has("#inspector h2", "Route a support ticket")
		w.saved()
	})
}
