package e2e

import (
	"fmt"
	"strings"
	"testing"

	"sluice/e2e/chrome"
)

// builderStates are what people open in the builder: what is done, and what is then visible.
var builderStates = []struct{ name, do, there string }{
	{"the run dialog", `document.getElementById("run-button").click()`, "#run-dialog[open] #run-form"},
	{"the menu of a node", `canvas.dispatchEvent(new CustomEvent("canvas:menu", { detail: { nodes: ["team"], edges: [], client: { x: 500, y: 300 } }, cancelable: true }))`, ".float-menu:popover-open"},
	{"the settings of a node", `canvas.selection.set(["team"])`, `#inspector [data-node="team"]`},
	{"several nodes", `canvas.selection.set(["team", "ticket"])`, "#selection-bar [data-several]"},
	{"the list of kinds", `canvas.palette()`, "#chooser[open]"},
	{"the shortcuts", `(canvas.keys.focus("team"), document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key: "?", shiftKey: true, bubbles: true })))`, "#shortcuts[open]"},
	{"the API pane", `document.getElementById("tab-api").click()`, "#api-snippets"},
	{"the last runs", `document.getElementById("tab-runs").click()`, "#flow-runs .run-list"},
	{"a result", `document.getElementById("tab-result").click()`, "#flow-result .result-output"},
	{"the problems", `document.getElementById("drawer-fold").click()`, "#drawer-problems"},
	{"the data of a node", `(canvas.selection.set(["team"]), document.getElementById("tab-data").click())`, "#tab-data[aria-selected=true]"},
	{"the outline", `document.getElementById("outline-toggle").click()`, `#outline [data-line="team"]`},
}

// onPhones opens the canvas and, for what is in it, the pane.
const onPhones = `document.querySelector("[data-command=show-canvas]").click(); document.querySelector(".builder").toggleAttribute("data-sheet", %t); `

// lookAtBuilder checks the states of the builder with axe, in both themes.
func (s *seeded) lookAtBuilder(t *testing.T, tab *chrome.Tab, axe string, phone bool) {
	t.Helper()
	look := func(name string) {
		for _, theme := range []string{"light", "dark"} {
			tab.Theme(theme)
			for _, f := range violations(tab, axe) {
				t.Errorf("%s in the %s theme, on a phone %t: %s", name, theme, phone, f)
			}
		}
		if chrome.Value[bool](tab, "document.documentElement.scrollWidth > innerWidth") {
			t.Errorf("%s is wider than the window, on a phone %t", name, phone)
		}
	}
	open := func(path, do, there string) {
		tab.Go(s.base() + path)
		tab.There("flow-canvas")
		tab.Until(`document.querySelector("flow-canvas[ready]") && document.getElementById("shortcuts")`) // loaded when the browser is idle
		if phone {
			do = fmt.Sprintf(onPhones, strings.Contains(there, "#inspector") || strings.HasPrefix(there, "#api") || strings.HasPrefix(there, "#flow-r")) + do
		}
		tab.Eval(do + "; undefined")
		tab.There(there)
	}
	for _, state := range builderStates {
		if phone && strings.HasPrefix(state.there, "#outline") {
			continue // what phones show first; pages of TestAccessible
		}
		open("/flows/"+s.flow+"?run="+s.run, state.do, state.there)
		look(state.name)
	}
	if s.asks == "" {
		s.asks = s.publish(documentOf("Ask a model", []object{input("q"), node("ask", "chat", object{"model": "openai/gpt-5-nano", "prompt": "Answer {{q}}"}), output("answer")}, "q.value > ask.q", "ask.text > out_answer.value"))
	}
	open("/flows/"+s.asks, `canvas.selection.set(["ask"])`, "#inspector #set-model")
	tab.Click("#set-model")
	tab.There(`.ins-options[aria-label="Models"] [role=option]`)
	look("the models")
	open("/flows/"+s.asks, `canvas.commit("Rename", [{ op: "set", node: "ask", field: "prompt", value: "Say {{q}}" }])`, "#publish-button a")
	tab.Click("#publish-button .btn")
	tab.There("#publish-dialog[open] form")
	look("the publish dialog")
}
