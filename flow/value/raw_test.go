package value

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestRaw_reads_members_and_items(t *testing.T) {
	r := Raw(` {"a": {"b": [1, "x", null]}, "n": -1.5e3, "s": "\u00e9\n", "t": true, "s": "twice"} `)
	for _, c := range []struct{ got, want string }{
		{r.Get("a", "b").Item(1).Text(), "x"}, {r.Get("a", "b").Item(2).String(), "null"}, {r.Get("a", "b").Item(3).String(), ""},
		{r.Get("a", "none", "b").String(), ""}, {r.Get("s").Text(), "twice"}, {r.Get("n").String(), "-1.5e3"}, {r.Get("t").Text(), ""},
		{r.Get("a").String(), `{"b": [1, "x", null]}`},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
	if n, ok := r.Get("n").Number(); n != -1500 || !ok {
		t.Errorf("n is %v, %t", n, ok)
	}
	if _, ok := r.Get("t").Number(); ok {
		t.Error("true is a number")
	}
}

func TestRaw_invalid_text_reads_as_missing(t *testing.T) {
	for _, text := range []string{"", "x", "{", `{"a": 1`, `{"a": 1} x`, `{"a" 1}`, "[1, 2", "[1] 2", `{a: 1}`, strings.Repeat(`{"a":`, 20_000)} {
		r := Raw(text)
		if r.Members() != nil || r.Items() != nil {
			t.Errorf("%.20s reads as %v and %v", text, r.Members(), r.Items())
		}
	}
}

func TestRaw_IsFilled(t *testing.T) {
	for text, want := range map[string]bool{
		"null": false, "false": false, "0": false, "0.0": false, `""`: false, "{}": false, "[]": false, `{"a": [null, {"b": 0}]}`: false,
		"true": true, "2": true, "-0.5": true, `"x"`: true, `{"a": [null, {"b": "x"}]}`: true, "1e999": true,
	} {
		if Raw(text).IsFilled() != want {
			t.Errorf("%s: want %t", text, want)
		}
	}
}

func FuzzRaw(f *testing.F) {
	f.Add(`{"a": [1, {"b": "x"}], "a": 2}`)
	f.Fuzz(func(t *testing.T, text string) {
		var want map[string]json.RawMessage
		valid := json.Unmarshal([]byte(text), &want) == nil && len(want) > 0
		got := Raw(text).Members()
		if valid && len(got) < len(want) { // encoding/json joins names that differ in invalid UTF-8
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
		for name, v := range got {
			if !json.Valid(v) {
				t.Errorf("%q: %s is %q", text, name, v)
			}
		}
		Raw(text).IsFilled()
	})
}
