package hosted_test

import (
	"strings"
	"testing"

	"sluice/providers/hosted"
)

func TestCompare(t *testing.T) {
	t.Parallel()
	one := func(property string) string {
		return `{"Input":{"type":"object","properties":{"a":` + property + `}},"Output":{"type":"string"}}`
	}
	out := func(output string) string { return `{"Input":{"type":"object"},"Output":` + output + `}` }
	for _, c := range []struct {
		name, older, newer, want string
		breaking                 bool
	}{
		{"nothing", one(`{"type":"integer","default":1,"description":"x"}`), one(`{"type":"integer","default":1.0,"description":"y","x-order":3}`), "", false},
		{"added", out(`{"type":"string"}`), one(`{"type":"integer"}`), "Input a is new.", false},
		{"added and required", out(`{"type":"string"}`), `{"Input":{"type":"object","required":["a"],"properties":{"a":{}}},"Output":{"type":"string"}}`, "Input a is new and must be set.", true},
		{"removed", one(`{"type":"integer"}`), out(`{"type":"string"}`), "Input a is gone.", true},
		{"type", one(`{"type":"integer"}`), one(`{"type":"string"}`), "Input a was a whole number and is now a text.", true},
		{"file", one(`{"type":"string"}`), one(`{"type":"string","format":"uri"}`), "Input a was a text and is now a file.", true},
		{"list", one(`{"type":"array","items":{"type":"string"}}`), one(`{"type":"array","items":{"type":"number"}}`), "Input a was a list of string values and is now a list of number values.", true},
		{"options", one(`{"enum":["a","b"]}`), one(`{"enum":["b","c"]}`), "Input a no longer offers a.|Input a also offers c.", true},
		{"more options", one(`{"enum":["a"]}`), one(`{"enum":["a","b"]}`), "Input a also offers b.", false},
		{"narrower", one(`{"type":"number","minimum":0,"maximum":2}`), one(`{"type":"number","minimum":1,"maximum":2}`), "Input a may be as small as 1 instead of 0.", true},
		{"wider", one(`{"type":"number","maximum":2}`), one(`{"type":"number"}`), "Input a may be as large as you like instead of 2.", false},
		{"a bound more", one(`{"type":"number","minimum":0}`), one(`{"type":"number","minimum":0,"maximum":2}`), "Input a may be as large as 2 instead of you like.", true},
		{"default", one(`{"type":"number","default":1}`), one(`{"type":"number","default":2}`), "Input a has the default 2 instead of 1.", false},
		{"length", one(`{"type":"string"}`), one(`{"type":"string","maxLength":5}`), "Input a is checked by another rule.", true},
		{"output", out(`{"type":"string"}`), out(`{"type":"array","items":{"type":"string","format":"uri"}}`), "The output was a text and is now a list of files.", true},
		{"properties", out(`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}}}`), out(`{"type":"object","properties":{"b":{"type":"number"},"c":{}}}`),
			"Output a is gone.|Output b was a text and is now a number.|Output c is new.", true},
		{"unusable", out(`{"type":"string"}`), `{}`, "The new version has no input schema, so its inputs are no longer checked.", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := hosted.Compare(modelOf(t, c.older), modelOf(t, c.newer))
			var said []string
			for _, change := range got.List {
				said = append(said, change.Sentence)
			}
			if strings.Join(said, "|") != c.want || got.Breaking != c.breaking {
				t.Errorf("got %q, breaking %v", said, got.Breaking)
			}
		})
	}
	t.Run("names what changed", func(t *testing.T) {
		t.Parallel()
		got := hosted.Compare(
			modelOf(t, `{"Input":{"type":"object","required":["same","r"],"properties":{"same":{},"gone":{},"r":{"type":"integer"}}}}`),
			modelOf(t, `{"Input":{"type":"object","required":["same"],"properties":{"same":{},"new":{},"r":{"type":"integer"}}}}`))
		if strings.Join(got.Added, "") != "new" || strings.Join(got.Removed, "") != "gone" || strings.Join(got.Changed, "") != "r" || len(got.List) != 3 {
			t.Errorf("got %+v", got)
		}
	})
}
