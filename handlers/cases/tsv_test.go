package cases

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"sluice/flow/value"
)

func TestTables_are_read_and_written_as_in_the_browser(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../testdata/tsv.json")
	if err != nil {
		t.Fatal(err)
	}
	type vector struct {
		Text string
		Rows [][]string
	}
	var vectors struct {
		Cases, Written []vector
		Copied         []struct{ Cell, Safe string }
	}
	if err := json.Unmarshal(data, &vectors); err != nil || len(vectors.Cases) == 0 || len(vectors.Written) == 0 {
		t.Fatal(err, vectors)
	}
	same := func(a, b [][]string) bool { return slices.EqualFunc(a, b, slices.Equal) }
	for _, v := range slices.Concat(vectors.Cases, vectors.Written) {
		if got := readTable(v.Text); !same(got, v.Rows) {
			t.Errorf("%q: %q, wanted %q", v.Text, got, v.Rows)
		}
	}
	for _, v := range vectors.Copied {
		if got := value.SafeCell(v.Cell); got != v.Safe {
			t.Errorf("%q: %q, wanted %q", v.Cell, got, v.Safe)
		}
	}
	for _, v := range vectors.Written {
		if got := writeTable(v.Rows); got != v.Text {
			t.Errorf("%q: %q, wanted %q", v.Rows, got, v.Text)
		}
	}
}
