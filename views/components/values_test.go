package components_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"sluice/views/components"
)

// render returns the HTML of a value.
func render(t *testing.T, v components.ValueView) string {
	t.Helper()
	var b strings.Builder
	if err := components.Value(v).Render(context.Background(), &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestValue_shows_or_links_everything checks that whatever a value does not show at first can be read
// on demand: in cells of a table, in its columns, and of a vector.
func TestValue_shows_or_links_everything(t *testing.T) {
	t.Parallel()
	const more = "/flows/flow_1/data/each?run=run_1&side=output&port=results"
	long := strings.Repeat("word ", 100) + "the end"
	rows := []any{map[string]any{"text": "short"}, map[string]any{"text": long, "note": "n"}}
	table := render(t, components.ValueView{Name: "results", Value: rows, More: more})
	if !strings.Contains(table, "at=%2F1%2Ftext") || !strings.Contains(table, "Show all") || strings.Contains(table, "the end") {
		t.Errorf("the cell has no link to its text: %s", table)
	}
	if table = render(t, components.ValueView{Name: "results", Value: rows}); !strings.Contains(table, "<summary>") || !strings.Contains(table, "the end") {
		t.Errorf("without a URL, the cell does not unfold: %s", table)
	}
	if text := render(t, components.ValueView{Value: long, More: more, At: "/1/text", All: true}); !strings.Contains(text, "the end") {
		t.Errorf("the text of the cell is %s", text)
	}

	var wide []any
	for i := range 60 { // a later item has another field
		wide = append(wide, map[string]any{"a": "1", "b": json.Number("2"), fmt.Sprint("c", i/50): "3"})
	}
	if html := render(t, components.ValueView{Value: wide, All: true}); !strings.Contains(html, `<th scope="col">c1</th>`) {
		t.Error("a column is missing")
	}
	for i := range wide {
		wide[i].(map[string]any)[fmt.Sprint("d", i)] = "4"
	}
	if html := render(t, components.ValueView{Value: wide, All: true}); strings.Contains(html, "<table") || !strings.Contains(html, "<b>d59</b>") {
		t.Error("items with too many fields for a table are not a tree")
	}

	numbers := make([]any, 40)
	for i := range numbers {
		numbers[i] = json.Number(fmt.Sprint(i))
	}
	if html := render(t, components.ValueView{Value: numbers, More: more}); !strings.Contains(html, "Show 24 more items") {
		t.Errorf("the rest of the vector has no link: %s", html)
	}
	if html := render(t, components.ValueView{Value: numbers, More: more, All: true}); !strings.Contains(html, "38, 39]") {
		t.Errorf("the vector ends early: %s", html)
	}
}
