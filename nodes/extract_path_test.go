package nodes

import (
	"fmt"
	"strings"
	"testing"

	"sluice/flow"
)

// TestExtract_bounds_work_of_path evaluates paths that multiply their results: without
// limits, each would take gigabytes or not end.
func TestExtract_bounds_work_of_path(t *testing.T) {
	t.Parallel()
	nested := any("x")
	for range 50 {
		nested = []any{nested}
	}
	var objects, texts, patterns []any
	for i := range 20_000 {
		objects = append(objects, map[string]any{"a": "x"})
		texts = append(texts, "x")
		patterns = append(patterns, fmt.Sprintf(`(\pL{30}){30}%d`, i))
	}
	for what, c := range map[string]struct {
		path string
		from any
	}{
		"repeated selectors":               {"$" + strings.Repeat("[0,0,0,0]", 50), nested},
		"repeated descendants":             {"$" + strings.Repeat("..[*]", 90), nested},
		"filter that counts from the root": {"$[?count($..a) == @.b]", objects},
		"filters in filters":               {"$..[?@..[?@..a]]", []any{objects, objects}},
		"repeated selectors in filter":     {"$[?@" + strings.Repeat("[0,0,0,0]", 40) + "]", []any{nested}},
		"patterns from the value":          {`$[?match("x", @)]`, patterns},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			u := use{kind: "extract", config: map[string]any{"by": extractPath, "path": c.path}, ports: map[string]any{"from": c.from}}
			has(t, u.fails(t, Deps{}, flow.CodeInputInvalid).Message, "too large for this JSONPath")
		})
	}
	for path, want := range map[string]int{
		`$[?match(@, "(\\pL{30}){30}|x")]`:     20_000, // one pattern is compiled once
		`$[?search(@, "x") && length(@) == 1]`: 20_000,
		`$[?match(@, "a|xy")]`:                 0, // the whole text, for each alternative
		`$[?match(@, "(")]`:                    0,
		`$[?search(@, ".")][?@ == 1]`:          0,
		`$[?@ == $[0]]`:                        20_000,
		`$[10:20]`:                             10,
		`$..[?@ == "x"]`:                       20_000,
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			all, err := selectPath(t.Context(), &flow.In{}, path, texts)
			if err != nil || len(all) != want {
				t.Errorf("got %d, %v, want %d", len(all), err, want)
			}
		})
	}
	t.Run("dot does not match a line end", func(t *testing.T) {
		t.Parallel()
		all, err := selectPath(t.Context(), &flow.In{}, `$[?search(@, "a.b")]`, []any{"a\nb", "a\rb", "a-b"})
		same(t, "found", flow.EncodeJSON([]any{all, err}), []byte(`[["a-b"],null]`))
	})
}

func TestFirstJSON(t *testing.T) {
	t.Parallel()
	open := strings.Repeat("[", 1000) + `"` + strings.Repeat("a", 10<<20)
	for name, c := range map[string]struct {
		text, want string
	}{
		"footnote before a block": {"As [1] says:\n```json\n{\"a\": 2}\n```", `{"a":2}`},
		"block of another sort":   {"```sh\nls [a]\n```\nand\n```\n[2]\n```", `[2]`},
		"braces in prose":         {strings.Repeat("{x} ", 5000) + `{"a": "}{"}`, `{"a":"}{"}`},
		"open brackets, 10 MB":    {open, ""},
		"closed too often":        {`]}{"a":1}}`, `{"a":1}`},
		"quote without an end":    {`{say "hi} then {"a": 1}`, `{"a":1}`},
		"backslash at the end":    {`{"a\`, ""},
		"unicode":                 {"Здравствуйте 🙂 {\"ü\": \"🙂\"}", `{"ü":"🙂"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v, found := firstJSON(c.text)
			if found != (c.want != "") || found && string(flow.EncodeJSON(v)) != c.want {
				t.Errorf("got %v, %v, want %s", v, found, c.want)
			}
		})
	}
}

// TestReplace_expands_groups references groups next to letters, digits and dollar signs.
func TestReplace_expands_groups(t *testing.T) {
	t.Parallel()
	for with, want := range map[string]string{
		"$1px": "12px cm", "$1_$2": "12_cm cm", "$$1": "$1 cm", "${1}$2": "12cm cm", "$$$1": "$12 cm", "$9": "$9 cm", "$": "$ cm", "${n}": "12 cm",
	} {
		u := use{kind: "replace", config: map[string]any{"text": "12 cm", "find": `(?P<n>\d+)( cm){0}`, "replacement": with, "regex": true}}
		if with == "$1_$2" || with == "${1}$2" {
			u.config["find"] = `(\d+)(?:)()`
			want = strings.Replace(want, "cm", "", 1)
		}
		same(t, with, u.succeeds(t, Deps{})["text"], want)
	}
}

func TestSplit_bounds_output(t *testing.T) {
	t.Parallel()
	for what, config := range map[string]map[string]any{
		"size of a chunk": {"by": splitTokens, "size": flow.Number(4e18)},
		"overlap":         {"by": splitCharacters, "size": flow.Number(3), "overlap": flow.Number(3)},
		"line ends":       {"by": splitLines, "text": strings.Repeat("\n", 10<<20)},
		"separators":      {"by": splitSeparator, "text": strings.Repeat(",", 10<<20)},
		"paragraphs":      {"by": splitParagraphs, "text": strings.Repeat("a\n\n", 3<<20)},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			ports := map[string]any{"text": "a b"}
			for name, value := range config {
				if name == "text" || name == "size" || name == "overlap" {
					ports[name] = value
				}
			}
			u := use{kind: "split", config: map[string]any{"by": config["by"]}, ports: ports}
			u.fails(t, Deps{}, flow.CodeInputInvalid)
		})
	}
}
