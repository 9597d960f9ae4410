package cases_test

import (
	"testing"

	"sluice/e2e/chrome"
	"sluice/flow"
	"sluice/flow/cases"
	"sluice/handlers/webtest"
)

// TestCases_show_the_states_of_nodes_while_they_run starts a case whose step waits, looks at its node beside the list and on the canvas of the
// builder, lets the step end, and sees both follow without a reload.
func TestCases_show_the_states_of_nodes_while_they_run(t *testing.T) {
	h := webtest.Setup(t)
	id, release := h.SlowFlow()
	e := &env{h, id, h.As(flow.MemberEditor)}
	f, err := h.Store.FindFlow(t.Context(), flow.DefaultWorkspace, flow.FlowID(id))
	if err != nil {
		t.Fatal(err)
	}
	k := &cases.Case{ID: "slow", Inputs: &flow.Object{}, Checks: []cases.Check{{Kind: cases.Equals, Output: "o", Value: "done"}}}
	if _, err := h.Library.Tests.SetCase(t.Context(), flow.Actor{ID: "user"}, f, k); err != nil {
		t.Fatal(err)
	}
	b := chrome.Start(t)
	p := e.Open(b, flow.MemberEditor, e.path(""))
	p.Click("#case-slow a.row")
	p.Click(".case-open form .btn")
	p.There(".case-open .case-flow svg .running")
	p.Until(`document.querySelectorAll(".case-open .case-flow svg .box").length === 2`)
	p.There(".case-open .case-flow svg .edge.idle")
	p.There(".test-progress progress")
	p.Shot("cases-live")
	p.Theme("dark")
	p.Shot("cases-live-dark")
	p.Theme("light")
	p.Phone()
	p.Until(`document.documentElement.scrollWidth <= innerWidth`)
	p.Shot("cases-live-phone")
	p.Size(1440, 900)

	canvas := e.Open(b, flow.MemberEditor, "/flows/"+id)
	canvas.Go(chrome.Value[string](p, `document.querySelector('.case-open a[href*="?run="]').href`))
	canvas.There("flow-canvas[ready]")
	canvas.There("#node-get[data-state=running]")
	canvas.Has("#run-bar", "Running")
	canvas.Until(`!document.querySelector("#run-bar").textContent.includes("v0")`)
	canvas.Shot("case-on-canvas-live")
	canvas.Theme("dark")
	canvas.Shot("case-on-canvas-live-dark")
	canvas.Theme("light")

	release <- 200
	canvas.There("#node-get[data-state=succeeded]")
	canvas.There("#node-o[data-state=succeeded]")
	canvas.Has("#run-bar", "Succeeded")
	canvas.Shot("case-on-canvas")
	canvas.Phone()
	canvas.Until(`document.documentElement.scrollWidth <= innerWidth`)
	canvas.Shot("case-on-canvas-phone")
	p.There("#case-slow [data-state=passed]")
	p.Gone("#tests [id^=poll-]")
	p.There(".case-open .case-flow svg .succeeded")
	p.There(".case-open .case-flow svg .edge.carried")
}
