package components_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"sluice/views/components"
	"sluice/views/layout"
	"sluice/views/viewtest"

	"github.com/a-h/templ"
)

func partsSamples(theme layout.Theme) map[string]templ.Component {
	return map[string]templ.Component{"parts": parts(viewtest.Page("Flows", layout.SectionFlows, theme)), "values": within(layout.Layout(viewtest.Page("Values", layout.SectionRuns, theme)), templ.Raw("<h1>Values</h1>"), components.Values("Output", sampleValues()))}
}

// parts shows the components that no page above uses yet.
func parts(p layout.Page) templ.Component {
	states := []templ.Component{}
	for _, s := range []string{"queued", "pending", "running", "retrying", "waiting", "succeeded", "delivered", "reused", "skipped", "failed", "canceled", "unheard of"} {
		states = append(states, components.State(s), templ.Raw(" "))
	}
	fields := []templ.Component{
		components.Input(components.Field{Name: "url", Label: "Address", Type: "url", Placeholder: "https://", Help: "Where the webhook goes.", Error: "The address has no host."}),
		components.TextArea(components.Field{Name: "prompt", Label: "Prompt", Value: "Answer in a {{tone}} tone:\n{{ticket}}", Optional: true, Mono: true}),
		components.Select(components.Field{Name: "role", Label: "Role", Value: "editor", Options: []components.Option{{Value: "owner", Label: "Owner"}, {Value: "editor", Label: "Editor"}, {Value: "viewer", Label: "Viewer"}}}),
		components.Checkbox(components.Field{Name: "test", Label: "Send a test first", Checked: true, Help: "It says that it is one."}),
	}
	buttons := []templ.Component{
		components.Press(components.Button{Label: "Run", Icon: "play", Look: components.LookPrimary, Busy: "Starting…"}), components.Press(components.Button{Label: "Rerun"}), components.Press(components.Button{Label: "Revoke", Look: components.LookDanger}),
		components.Press(components.Button{Label: "Cancel", Look: components.LookQuiet}), components.Press(components.Button{Label: "Small", Size: "small"}), components.Press(components.Button{Icon: "ellipsis", Title: "More", Look: components.LookQuiet, Type: "button"}),
		components.Press(components.Button{Label: "Publish", Disabled: true}), components.Press(components.Button{Label: "Open a dialog", Type: "button", Attrs: templ.Attributes{"commandfor": "ask", "command": "show-modal"}}),
	}
	return within(layout.Layout(p), templ.Raw("<h1>Parts</h1>"),
		components.Tabs("Pane", []components.Tab{{Label: "Node", Href: "?tab=node"}, {Label: "API", Href: "?tab=api", Current: true}, {Label: "Runs", Href: "?tab=runs", Count: "1,204"}}),
		components.Note(components.ToneBad, "“Write a reply” was refused by the provider after 3 tries.", "Everything before it is kept. A rerun from here pays for nothing twice."),
		components.Note(components.ToneWait, "Copy this key now.", "It is shown once and cannot be read again."),
		components.Note(components.ToneOK, "Published v4.", ""), components.Note(components.ToneNone, "The draft differs from v3.", "One input was added."),
		templ.Raw(`<div class="bar">`), templ.Join(states...), templ.Raw(`</div>`),
		templ.Raw(`<div class="bar">`), templ.Join(buttons...), templ.Raw(`</div>`),
		templ.Raw(`<form class="form card box narrow">`), templ.Join(fields...), templ.Raw(`</form>`),
		components.ShareBar(components.Share{Part: .82, Tone: components.ToneWait, Label: "Budget: $41 of $50"}),
		components.Code("request", "curl https://flows.example.com/v1/flow/flow_9/run \\\n  -H \"Authorization: Bearer $SLUICE_KEY\" \\\n  --json '{\"ticket\": \"I was charged twice\"}'"),
		components.TabPanels("call", "Language", []components.Panel{{Label: "cURL", Content: components.Code("cURL", "curl …")}, {Label: "Go", Content: components.Code("Go", "http.Post(…)")}, {Label: "Python", Content: components.Code("Python", "requests.post(…)")}}),
		components.Pagination(components.Pages{Path: "/runs", Before: "c_1", After: "c_2"}),
		within(components.Dialog("ask", "Roll this key?"), templ.Raw(`<p>The old key works for 24 hours more.</p><footer>`), components.Press(components.Button{Label: "Roll", Look: components.LookPrimary}), templ.Raw(`</footer>`)),
	)
}

// within puts children into a component that has a place for them.
func within(outer templ.Component, children ...templ.Component) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		return outer.Render(templ.WithChildren(ctx, templ.Join(children...)), w)
	})
}

// sampleValues has one value of each shape.
func sampleValues() []components.ValueView {
	const more = "/flows/flow_1/data/write?run=run_1&side=output&port="
	value := func(name string, v any) components.ValueView {
		return components.ValueView{Name: name, Value: v, More: more + name}
	}
	vector := make([]any, 384)
	for i := range vector {
		vector[i] = json.Number(fmt.Sprint(float64(i) / 7))
	}
	many := make([]any, 70)
	for i := range many {
		many[i] = []any{json.Number(fmt.Sprint(i))}
	}
	return []components.ValueView{
		value("text", "Thanks for letting us know.\n\n<b>Not bold</b>, and sorry about the double charge."),
		value("long", strings.Repeat("A sentence that continues. ", 200)),
		value("empty", ""), value("none", nil), value("sure", true), value("score", json.Number("0.8213")),
		value("scores", []any{map[string]any{"label": "billing", "score": json.Number("0.8213001")}, map[string]any{"label": "technical", "score": json.Number("0.21")}}),
		value("vector", vector), value("many", many),
		value("picture", map[string]any{"file": "file_1", "name": "invoice.png", "mime": "image/png", "size": json.Number("48213")}),
		value("voice", map[string]any{"file": "file_2", "name": "reply.mp3", "mime": "audio/mpeg", "size": json.Number("1048576")}),
		value("drawing", map[string]any{"file": "file_3", "name": "plan.svg", "mime": "image/svg+xml", "size": json.Number("900")}),
		value("object", map[string]any{
			"customer": map[string]any{"name": "Ada", "since": json.Number("2019")}, "tags": []any{"billing", "urgent"}, "open": false,
			"history": map[string]any{"notes": strings.Repeat("x", 9000), "more": map[string]any{"a": json.Number("1")}},
		}),
	}
}
