package pages

import (
	"net/url"
	"testing"

	"sluice/flow"
)

// TestFormer_hearsNothing looks at what a run ran while another person goes on
// with the draft.
func TestFormer_hearsNothing(t *testing.T) {
	t.Parallel()
	h := setup(t)
	ada, lin := h.as(flow.MemberEditor), h.as(flow.MemberOwner)
	id := h.flow(routing)
	run := h.ran(ada, id, url.Values{"filled": {"1"}, "until": {"hello"}, "in.ticket": {"there"}})
	h.publish(id)
	b := chromium(t)
	draft := lin.tab(b, 1200, 800).builder("/flows/" + id)
	rename := func(to string) {
		value[bool](draft, `(canvas.commit("Rename", [{ op: "put", node: "hello", member: "label", value: "`+to+`" }]), true)`)
		draft.saved()
	}
	value[bool](draft, `(canvas.commit("Set", [{ op: "set", node: "hello", field: "template", value: "Bye {{ticket}}" }]), true)`)
	rename("Greet")
	for _, query := range []string{"?run=" + run.ID, "?version=1"} {
		p := ada.tab(b, 1200, 800).builder("/flows/" + id + query)
		p.want(`canvas.readonly && !canvas.hasAttribute("ops")`, `true`)
		was := value[string](p, `document.querySelector("#node-hello [data-title]").textContent`)
		rename("Greet " + query[1:4])
		value[bool](p, `(document.dispatchEvent(new CustomEvent("flow:ops", { detail: { rev: canvas.sync.rev + 1, ops: [{ op: "remove", nodes: ["hello"] }] } })), canvas.selection.set(["hello"]), true)`)
		p.until(`document.querySelector("#inspector [data-node='hello']")`)
		p.want(`document.querySelector("#node-hello [data-title]").textContent === "`+was+`" && !document.querySelector("#inspector").textContent.includes("Greet") && document.querySelector("#inspector [data-readonly]") !== null`, `true`)
		if was == "Greet" {
			t.Errorf("%s shows the draft", query)
		}
		if others := h.server.editing.others(id, ""); len(others) != 1 {
			t.Errorf("%s hears of the draft: %v", query, others)
		}
	}
}
