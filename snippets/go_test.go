package snippets

import (
	"encoding/json"
	"go/format"
	"math/rand/v2"
	"strings"
	"testing"

	"sluice/flow/contract"
	"sluice/flow/document"
)

// TestRender_formats_Go_like_gofmt compares snippets with the output of gofmt.
func TestRender_formats_Go_like_gofmt(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(5, 6))
	for i := range 1000 {
		c := ticket()
		if i%2 == 0 {
			c = photo()
		}
		for range random.IntN(8) {
			value := map[string]any{}
			for range random.IntN(5) {
				value[keyOfAnyLength(random)] = anyValue(random, 3)
			}
			c.Inputs = append(c.Inputs, Input{Name: keyOfAnyLength(random), Value: anyValue(random, 4)}, Input{Name: keyOfAnyLength(random), Value: value},
				Input{Name: keyOfAnyLength(random), Value: []json.Number{"1E+5", "-0", "1e400", "0.10"}[random.IntN(4)]})
		}
		code, err := Render("go", Modes()[i%len(Modes())], c)
		if err != nil {
			t.Fatal(err)
		}
		want, err := format.Source([]byte(code))
		if err != nil {
			t.Fatalf("%v in\n%s", err, code)
		}
		if code != string(want) {
			got, formatted := strings.Split(code, "\n"), strings.Split(string(want), "\n")
			for i := range min(len(got), len(formatted)) {
				if got[i] != formatted[i] {
					t.Fatalf("line %d is %q, gofmt writes %q, in\n%s", i+1, got[i], formatted[i], want)
				}
			}
			t.Fatalf("not formatted:\n%s", code)
		}
	}
}

// keyOfAnyLength returns a short key, or one that is long enough to end a column.
func keyOfAnyLength(r *rand.Rand) string {
	return strings.Repeat("k", []int{0, 3, 20, 45, 120}[r.IntN(5)]) + anyText(r)
}

// TestGoOutputs checks that outputs become a struct only if each name can be a struct tag.
func TestGoOutputs(t *testing.T) {
	t.Parallel()
	named := func(names ...string) (list []document.Output) {
		for _, n := range names {
			list = append(list, document.Output{Output: contract.Output{Name: n}, Schema: map[string]any{"type": "integer"}})
		}
		return list
	}
	for _, tt := range []struct {
		name    string
		outputs []document.Output
		want    string
	}{
		{"words become one identifier", named("reply-text_2"), "\tReplyText2 int64 `json:\"reply-text_2\"`\n"},
		{"a digit cannot begin an identifier", named("2nd"), "\tOutput2nd int64 `json:\"2nd\"`\n"},
		{"letters that Go does not export", named("ответ"), "\tOutput int64 `json:\"ответ\"`\n"},
		{"names with the same identifier", named("a-b", "a_b"), ""},
		{"a name that fits in no tag", named("a,b"), ""},
		{"a quote", named("a`b"), ""},
		{"the name that encoding/json leaves out", named("-"), ""},
		{"no outputs", nil, ""},
		{"more than a reader wants to see", named(strings.Split(strings.Repeat("x,", 31)+"x", ",")...), ""},
	} {
		if got := goOutputs(tt.outputs); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}
