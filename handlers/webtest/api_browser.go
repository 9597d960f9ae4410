package webtest

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// paneEdits is how many edits the pane is timed with.
const paneEdits = 12

// Push clicks what may have to be scrolled to.
func (p *tab) Push(selector string) {
	p.t.Helper()
	Value[bool](p, fmt.Sprintf(`(document.querySelector(%q).click(), true)`, selector))
}

// Timed logs how long the pane takes to follow an acknowledged edit.
func (p *tab) Timed(t *testing.T) {
	t.Helper()
	for i := range paneEdits {
		want, _ := json.Marshal(strings.Repeat("x", i+1))
		Value[bool](p, `(performance.clearMeasures(), document.querySelector("#canvas").commit("Describe", [{op: "set", node: "tone", field: "description", value: `+string(want)+`}]), true)`)
		p.Until(`document.querySelector("#api-field-tone .about p")?.textContent === ` + string(want) + ` && performance.getEntriesByName("api:followed").length > 0`)
		Value[bool](p, `((window.followed ??= []).push(performance.getEntriesByName("api:followed").at(-1).duration), true)`)
	}
	took := Value[[]float64](p, `window.followed`)
	slices.Sort(took)
	at := func(q float64) float64 { return took[int(math.Ceil(q*float64(len(took))))-1] }
	t.Logf("from an acknowledged edit to the new pane: p50 %.0f ms, p95 %.0f ms", at(0.5), at(0.95))
}
