package editor_test

import (
	"testing"

	"sluice/flow"
	"sluice/handlers/webtest"
)

// asking asks whether a draft may be sent; the draft may be changed.
const asking = `{"schema":"sluice.flow/v1","name":"Ask first","nodes":[
 {"id":"ask","kind":"approval","config":{"title":"Send this?","values":["draft"],"editable":["draft"],"draft":"Dear Sam"}},
 {"id":"sent","kind":"output","config":{"name":"sent"}}],
 "edges":[{"from":"ask.draft","to":"sent.value"}]}`

func TestRunInTheBuilder_asks_for_approval_and_continues(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	b, id := h.As(flow.MemberEditor), h.Flow(asking)
	p := b.Tab(webtest.Chromium(t), 1440, 900)
	p.Open("/flows/" + id)
	p.Until(`document.querySelector("#canvas[ready]") !== null`)
	p.Click("#run-button")
	p.Until(`document.querySelector("#tab-result").ariaSelected === "true" && document.querySelector("#flow-result .approval-card.open h2")?.textContent === "Send this?"`)
	p.Until(`document.querySelector("#node-ask").dataset.state === "waiting" && document.querySelector("#node-ask .result-text")?.textContent === "Waiting"`)
	p.Until(`document.querySelector(".run-bar").dataset.state === "waiting"`)
	webtest.Value[any](p, `document.querySelector(".approval-card textarea").value = "Hello Sam"; document.querySelector(".approval-card [value=approved]").click(); null`)
	p.Until(`document.querySelector(".run-bar").dataset.state === "succeeded"`)
	p.Until(`document.querySelector("#flow-result .result-output")?.textContent.includes("Hello Sam")`)

	p.Click("#run-button")
	p.Until(`document.querySelector("#flow-result .approval-card.open [value=rejected]") !== null`)
	webtest.Value[any](p, `document.querySelector(".approval-card textarea[name=comment]").value = "Too short"; document.querySelector(".approval-card [value=rejected]").click(); null`)
	p.Until(`document.querySelector(".run-bar").dataset.state === "succeeded" && document.querySelector("#node-sent").dataset.state === "skipped"`)
}
