package editor_test

import (
	"net/url"
	"testing"

	"sluice/flow"
	"sluice/handlers/webtest"
)

// TestReplay_ignores_edits_of_draft opens the document of a run while another user edits the
// draft.
func TestReplay_ignores_edits_of_draft(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	ada, lin := h.As(flow.MemberEditor), h.As(flow.MemberOwner)
	id := h.Flow(webtest.Routing)
	run := h.RunDraft(ada, id, url.Values{"filled": {"1"}, "until": {"hello"}, "in.ticket": {"there"}})
	h.Publish(id)
	b := webtest.Chromium(t)
	draft := lin.Tab(b, 1200, 800).Builder("/flows/" + id)
	rename := func(to string) {
		webtest.Value[bool](draft, `(canvas.commit("Rename", [{ op: "put", node: "hello", member: "label", value: "`+to+`" }]), true)`)
		draft.Saved()
	}
	webtest.Value[bool](draft, `(canvas.commit("Set", [{ op: "set", node: "hello", field: "template", value: "Bye {{ticket}}" }]), true)`)
	rename("Greet")
	for _, query := range []string{"?run=" + string(run.ID), "?version=1"} {
		p := ada.Tab(b, 1200, 800).Builder("/flows/" + id + query)
		p.Want(`canvas.readonly && !canvas.hasAttribute("ops")`, `true`)
		p.Want(`document.querySelector("#publish-button .btn, .builder-top .btn.primary")`, `null`) // the draft is published elsewhere
		was := webtest.Value[string](p, `document.querySelector("#node-hello [data-title]").textContent`)
		rename("Greet " + query[1:4])
		webtest.Value[bool](p, `(document.dispatchEvent(new CustomEvent("flow:ops", { detail: { rev: canvas.sync.rev + 1, ops: [{ op: "remove", nodes: ["hello"] }] } })), canvas.selection.set(["hello"]), true)`)
		p.Until(`document.querySelector("#inspector [data-node='hello']")`)
		p.Want(`document.querySelector("#node-hello [data-title]").textContent === "`+was+`" && !document.querySelector("#inspector").textContent.includes("Greet") && document.querySelector("#inspector [data-readonly]") !== null`, `true`)
		if was == "Greet" {
			t.Errorf("%s shows the draft", query)
		}
		if others := h.Server.Editor.Others(flow.FlowID(id), ""); len(others) != 1 {
			t.Errorf("%s hears of the draft: %v", query, others)
		}
	}
}
