package editor_test

import (
	"strings"
	"testing"

	"sluice/flow"
	"sluice/handlers/webtest"
)

// TestHeader_offers_the_next_step runs the example, publishes it and changes it: the header says
// what is live and what is not, and one button is the primary one.
func TestHeader_offers_the_next_step(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id := h.Flow(strings.Replace(webtest.PublishGreeting, `"name": "who"`, `"name": "who", "example": "Sam"`, 1))
	p := h.As(flow.MemberEditor).Tab(webtest.Chromium(t), 1440, 900).Builder("/flows/" + id)
	p.Want(`[...document.querySelectorAll(".builder-top .btn.primary")].map((b) => b.innerText.split("\n")[0].trim())`, `["Run"]`)
	p.Until(`document.querySelector("#tab-result").ariaSelected === "true" && document.querySelector(".result-none .btn")`)
	p.Click(".result-none .btn")
	p.Until(`document.querySelector("#run-bar [data-state=succeeded]") && document.querySelector("#publish-button .primary")`)
	p.Want(`[...document.querySelectorAll(".builder-top .btn.primary")].map((b) => b.innerText.trim())`, `["Publish v1"]`)
	p.Click("#publish-button a")
	p.Until(`document.querySelector("#publish-dialog[open] footer button")`)
	p.Click("#publish-dialog footer button")
	p.Until(`document.querySelector("#flow-state .ok")?.innerText.trim() === "v1 live" && document.querySelector("#publish-button :disabled")`)
	p.Press("Escape")
	p.Until(`!document.querySelector("dialog[open]")`)
	p.Click("#flow-state .ok") // opens what it says, in place
	p.Until(`document.querySelector("#flow-state [open] .state-sheet")?.checkVisibility() && location.pathname === "/flows/` + id + `"`)
	p.Click("#flow-state .ok")
	p.Until(`!document.querySelector("#flow-state [open]")`)
	webtest.Value[bool](p, `(canvas.commit("Rename", [{ op: "put", node: "say", member: "label", value: "Greet them" }]), true)`)
	p.Until(`document.querySelector("#flow-state .plain")?.innerText.trim() === "Draft · 1 change"`)
	p.Click("#flow-state .plain")
	p.Until(`document.querySelector("#flow-state [open] .state-sheet").innerText.includes("Greet them") && location.pathname === "/flows/` + id + `"`)
	p.Builder("/flows/" + h.Flow(strings.Replace(webtest.PublishGreeting, `"Greet"`, `"`+strings.Repeat("m", 110)+`"`, 1)))
	p.Want(`document.documentElement.scrollWidth <= innerWidth && document.getElementById("pane").getBoundingClientRect().right <= innerWidth && document.querySelector("#flow-menu summary").getBoundingClientRect().right <= innerWidth`, `true`)
}

// TestPane_remembers_a_tab_chosen_early chooses a tab before the scripts that load later are there.
func TestPane_remembers_a_tab_chosen_early(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id := h.Flow(webtest.SampleFlow)
	p := h.As(flow.MemberEditor).Tab(webtest.Chromium(t), 1440, 900).Builder("/flows/" + id)
	webtest.Value[bool](p, `(document.getElementById("tab-runs").click(), true)`)
	p.Until(`document.cookie.includes("pane=runs")`)
	p.Builder("/flows/" + id)
	p.Want(`document.getElementById("tab-runs").ariaSelected`, `"true"`)
}
