package contract_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"sluice/flow/contract"
	"sluice/flow/value"
)

func TestGist(t *testing.T) {
	t.Parallel()
	var deep any = "bottom"
	for range 60 {
		deep = map[string]any{"a": deep, "b": []any{deep, deep}}
	}
	for name, c := range map[string]struct {
		inputs map[string]any
		want   string
	}{
		"nothing":        {nil, ""},
		"one text":       {map[string]any{"ticket": "I was\n\tcharged  twice\x00."}, "I was charged twice."},
		"several":        {map[string]any{"ticket": "Help", "n": json.Number("3"), "urgent": true}, "n: 3 · ticket: Help · urgent: true"},
		"a file":         {map[string]any{"scan": map[string]any{"file": "file_1", "name": "bill.pdf", "mime": "application/pdf"}}, "bill.pdf"},
		"a list":         {map[string]any{"rows": []any{"a", nil, json.Number("1"), "b", "c"}}, "[a, null, 1, b, …]"},
		"an object":      {map[string]any{"order": map[string]any{"id": "7", "of": map[string]any{"name": "Ada", "at": map[string]any{"x": "y"}}}}, "{id: 7, of: {at: {…}, name: Ada}}"},
		"broken letters": {map[string]any{"t": "a\xffb"}, "ab"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := contract.Summary(value.FromMap(c.inputs)); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	long := contract.Summary(value.FromMap(map[string]any{"a": strings.Repeat("ä", 1<<20), "deep": deep}))
	if n := utf8.RuneCountInString(long); n != 140 || !strings.HasSuffix(long, "…") {
		t.Errorf("a long one has %d characters: %s", n, long)
	}
}
