package position

import (
	"strings"
	"testing"
)

// TestEncode_keeps_structure puts a text with every special character into each position.
func TestEncode_keeps_structure(t *testing.T) {
	t.Parallel()
	const text = "a/b?c=d&e+f#g%41 \"{é}\\\n"
	for p, want := range map[Position]string{
		Text:        text,
		PathSegment: "a%2Fb%3Fc%3Dd%26e%2Bf%23g%2541%20%22%7B%C3%A9%7D%5C%0A",
		Path:        "a/b%3Fc=d&e+f%23g%2541%20%22%7B%C3%A9%7D%5C%0A",
		Query:       "a%2Fb%3Fc%3Dd%26e%2Bf%23g%2541%20%22%7B%C3%A9%7D%5C%0A",
		Form:        "a%2Fb%3Fc%3Dd%26e%2Bf%23g%2541+%22%7B%C3%A9%7D%5C%0A",
		JSONString:  `a/b?c=d&e+f#g%41 \"{é}\\\n`,
		JSONValue:   `"a/b?c=d&e+f#g%41 \"{é}\\\n"`,
	} {
		if got, err := p.Encode(text); err != nil || got != want {
			t.Errorf("position %d: got %s, %v, want %s", p, got, err, want)
		}
	}
	for p, bad := range map[Position][]string{
		Authority: {"a/b", "a:1", "a@b", "a b", "a#b", "a?b", `a\b`, "%41", "[::1]", "a\n"},
		Header:    {"a\nb", "a\r\nX-Admin: 1", "a\x00"},
	} {
		for _, text := range bad {
			if got, err := p.Encode(text); err == nil {
				t.Errorf("position %d takes %q as %q", p, text, got)
			}
		}
	}
	for _, host := range []string{"", "eu-1", "api.example", "bücher", "例え"} {
		if got, err := Authority.Encode(host); err != nil || got != host {
			t.Errorf("the host %q is %q, %v", host, got, err)
		}
	}
}

func TestWriter_finds_positions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		format Format
		typed  []string // a value follows each but the last
		want   []Position
	}{
		{URL, []string{"https://", ".example.com/a/", "/b?q=", "&", "=1#", ""}, []Position{Authority, PathSegment, Query, Query, Query}},
		{URL, []string{"https:", "//h/", "?"}, []Position{Query, Query}},
		{URL, []string{"https://h?x=", ""}, []Position{Query}},
		{URL, []string{"https://h#", "/a"}, []Position{Query}},
		{JSON, []string{`{"a": "x`, `", "b\"`, `": `, "}"}, []Position{JSONString, JSONString, JSONValue}},
		{FormData, []string{"a=", "&", "=1"}, []Position{Form, Form}},
		{Plain, []string{"https://h/", `"`, ""}, []Position{Text, Text}},
	} {
		w := NewWriter(c.format)
		for i, typed := range c.typed {
			w.Typed(typed)
			if i == len(c.want) {
				break
			}
			if got := w.At(); got != c.want[i] {
				t.Errorf("%q, value %d: got position %d, want %d", c.typed, i, got, c.want[i])
			}
			w.Insert("{{v}}", "v")
		}
		if text, err := w.Finish(); err != nil || text != strings.Join(c.typed, "v") {
			t.Errorf("%q: %q, %v", c.typed, text, err)
		}
	}
}

func TestWriter_rejects_segments_without_resource(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		before, value, after string
		ok                   bool
	}{
		{"https://h/a/", "", "", false}, {"https://h/a/", "", "/b", false}, {"https://h/", "", "?q", false}, {"https://h/a/", "", "#f", false},
		{"https://h/a/", ".", "/b", false}, {"https://h/a/", "..", "", false}, {"https://h/a/.", ".", "", false}, {"https://h/a/%2E", ".", "/x", false},
		{"https://h/a/", "x/../y", "", false}, {"https://h/a/", "x/y/", "", true},
		{"https://h/a/x", "", "", true}, {"https://h/a/", "...", "", true}, {"https://h/a/..", "x", "", true}, {"https://h/a/?q=", "", "", true},
		{"https://h/../", "x", "/..", true}, {"https://h", "", "/a//b", true}, {"https://h/a/", "%2e%2e", "", false},
	} {
		w := NewWriter(URL)
		w.Typed(c.before)
		w.Insert("{{v}}", c.value)
		w.Typed(c.after)
		if _, err := w.Finish(); (err == nil) != c.ok {
			t.Errorf("%s[%s]%s: %v", c.before, c.value, c.after, err)
		} else if err != nil && !strings.Contains(err.Error(), "{{v}}") {
			t.Errorf("the error does not name the value: %v", err)
		}
	}
}

func TestTyped_encodes_what_is_invalid(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{
		`https://h/ü?q=ü&f={"a":1}|b^c&p=100%`: "https://h/%C3%BC?q=%C3%BC&f=%7B%22a%22:1%7D%7Cb%5Ec&p=100%25",
		"https://h/%41%zz%":                    "https://h/%41%25zz%25",
		"https://ü.example/a":                  "https://ü.example/a",
		"https://h/a?b#c#d?":                   "https://h/a?b#c%23d?",
		"https://h/a-._~!$&'()*+,;=:@b":        "https://h/a-._~!$&'()*+,;=:@b",
		"no URL|":                              "no URL|",
	} {
		got := TypedURL(typed)
		if got != want {
			t.Errorf("%s became %s, want %s", typed, got, want)
		}
		if again := TypedURL(got); again != got {
			t.Errorf("%s is encoded twice: %s", got, again)
		}
	}
	for typed, want := range map[string]string{" a=b c&d=ü%\n": "a=b+c&d=%C3%BC%25", "a=%2B+": "a=%2B+", "a=1\nb=2": "a=1%0Ab=2", "": ""} {
		if got := TypedForm(typed); got != want {
			t.Errorf("%q became %q, want %q", typed, got, want)
		}
	}
}
