package views

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/a-h/templ"
)

func init() {
	sampleSets = append(sampleSets, func(theme Theme) map[string]templ.Component {
		return map[string]templ.Component{"values": within(Layout(page("Values", SectionRuns, theme)), templ.Raw("<h1>Values</h1>"), Values("Output", sampleValues()))}
	})
}

// sampleValues has one value of each shape.
func sampleValues() []ValueView {
	const more = "/flows/flow_1/data/write?run=run_1&side=output&port="
	value := func(name string, v any) ValueView { return ValueView{Name: name, Value: v, More: more + name} }
	vector := make([]any, 384)
	for i := range vector {
		vector[i] = json.Number(fmt.Sprint(float64(i) / 7))
	}
	many := make([]any, 70)
	for i := range many {
		many[i] = []any{json.Number(fmt.Sprint(i))}
	}
	return []ValueView{
		value("text", "Thanks for letting us know.\n\n<b>Not bold</b>, and sorry about the double charge."),
		value("long", strings.Repeat("A sentence that goes on. ", 200)),
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
