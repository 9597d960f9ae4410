package e2e

import (
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

// lookAtBuilder checks the states of the builder with axe, in both themes.
func (s *seeded) lookAtBuilder(t *testing.T, tab *chrome.Tab, axe string) {
	t.Helper()
	for _, state := range builderStates {
		tab.Go(s.base() + "/flows/" + s.flow + "?run=" + s.run)
		tab.There("flow-canvas[ready]")
		tab.Until(`document.getElementById("shortcuts") !== null`) // loaded when the browser is idle
		tab.Eval(state.do + "; undefined")
		tab.There(state.there)
		for _, theme := range []string{"light", "dark"} {
			tab.Theme(theme)
			for _, f := range violations(tab, axe) {
				t.Errorf("%s in the %s theme: %s", state.name, theme, f)
			}
		}
	}
}
