package editor_test

import (
	"net/url"
	"testing"

	"sluice/e2e/chrome"
	"sluice/flow"
	"sluice/handlers/webtest"
)

// conditionFlow decides about a review: a label and a score.
const conditionFlow = `{"schema": "sluice.flow/v1", "name": "Check reviews", "nodes": [
	{"id": "review", "kind": "input", "position": {"x": 0, "y": 0}, "config": {"name": "review", "type": "json", "example": {"label": "positive", "score": 0.4, "tags": ["a", "b"]}}},
	{"id": "check", "kind": "condition", "position": {"x": 300, "y": 0}, "config": {"expression": "value.label == \"negative\""}},
	{"id": "yes", "kind": "output", "position": {"x": 600, "y": 0}, "config": {"name": "yes"}},
	{"id": "no", "kind": "output", "position": {"x": 600, "y": 160}, "config": {"name": "no"}}],
	"edges": [{"from": "review.value", "to": "check.value"}, {"from": "check.true", "to": "yes.value"}, {"from": "check.false", "to": "no.value"}]}`

func TestConditionsInBrowser_edits_rows_and_expressions(t *testing.T) {
	t.Parallel()
	b := chrome.Start(t)
	row := func(n string) string { return webtest.Field("expression") + " .cond-row:nth-of-type(" + n + ") " }
	t.Run("writes rows as an expression and shows their result for the last run", func(t *testing.T) {
		w := webtest.OpenInspectorOf(t, b, conditionFlow)
		w.Choose("check")
		w.Has(webtest.Field("expression")+" .cond-said", "Run the flow once to see the result here.")
		w.RunDraft(w.As(flow.MemberEditor), w.ID, url.Values{"filled": {"1"}, "in.review": {`{"label": "positive", "score": 0.4, "tags": ["a", "b"]}`}})
		w.Type(row("1")+".cond-value", "positive")
		w.UntilConfig("check", "expression", `"value.label == \"positive\""`)
		w.Has(webtest.Field("expression")+" .cond-said", "Last run: true")
		w.Has(row("1")+".cond-saw", "positive")
		w.Click(webtest.Field("expression") + " .cond-add")
		w.Pick(row("2")+"[aria-label$=field]", "value.score")
		w.Pick(row("2")+"[aria-label$=comparison]", ">")
		w.Type(row("2")+".cond-value", "0.5")
		w.UntilConfig("check", "expression", `"value.label == \"positive\" && value.score > 0.5"`)
		w.Has(webtest.Field("expression")+" .cond-said b", "false")
		w.Has(webtest.Field("expression")+" .cond-said", "Row 2 is false.")
		w.Shot("conditions")
		w.Theme("dark")
		w.Shot("conditions-dark")
		w.Pick(webtest.Field("expression")+" select.cond-join", "||")
		w.UntilConfig("check", "expression", `"value.label == \"positive\" || value.score > 0.5"`)
		w.Has(webtest.Field("expression")+" .cond-said", "Row 1 is true.")
		w.Click(row("2") + `[title="Remove row"]`)
		w.UntilConfig("check", "expression", `"value.label == \"positive\""`)
		w.Eval(`document.querySelector("flow-canvas").history.undo()`)
		w.There(row("2"))
	})
	t.Run("shows other expressions as text, with a helpful error", func(t *testing.T) {
		w := webtest.OpenInspectorOf(t, b, conditionFlow)
		w.Choose("check")
		w.Click(webtest.Field("expression") + " [data-as=text]")
		w.Type("#set-expression", `value contains "positive"`)
		w.Has(webtest.Field("expression"), `Syntax error at "contains". Try value.contains("positive").`)
		w.There(webtest.Field("expression") + " [data-as=rows]:disabled")
		w.Shot("conditions-error")
		w.Type("#set-expression", `value.contains("it's")`)
		w.UntilConfig("check", "expression", `"value.contains(\"it's\")"`)
		w.Click(webtest.Field("expression") + " [data-as=rows]")
		w.Until(`document.querySelector(` + "`" + row("1") + ".cond-value`" + `).value === "it's"`)
	})
}
