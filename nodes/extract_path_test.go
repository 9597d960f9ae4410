package nodes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"sluice/e2e/need"
	"sluice/flow"
	"sluice/flow/flowtest"
)

// TestExtract_bounds_work_of_path evaluates paths that multiply their results: without
// limits, each would take gigabytes or not end.
func TestExtract_bounds_work_of_path(t *testing.T) {
	t.Parallel()
	need.Time(t)
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
		says string
	}{
		"repeated descendants":             {"$" + strings.Repeat("..[*]", 90), nested, ""},
		"filter that counts from the root": {"$[?count($..a) == @.b]", objects, ""},
		"filters in filters":               {"$..[?$..[?$..b]]", objects, ""},
		"repeated selectors in filter":     {"$[?@" + strings.Repeat("[0,0,0,0]", 40) + "[1]]", []any{nested}, ""},
		"large values compared":            {"$[?$ == $]", objects, ""},
		"patterns from the value":          {`$[?match("x", @)]`, patterns, ""},
		"repeated selectors":               {"$" + strings.Repeat("[0,0,0,0]", 50), nested, "more than 100000 items"},
		"a pattern that is too large":      {`$[?match(@, "a{1001}")]`, texts, "A pattern of match() or search() cannot be used: invalid repeat count"},
		"a pattern that repeats too much":  {`$[?search(@, "(a{100}){101}")]`, texts, "A pattern of match() or search() cannot be used: "},
		"a pattern that is too long":       {`$[?match("x", $[0])]`, []any{strings.Repeat("a", 3000), 1}, "it is longer than 2,000 bytes"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			in := &flow.In{Config: map[string]any{"by": extractPath, "path": c.path}, Ports: map[string]any{"from": c.from}}
			flowtest.CheckCPU(t, func() {
				_, err := extract(t.Context(), in)
				if fault := flow.AsError(err); fault == nil || fault.Code != flow.CodeInputInvalid {
					t.Fatalf("got %v", err)
				}
				has(t, flow.AsError(err).Message, cmp.Or(c.says, "The value is too large for this JSONPath."))
			})
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
		`$[?@]`:                                20_000,
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			all, err := selectPath(t.Context(), &flow.In{}, path, texts)
			if err != nil || len(all) != want {
				t.Errorf("got %d, %v, want %d", len(all), err, want)
			}
		})
	}
	t.Run("ends with its context", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for _, path := range []string{"$..[?count($..a) == @.b]", `$[?search("x", @)]`} {
			if _, err := selectPath(ctx, &flow.In{}, path, patterns); !errors.Is(err, context.Canceled) {
				t.Errorf("%s: got %v", path, err)
			}
		}
	})
}

// TestExtract_selects_exactly finds records by numbers that float64 cannot tell apart, and keeps the
// order and the digits of what it finds.
func TestExtract_selects_exactly(t *testing.T) {
	t.Parallel()
	const records = `[{"id": 7615917337495251230, "name": "Anna", "parent": 7615917337495251231}, {"id": 7615917337495251231, "name": "Ben", "parent": 7615917337495251231.0}, {"id": 7615917337495251232, "name": "Cem"}]`
	for path, want := range map[string]string{
		`$[?@.id==7615917337495251231].name`: `["Ben"]`,
		`$[?@.id!=7615917337495251231].name`: `["Anna","Cem"]`,
		`$[?@.id<7615917337495251231].name`:  `["Anna"]`,
		`$[?@.id>=7615917337495251232].name`: `["Cem"]`,
		`$[?@.id==@.parent].name`:            `["Ben"]`,
		`$[?@.id==$[2].id].id`:               `[7615917337495251232]`,
		`$[1][?@==7615917337495251231e0]`:    `[7615917337495251231,7615917337495251231.0]`,
		`$[0].*`:                             `[7615917337495251230,"Anna",7615917337495251231]`,
	} {
		all, err := selectPath(t.Context(), &flow.In{}, path, records)
		if err != nil || string(flow.EncodeJSON(all)) != want {
			t.Errorf("%s: got %s, %v, want %s", path, flow.EncodeJSON(all), err, want)
		}
	}
}

// TestExtract_explains_invalid_path reports a typed path before a run, and where it is wrong.
func TestExtract_explains_invalid_path(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"items":                            "The JSONPath cannot be used: character 1: a path must begin with $, as in $.items[0].",
		"$.items[?@.price = 1]":            "The JSONPath cannot be used: character 18: expected , or ], found '='; use == to compare.",
		"$.first-name":                     "The JSONPath cannot be used: character 8: a name with special characters needs brackets and quotes, as in ['first-name'].",
		"$[?length(@.tags)]":               "The JSONPath cannot be used: character 4: length() is a value, not a condition; compare it, as in length(@.a) > 1.",
		"$.a" + strings.Repeat("[0]", 200): "The JSONPath cannot be used: it has 603 bytes; the limit is 500.",
	} {
		u := use{kind: "extract", config: map[string]any{"by": extractPath, "path": path}, ports: map[string]any{"from": []any{}}}
		if found := u.problems(t); len(found) != 1 || found[0].Detail != want {
			t.Errorf("%s: got problems %v", path, found)
		}
		u.config, u.ports["path"] = map[string]any{"by": extractPath}, path
		same(t, path, u.fails(t, Deps{}, flow.CodeInputInvalid).Message, want)
	}
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
		"no text":                 {" \n", ""},
		"empty block before JSON": {"```\n```\n{\"a\": 1}", `{"a":1}`},
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
	need.Time(t)
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
