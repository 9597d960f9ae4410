package expression

import (
	"encoding/json"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// exampleRow is a row of a table in docs/expressions.md: expression, value and
// result. A | within a cell is escaped.
var exampleRow = regexp.MustCompile("(?m)^\\| `((?:\\\\\\||[^|`])+)` \\| `([^`]+)` \\| `(true|false)` \\|$")

// TestExamples evaluates every example of the documentation.
func TestExamples(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/expressions.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := exampleRow.FindAllStringSubmatch(string(page), -1)
	if lines := strings.Count(string(page), "\n| `"); len(rows) != lines || lines < 20 {
		t.Fatalf("%d of %d rows can be read", len(rows), lines)
	}
	for _, row := range rows {
		source := strings.ReplaceAll(row[1], `\|`, "|")
		t.Run(source, func(t *testing.T) {
			t.Parallel()
			e, err := Compile(source)
			if err == nil {
				err = e.CheckBoolean()
			}
			if err != nil {
				t.Fatal(err)
			}
			var value any
			d := json.NewDecoder(strings.NewReader(row[2]))
			d.UseNumber()
			if err := d.Decode(&value); err != nil {
				t.Fatal(err)
			}
			got, err := e.Test(t.Context(), value)
			if want, _ := strconv.ParseBool(row[3]); err != nil || got != want {
				t.Errorf("for %s: %v, %v; the page says %s", row[2], got, err, row[3])
			}
		})
	}
}
