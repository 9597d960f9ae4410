package editor_test

import (
	"net/url"
	"testing"

	"sluice/e2e/chrome"
	"sluice/flow"
	"sluice/handlers/webtest"
)

// switchFlow sends a review to one of two nodes.
const switchFlow = `{"schema": "sluice.flow/v1", "name": "Route reviews", "nodes": [
	{"id": "review", "kind": "input", "position": {"x": 0, "y": 0}, "config": {"name": "review", "type": "json", "example": {"label": "billing", "score": 0.4}}},
	{"id": "route", "kind": "switch", "position": {"x": 300, "y": 0}, "config": {"by": "expression", "cases": ["value.label == \"shipping\"", "value.score > 0.9"]}},
	{"id": "first", "kind": "output", "position": {"x": 600, "y": 0}, "config": {"name": "first"}},
	{"id": "second", "kind": "output", "position": {"x": 600, "y": 160}, "config": {"name": "second"}}],
	"edges": [{"from": "review.value", "to": "route.value"}, {"from": "route.case_1", "to": "first.value"}, {"from": "route.case_2", "to": "second.value"}]}`

func TestCasesInBrowser_are_named_rows_whose_edges_follow(t *testing.T) {
	t.Parallel()
	b := chrome.Start(t)
	row := func(n string) string { return webtest.Field("cases") + " .ins-case:nth-child(" + n + ") " }
	find := func(selector string) string {
		return "document.querySelector(" + string(flow.EncodeJSON(selector)) + ")"
	}
	const edges = `document.querySelector("flow-canvas").draft.edges.slice(1).map((e) => e.from + ">" + e.to).sort().join(" ")`
	t.Run("rows, names and edges", func(t *testing.T) {
		w := webtest.OpenInspectorOf(t, b, switchFlow)
		w.RunDraft(w.As(flow.MemberEditor), w.ID, url.Values{"filled": {"1"}, "in.review": {`{"label": "billing", "score": 0.4}`}})
		w.Choose("route")
		w.Until(find(row("1")+".cond-value") + `?.value === "shipping"`)
		w.Has(row("1")+".cond-said", "Last run: false")
		w.Type(row("1")+".cond-value", "billing")
		w.UntilConfig("route", "cases", `["value.label == \"billing\"","value.score > 0.9"]`)
		w.Has(row("1")+".cond-said", "Last run: true")

		// A name names the port, and the edge stays.
		w.Type(row("1")+"[data-case-name]", "About money")
		w.UntilConfig("route", "names", `["About money"]`)
		w.Until(edges + ` === "route.about_money>first.value route.case_2>second.value"`)
		w.There(`#node-route [data-port=about_money]`)
		w.Type(row("2")+"[data-case-name]", "Sure")
		w.Until(edges + ` === "route.about_money>first.value route.sure>second.value"`)
		w.Saved()
		w.Shot("cases")
		w.Theme("dark")
		w.Shot("cases-dark")

		// Rows of a case are joined, and one can be added.
		w.Click(row("2") + ".cond-add")
		w.Pick(row("2")+".cond-row:nth-of-type(2) [aria-label$=field]", "value.label")
		w.Pick(row("2")+".cond-row:nth-of-type(2) [aria-label$=comparison]", "startsWith")
		w.Type(row("2")+".cond-row:nth-of-type(2) .cond-value", "ship")
		w.UntilConfig("route", "cases", `["value.label == \"billing\"","value.score > 0.9 && value.label.startsWith(\"ship\")"]`)
		w.Click(row("3") + ".case-add")
		w.Until(`document.activeElement === ` + find(row("3")+"[data-case-name]"))
		w.Keys("Rest of them")
		w.Pick(row("3")+"[aria-label$=field]", "value.score")
		w.Pick(row("3")+"[aria-label$=comparison]", "<")
		w.Type(row("3")+".cond-value", "0.1")
		w.UntilConfig("route", "names", `["About money","Sure","Rest of them"]`)
		w.There(row("4") + ".case-add")

		// Moving and removing keep the other edges.
		w.Click(row("2") + `[data-row-do="up"]`)
		w.UntilConfig("route", "names", `["Sure","About money","Rest of them"]`)
		w.Until(edges + ` === "route.about_money>first.value route.sure>second.value"`)
		w.Click(row("1") + `[data-row-do="remove"]`)
		w.UntilConfig("route", "names", `["About money","Rest of them"]`)
		w.Until(edges + ` === "route.about_money>first.value"`)
		w.Eval(`document.querySelector("flow-canvas").history.undo()`)
		w.Until(edges + ` === "route.about_money>first.value route.sure>second.value"`)
		w.Until(`[...document.querySelectorAll("[data-case-name]")].map((n) => n.value).join() === "Sure,About money,Rest of them,"`)
		w.Saved()
		run := w.RunDraft(w.As(flow.MemberEditor), w.ID, url.Values{"filled": {"1"}, "in.review": {`{"label": "billing", "score": 0.4}`}})
		if _, taken := run.Outputs.Lookup("first"); !taken {
			t.Errorf("the run gave %s", flow.EncodeJSON(run.Outputs))
		}
	})
	t.Run("texts become conditions and texts again", func(t *testing.T) {
		w := webtest.OpenInspectorOf(t, b, `{"schema": "sluice.flow/v1", "name": "Route", "nodes": [
			{"id": "topic", "kind": "input", "position": {"x": 0, "y": 0}, "config": {"name": "topic"}},
			{"id": "route", "kind": "switch", "position": {"x": 300, "y": 0}, "config": {"cases": ["Billing", "Late parcel"]}},
			{"id": "late", "kind": "output", "position": {"x": 600, "y": 0}, "config": {"name": "late"}}],
			"edges": [{"from": "topic.value", "to": "route.value"}, {"from": "route.late_parcel", "to": "late.value"}]}`)
		w.Choose("route")
		w.Type(webtest.Field("cases")+" [data-row]:nth-child(2) input[name^=text]", "Lost parcel")
		w.Until(edges + ` === "route.lost_parcel>late.value"`)
		w.Pick("#set-by", "expression")
		w.UntilConfig("route", "cases", `["value == \"Billing\"","value == \"Lost parcel\""]`)
		w.UntilConfig("route", "names", `["Billing","Lost parcel"]`)
		w.Until(find(row("2")+".cond-value") + `?.value === "Lost parcel"`)
		w.Until(edges + ` === "route.lost_parcel>late.value"`)
		w.Pick("#set-by", "")
		w.UntilConfig("route", "cases", `["Billing","Lost parcel"]`)
		w.UntilConfig("route", "names", "null")
		w.Until(edges + ` === "route.lost_parcel>late.value"`)
		w.Saved()
	})
}
