package editor_test

import (
	"testing"

	"sluice/e2e/chrome"
	"sluice/flow"
)

// TestInspector_shows_the_limits_of_an_agent side by side and in front, after its tools and before the other settings. What is
// typed there is saved; a limit with an edge is among the fields.
func TestInspector_shows_the_limits_of_an_agent(t *testing.T) {
	t.Parallel()
	a := newLiveAgent(t)
	p := a.Open(chrome.Start(t), flow.MemberEditor, "/flows/"+a.id)
	p.Until(`document.querySelector("#canvas[ready]") !== null`)
	p.Size(1440, 900)
	p.Eval(`document.querySelector("flow-canvas").selection.set(["agent"])`)
	p.Until(`document.querySelector(".ins[data-node=agent] .ins-limits") !== null`)
	const at = `((s) => document.querySelector(".ins " + s).getBoundingClientRect())`
	p.Until(`!document.querySelector(".ins [data-fold=more]").open`)
	p.Until(at + `("#set-max_turns").top === ` + at + `("#set-max_usd").top && ` + at + `("#set-max_usd").top === ` + at + `("#set-on_limit").top`)
	p.Until(at + `("[data-set=prompt]").bottom < ` + at + `("[data-key='port:tools']").top && ` + at + `("[data-key='port:tools']").bottom <= ` + at + `(".ins-limits").top && ` + at + `(".ins-limits").bottom <= ` + at + `("[data-fold=more]").top`)
	p.Until(`[...document.querySelectorAll(".ins-limits label")].map((l) => l.textContent).join() === "Turns,Dollars,At a limit" && document.querySelector("#set-max_turns").value === "12" && document.querySelector("#set-on_limit").selectedOptions[0].textContent === "Answer"`)
	p.Until(`[...document.querySelectorAll(".ins-limits :is(input:not([type=hidden]), select)")].every((c) => c.scrollWidth <= c.clientWidth)`)
	p.Shot("agent-limits-light")
	p.Theme("dark")
	p.Shot("agent-limits-dark")
	p.Theme("light")
	p.Type("#set-max_turns", "8")
	p.Type("#set-max_usd", "0.5")
	p.Eval(`((s) => { s.value = "fail"; s.dispatchEvent(new Event("change", { bubbles: true })); })(document.querySelector("#set-on_limit"))`)
	const config = `document.querySelector("flow-canvas").draft.nodes.get("agent").config`
	p.Until(config + `.max_turns === 8 && ` + config + `.max_usd === 0.5 && ` + config + `.on_limit === "fail"`)
	p.Until(at + `("#set-max_usd-help").width > 200`) // what is said has the whole width
	p.Type("#set-max_turns", "many")
	p.Until(`document.querySelector(".ins-limits [data-set=max_turns] .ins-unread")?.textContent.includes("is not a number") && ` + at + `(".ins-unread").width > 200`)
	p.Type("#set-max_turns", "8")
	p.Size(375, 800)
	p.Click("[data-line=agent]")
	p.Click("#outline [data-jump=agent]")
	p.Until(`document.querySelector(".ins-limits")?.checkVisibility()`)
	p.Eval(`document.querySelector(".ins-limits").scrollIntoView({ block: "center" })`)
	p.Until(at + `("#set-max_turns").top === ` + at + `("#set-on_limit").top`)
	p.Shot("agent-limits-375-light")
}
