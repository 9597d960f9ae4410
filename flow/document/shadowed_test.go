package document_test

import (
	"strings"
	"testing"

	"sluice/flow/document"
	"sluice/flow/flowtest"
	"sluice/nodes"
)

// TestShadowedEdges_finds_edges_that_never_count finds edges whose value never counts, as an edge before them always has one.
func TestShadowedEdges_finds_edges_that_never_count(t *testing.T) {
	t.Parallel()
	kinds := nodes.New(nodes.Deps{})
	const branch = `b condition {"expression": "true"}
		t template {"template": "x {{i}}"}
		i.value -> b.value
		b.true -> t.i
		`
	for _, tt := range []struct{ name, lines, want string }{
		{"one edge", "i.value -> o.value", ""},
		{"a certain value first", branch + "i.value -> o.value\nt.text -> o.value", "t.text after i.value"},
		{"a branch first", branch + "t.text -> o.value\ni.value -> o.value", ""},
		{"both branches", branch + "t.text -> o.value\nb.false -> o.value", ""},
		{"both branches and more", branch + "t.text -> o.value\nb.false -> o.value\ni.value -> o.value", "i.value after b.false"},
		{"an approval after its source", "a approval {\"values\": [\"v\"]}\ni.value -> a.v\ni.value -> o.value\na.v -> o.value", "a.v after i.value"},
	} {
		d, problems := document.ParseDocument(flowtest.Document("i input {\"name\": \"i\"}\no output {\"name\": \"out\"}\n" + tt.lines))
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		var got []string
		for _, s := range document.ShadowedEdges(d, kinds) {
			got = append(got, s.Edge.From+" after "+s.By.From)
		}
		if list := strings.Join(got, ", "); list != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, list, tt.want)
		}
	}
}
