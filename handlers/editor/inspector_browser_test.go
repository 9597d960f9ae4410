package editor_test

import (
	"strings"
	"testing"

	"sluice/e2e/chrome"
	"sluice/handlers/webtest"
)

func TestInspectorInBrowser(t *testing.T) {
	t.Parallel()
	b := chrome.Start(t)
	t.Run("saves typed text and undoes it as one step", func(t *testing.T) {
		w := webtest.OpenInspector(t, b)
		w.Choose("write")
		w.Type("#set-temperature", "0.7")
		w.UntilConfig("write", "temperature", "0.7")
		w.Type("#set-max_tokens", "200")
		w.UntilConfig("write", "max_tokens", "200")
		w.Shot("inspector-chat")
		w.Eval(`document.querySelector("flow-canvas").history.undo()`)
		w.UntilConfig("write", "max_tokens", "null")
		w.Until(`document.querySelector("#set-max_tokens").value === ""`)
		w.UntilConfig("write", "temperature", "0.7")
		w.Type("#put-label", "Answer it")
		w.Has(`#node-write [data-title]`, "Answer it")
	})
	t.Run("marks and keeps invalid values", func(t *testing.T) {
		w := webtest.OpenInspector(t, b)
		w.Choose("write")
		w.Type("#set-temperature", "warm")
		w.Has(webtest.Field("temperature")+" .ins-unread", "is not a number")
		w.Eval(`document.querySelector("#set-schema").focus()`)
		w.There(webtest.Field("schema") + " .cm-editor.cm-focused")
		w.Keys("type: object") // none of its prefixes is valid JSON, so nothing is saved while typing
		w.Has(webtest.Field("schema")+" .ins-unread", "Invalid JSON")
		w.Saved()
		if got := w.Config(w.ID, "write", "schema"); got != "null" {
			t.Errorf("half of it was sent: %s", got)
		}
		w.Until(`document.querySelector("#set-temperature").value === "warm"`)
		w.Shot("inspector-unread")
	})
	t.Run("connects a completed name", func(t *testing.T) {
		w := webtest.OpenInspector(t, b)
		w.Choose("write")
		w.Eval(`document.querySelector("#set-prompt").focus()`)
		w.There(webtest.Field("prompt") + " .cm-editor.cm-focused")
		w.Keys(" in a {{to")
		w.There(".cm-tooltip-autocomplete [aria-selected]")
		w.Shot("inspector-completion")
		w.Theme("dark")
		w.Shot("inspector-completion-dark")
		w.Click(".cm-tooltip-autocomplete li") // Enter would also come as a character of its own, which no keyboard does
		w.Until(`document.querySelector("flow-canvas").draft.hasEdge({ from: "tone.value", to: "write.tone" })`)
		w.Saved()
		if got := w.Config(w.ID, "write", "prompt"); !strings.Contains(got, "{{tone}}") {
			t.Errorf("the prompt is %s", got)
		}
		w.Has(webtest.Field("prompt")+" .ins-places", "tone")
		w.Eval(`document.querySelector("flow-canvas").history.undo()`)
		w.Until(`!document.querySelector("flow-canvas").draft.hasEdge({ from: "tone.value", to: "write.tone" })`)
		w.Saved()
	})
	t.Run("removes an edge at its input", func(t *testing.T) {
		w := webtest.OpenInspector(t, b)
		w.Choose("team")
		w.Has(webtest.Field("text")+" .ins-fed", "ticket")
		w.Shot("inspector-fed")
		w.Theme("dark")
		w.Shot("inspector-fed-dark")
		w.Click(webtest.Field("text") + " [name=disconnect]")
		w.Gone(webtest.Field("text") + " .ins-fed")
		w.Saved()
		if len(w.Draft(w.ID).Edges) != 3 {
			t.Errorf("the edges are %v", w.Draft(w.ID).Edges)
		}
	})
	t.Run("moves to the next row on Enter", func(t *testing.T) {
		w := webtest.OpenInspector(t, b)
		w.Choose("team")
		w.Click(webtest.Field("labels") + " [data-row]:last-child input:not([type=hidden])")
		w.Keys("returns\raccount\r")
		w.UntilConfig("team", "labels", `["billing","delivery","returns","account"]`)
	})
	t.Run("chooses a model from the list", func(t *testing.T) {
		w := webtest.OpenInspector(t, b)
		w.Choose("write")
		w.Click("#set-model")
		w.There(`[data-model="ollama/llama3.2"]`)
		w.Shot("inspector-models")
		w.Click(`[data-model="ollama/llama3.2"]`)
		w.UntilConfig("write", "model", `"ollama/llama3.2"`)
		w.Choose("draw")
		w.Type("#set-model", "acme/paint")
		w.Keys("\t")
		w.There(`[id="set-input.steps"]`)
		w.UntilConfig("draw", "model", `"acme/paint"`)
		w.There(webtest.Field("input.steps") + " [type=range]")
		w.Shot("inspector-hosted")
	})
	t.Run("connects a provider in the list of models", func(t *testing.T) {
		w := webtest.OpenInspector(t, b)
		w.Choose("write")
		w.Allow("422")
		w.Click(webtest.Field("model") + " [data-models-open]")
		w.Click(".ins-connect summary")
		w.Until(`document.activeElement?.id === "connect-mistral"`)
		w.Type("#connect-mistral", "sk-wrong")
		w.Keys("\r")
		w.Has("[data-connect-error]", "OpenAI refuses the credential.")
		w.Shot("inspector-connect")
		w.Eval(`document.getElementById("connect-mistral").value = ""`)
		w.Type("#connect-mistral", "sk-right")
		w.Keys("\r")
		w.Has("#toasts", "Saved as “mistral”")
		w.Until(`document.activeElement?.id === "set-model" && document.querySelector('[data-model="mistral/known"]')?.checkVisibility()`)
		if chrome.Value[bool](w.Tab, `document.documentElement.outerHTML.includes("sk-right")`) {
			t.Error("the key is still on the page")
		}
		w.Click(`[data-models-filter="Vision"]`)
		w.Until(`document.querySelectorAll("[data-model]:not([data-unfit])").length === 1 && document.activeElement?.id === "set-model"`)
		w.Click(`[data-models-filter="Under $1"]`)
		w.Until(`document.querySelectorAll("[data-model]:not([data-unfit])").length === 0`)
		w.Click(`[data-models-filter="Under $1"]`)
		w.Shot("inspector-filter")
		w.Click(`[data-model="mistral/known"]`)
		w.UntilConfig("write", "model", `"mistral/known"`)
	})
	t.Run("creates and chooses a credential", func(t *testing.T) {
		w := webtest.OpenInspector(t, b)
		w.Choose("write")
		w.Click(webtest.Field("credential") + " [data-new-credential]")
		w.There("#credential-dialog[open]")
		w.Type("#credential-name", "mine")
		w.Type("#credential-secret", "sk-very-secret")
		w.Shot("inspector-credential")
		w.Click("#credential-dialog .btn.primary")
		w.UntilConfig("write", "credential", `{"credential":"mine"}`)
		if strings.Contains(chrome.Value[string](w.Tab, `document.documentElement.outerHTML`), "sk-very-secret") {
			t.Error("the secret stays in the page")
		}
	})
	t.Run("adds, moves and removes rows", func(t *testing.T) {
		w := webtest.OpenInspector(t, b)
		w.Choose("team")
		w.Type(webtest.Field("labels")+" [data-row]:nth-child(3) .input", "legal")
		w.UntilConfig("team", "labels", `["billing","delivery","legal"]`)
		w.Click(webtest.Field("labels") + ` [data-row]:nth-child(3) [data-row-do="up"]`)
		w.UntilConfig("team", "labels", `["billing","legal","delivery"]`)
		w.Click(webtest.Field("labels") + ` [data-row]:nth-child(1) [data-row-do="remove"]`)
		w.UntilConfig("team", "labels", `["legal","delivery"]`)
		w.Choose("call")
		w.Theme("dark")
		w.Shot("inspector-http")
	})
	t.Run("has a separate page, also on a phone", func(t *testing.T) {
		w := webtest.OpenInspector(t, b)
		w.Go(w.Http.URL + node(w.ID, "write"))
		w.Has("#inspector .ins-places", "ticket")
		w.Shot("inspector-page")
		w.Phone()
		w.Shot("inspector-phone")
		if wide := chrome.Value[bool](w.Tab, `document.documentElement.scrollWidth > innerWidth`); wide {
			t.Error("the page is wider than the phone")
		}
	})
	t.Run("shows several selected nodes, and none", func(t *testing.T) {
		w := webtest.OpenInspector(t, b)
		w.Shot("inspector-none")
		w.Eval(`document.querySelector("flow-canvas").selection.set(["ticket", "team"])`)
		w.Has("#inspector h2", "2 nodes")
		w.Shot("inspector-several")
		w.Click(`#inspector [data-command="disable"]`)
		w.Until(`document.querySelector("flow-canvas").draft.nodes.get("team").disabled === true`)
		w.Eval(`document.querySelector("flow-canvas").selection.clear()`)
		w.Has("#inspector h2", "Route a support ticket")
		w.Saved()
	})
}
