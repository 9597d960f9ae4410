package nodes

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/e2e/need"
	"sluice/flow"
	"sluice/flow/sorting"
)

// textCase is a node and its outputs or a part of its error.
type textCase struct {
	name   string
	config map[string]any
	ports  map[string]any
	want   map[string]any
	fails  string
}

type obj = map[string]any
type list = []any

func checkTextCases(t *testing.T, kind string, cases []textCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			u := use{kind: kind, config: c.config, ports: c.ports}
			if c.fails == "" {
				same(t, "outputs", u.succeeds(t, fakes()), c.want)
				return
			}
			if r := u.execute(t, fakes()); r.Error == nil || !strings.Contains(r.Error.Message, c.fails) {
				t.Errorf("got %+v, want an error with %q", r.Error, c.fails)
			}
		})
	}
}

func TestReplace(t *testing.T) {
	t.Parallel()
	checkTextCases(t, "replace", []textCase{
		{name: "plain signs of patterns", config: obj{"text": "a.b a.b axb", "find": "a.b", "replacement": "$1"}, want: obj{"text": "$1 $1 axb", "count": 2}},
		{name: "ignores case", config: obj{"text": "Cat CAT cat", "find": "cat", "replacement": "dog", "ignore_case": true}, want: obj{"text": "dog dog dog", "count": 3}},
		{name: "only the first", config: obj{"text": "aaa", "find": "a", "replacement": "b", "first_only": true}, want: obj{"text": "baa", "count": 1}},
		{name: "deletes", config: obj{"text": "a b", "find": " "}, want: obj{"text": "ab", "count": 1}},
		{name: "groups", config: obj{"text": "Ada Lovelace", "find": `(?P<first>\w+) (\w+)`, "replacement": "$2, ${first}$$", "regex": true}, want: obj{"text": "Lovelace, Ada$", "count": 1}},
		{name: "missing groups are literal", config: obj{"text": "cost X", "find": "X", "replacement": "$5, $5.00, $10 ${9} ${no} $USD $", "regex": true}, want: obj{"text": "cost $5, $5.00, $10 ${9} ${no} $USD $", "count": 1}},
		{name: "a price that arrives as data", config: obj{"text": "cost X or X", "find": "(X)", "regex": true}, ports: obj{"replacement": "$12.50"}, want: obj{"text": "cost $12.50 or $12.50", "count": 2}},
		{name: "existing groups beside missing ones", config: obj{"text": "ab", "find": "(?P<x>a)(b)(c)?", "replacement": "[$0|$2|$3|$4|${x}|$x|$1st|$$1|$xy]", "regex": true}, want: obj{"text": "[ab|b||$4|a|a|ast|$1|$xy]", "count": 1}},
		{name: "anchors", config: obj{"text": "aa", "find": "^a", "replacement": "b", "regex": true}, want: obj{"text": "ba", "count": 1}},
		{name: "nothing found", config: obj{"text": "abc", "find": "x", "replacement": "y"}, want: obj{"text": "abc", "count": 0}},
		{name: "lookahead", config: obj{"text": "abc"}, ports: obj{"find": "a(?=b)"}, want: obj{"text": "abc", "count": 0}}, // a plain text
		{name: "lookahead in a pattern", config: obj{"text": "abc", "regex": true}, ports: obj{"find": "a(?=b)"}, fails: "lookaheads"},
		{name: "grows beyond the limit", config: obj{"text": strings.Repeat("a", 5000), "find": "a", "replacement": strings.Repeat("b", 5000)}, fails: "larger than"},
	})
	problems := use{kind: "replace", config: obj{"text": "a", "find": "(", "regex": true}}.problems(t)
	if len(problems) != 1 || !strings.Contains(problems[0].Detail, "missing closing )") {
		t.Errorf("got %v", problems)
	}
}

func TestExtract(t *testing.T) {
	t.Parallel()
	order := obj{"items": list{obj{"name": "paper", "price": flow.Number(4)}, obj{"name": "ink", "price": flow.Number(20.5)}}}
	found := func(all ...any) obj { return obj{"value": all[0], "all": all, "found": true} }
	none := obj{"all": list{}, "found": false}
	checkTextCases(t, "extract", []textCase{
		{name: "whole match", config: obj{"pattern": `\d+`}, ports: obj{"from": "1 and 22"}, want: found("1", "22")},
		{name: "several groups", config: obj{"pattern": `(\w)=(\d)`}, ports: obj{"from": "a=1 b=2"}, want: found(list{"a", "1"}, list{"b", "2"})},
		{name: "named groups", config: obj{"pattern": `(?P<k>\w)=(?P<v>\d)`}, ports: obj{"from": "a=1"}, want: found(obj{"k": "a", "v": "1"})},
		{name: "no match", config: obj{"pattern": "x"}, ports: obj{"from": "abc"}, want: none},
		{name: "ignores case", config: obj{"pattern": "ABC", "ignore_case": true}, ports: obj{"from": "abc"}, want: found("abc")},
		{name: "path", config: obj{"by": extractPath, "path": "$.items[*].name"}, ports: obj{"from": order}, want: found("paper", "ink")},
		{name: "filter", config: obj{"by": extractPath, "path": "$.items[?@.price > 10].name"}, ports: obj{"from": order}, want: found("ink")},
		{name: "filter of equal numbers", config: obj{"by": extractPath, "path": "$.items[?@.price == 4.0].name"}, ports: obj{"from": order}, want: found("paper")},
		{name: "slice", config: obj{"by": extractPath, "path": "$[-2:]"}, ports: obj{"from": list{"a", "b", "c"}}, want: found("b", "c")},
		{name: "path in a text", config: obj{"by": extractPath, "path": "$.a"}, ports: obj{"from": `{"a": 12345678901234567890}`}, want: found(json.Number("12345678901234567890"))},
		{name: "path in no JSON", config: obj{"by": extractPath, "path": "$.a"}, ports: obj{"from": "a"}, fails: "The text is not JSON"},
		{name: "missing member", config: obj{"by": extractPath, "path": "$.b"}, ports: obj{"from": order}, want: none},
		{name: "several descendants", config: obj{"by": extractPath}, ports: obj{"from": order, "path": "$..items..price"}, want: found(flow.Number(4), flow.Number(20.5))},
		{name: "fenced JSON", config: obj{"by": extractJSON}, ports: obj{"from": "Sure! Here it is:\n```json\n{\"a\": [1, {\"b\": \"}\"}]}\n```\nAnything else?"}, want: found(obj{"a": list{flow.Number(1), obj{"b": "}"}}})},
		{name: "JSON after a brace in prose", config: obj{"by": extractJSON}, ports: obj{"from": "Use {name} as in [1]."}, want: found(list{flow.Number(1)})},
		{name: "prose", config: obj{"by": extractJSON}, ports: obj{"from": "No JSON {here}."}, want: none},
		{name: "a value alone", config: obj{"by": extractJSON}, ports: obj{"from": " 3 "}, want: found(flow.Number(3))},
	})
}

// TestPattern_bounds_work passes expensive texts and patterns to all kinds that use them.
func TestPattern_bounds_work(t *testing.T) {
	t.Parallel()
	need.Time(t)
	deep := any("x")
	for range 17 {
		deep = list{deep, deep}
	}
	big := strings.Repeat("ab ", 5<<20/3)
	begin := time.Now()
	for _, u := range []use{
		{kind: "extract", config: obj{"pattern": "(" + strings.Repeat("a?", 300) + ")" + strings.Repeat("a", 300)}, ports: obj{"from": strings.Repeat("a", 4<<20)}},
		{kind: "extract", config: obj{"by": extractPath, "path": "$..[?@..x]"}, ports: obj{"from": deep}},
		{kind: "extract", config: obj{"by": extractJSON}, ports: obj{"from": strings.Repeat("[", 1<<20)}},
		{kind: "replace", config: obj{"find": "", "regex": true, "replacement": "x"}, ports: obj{"text": big, "find": "(?:)"}},
		{kind: "split", config: obj{"by": splitCharacters, "size": 1000, "overlap": 999}, ports: obj{"text": big}},
	} {
		if r := u.execute(t, fakes()); r.Error == nil && r.Outputs["found"] != false {
			t.Errorf("%s took %s: got %.200v", u.kind, time.Since(begin), r.Outputs)
		}
	}
}

func TestSplit(t *testing.T) {
	t.Parallel()
	items := func(l ...any) obj { return obj{"items": append(list{}, l...), "count": len(l)} }
	checkTextCases(t, "split", []textCase{
		{name: "lines", config: obj{"text": "a\r\nb\rc\n\n d "}, want: items("a", "b", "c", "d")},
		{name: "keeps empty items", config: obj{"text": "a\n\nb", "keep_empty": true}, want: items("a", "", "b")},
		{name: "keeps white space", config: obj{"text": "a\n b", "trim": false}, want: items("a", " b")},
		{name: "paragraphs", config: obj{"text": "one\ntwo\n\n\nthree\n \nfour", "by": splitParagraphs}, want: items("one\ntwo", "three", "four")},
		{name: "separator", config: obj{"text": "a||b", "by": splitSeparator, "separator": "||"}, want: items("a", "b")},
		{name: "separator in signs", config: obj{"text": "a\tb", "by": splitSeparator, "separator": `\t`}, want: items("a", "b")},
		{name: "no separator", config: obj{"text": "a", "by": splitSeparator}, ports: obj{"separator": ""}, fails: "Separator is empty"},
		{name: "words stay whole", config: obj{"text": "alpha beta gamma", "by": splitCharacters, "size": 11}, want: items("alpha beta", "gamma")},
		{name: "long words do not", config: obj{"text": "abcdefgh", "by": splitCharacters, "size": 3}, want: items("abc", "def", "gh")},
		{name: "overlap", config: obj{"text": "one two three four", "by": splitCharacters, "size": 9, "overlap": 4}, want: items("one two", "two three", "four")},
		{name: "tokens", config: obj{"text": "aaaa bbbb cccc", "by": splitTokens, "size": 2}, want: items("aaaa", "bbbb", "cccc")},
		{name: "ports", config: obj{"text": "a\nb", "ports": 3}, want: obj{"items": list{"a", "b"}, "count": 2, "item_1": "a", "item_2": "b"}},
		{name: "nothing", config: obj{}, ports: obj{"text": " "}, want: items()},
		{name: "overlap as large as the size", config: obj{"text": "a", "by": splitCharacters, "size": 3}, ports: obj{"overlap": flow.Number(3)}, fails: "larger than the overlap"},
	})
}

// TestSplit_chunks_cover_text checks for random texts that chunks do not exceed the size, are in
// order and omit nothing.
func TestSplit_chunks_cover_text(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(20261124, 1))
	signs := []rune("ab é\n世 ")
	for range 3000 {
		runes := make([]rune, random.IntN(200))
		for i := range runes {
			runes[i] = signs[random.IntN(len(signs))]
		}
		text, size := string(runes), 1+random.IntN(40)
		overlap := random.IntN(size)
		parts, err := chunks(text, size, overlap)
		if err != nil {
			t.Fatal(err)
		}
		n, start := 0, 0
		for end := 0; end < len(runes); n++ {
			before := end
			if end = chunkEnd(runes, start, end, size); end <= before || end-start > size || start > before {
				t.Fatalf("%q by %d and %d: chunk %d is %d to %d, after %d", text, size, overlap, n, start, end, before)
			}
			if parts[n] != string(runes[start:end]) {
				t.Fatalf("%q by %d and %d: chunk %d is %q", text, size, overlap, n, parts[n])
			}
			if end < len(runes) {
				start = chunkStart(runes, start, end, overlap)
			}
		}
		if n != len(parts) {
			t.Fatalf("%q by %d and %d: %d chunks, wanted %d", text, size, overlap, len(parts), n)
		}
	}
}

func TestCombine(t *testing.T) {
	t.Parallel()
	checkTextCases(t, "combine", []textCase{
		{name: "text", config: obj{"prefix": "- ", "separator": `\n- `}, ports: obj{"values": list{"a", obj{"b": flow.Number(1)}}}, want: obj{"text": "- a\n- {\"b\":1}"}},
		{name: "a list alone", config: obj{"separator": "+"}, ports: obj{"values": list{list{"a", "b"}}}, want: obj{"text": "a+b"}},
		{name: "list", config: obj{"to": combineList}, ports: obj{"values": list{"a", list{"b"}}}, want: obj{"list": list{"a", list{"b"}}}},
		{name: "objects", config: obj{"to": combineObject}, ports: obj{"values": list{obj{"a": "1", "b": "1"}, obj{"b": "2"}}}, want: obj{"json": obj{"a": "1", "b": "2"}}},
		{name: "no objects", config: obj{"to": combineObject}, ports: obj{"values": list{obj{}, "x"}}, fails: "Value 2 is a text"},
	})
}

func TestJSON(t *testing.T) {
	t.Parallel()
	checkTextCases(t, "json", []textCase{
		{name: "parses a template", config: obj{"from": `{"a": {{n}}}`}, ports: obj{"n": flow.Number(2)}, want: obj{"json": obj{"a": flow.Number(2)}}},
		{name: "keeps a value", config: obj{}, ports: obj{"from": obj{"a": true}}, want: obj{"json": obj{"a": true}}},
		{name: "refuses prose", config: obj{"from": "Sure: {}"}, fails: "use Extract"},
		{name: "builds", config: obj{"do": jsonBuild, "members": list{"city", "days"}, "days": flow.Number(3)}, ports: obj{"city": "Oslo"}, want: obj{"json": obj{"city": "Oslo", "days": flow.Number(3)}}},
		{name: "picks", config: obj{"do": jsonPick, "members": list{"a", "missing"}}, ports: obj{"from": `{"a": [1], "b": 2}`}, want: obj{"json": obj{"a": list{flow.Number(1)}, "b": flow.Number(2)}, "a": list{flow.Number(1)}}},
		{name: "picks of a list", config: obj{"do": jsonPick, "members": list{"a"}}, ports: obj{"from": list{}}, fails: "got a list"},
	})
	if p := (use{kind: "json", config: obj{"do": jsonBuild, "members": list{"json"}}}).problems(t); len(p) == 0 {
		t.Error("a member may be called like a port of the node")
	}
}

func TestExpressionKind(t *testing.T) {
	t.Parallel()
	value := func(source string, want any, ports obj) textCase {
		names := list{}
		for _, name := range sorting.Keys(ports) {
			names = append(names, name)
		}
		return textCase{name: source, config: obj{"expression": source, "values": names}, ports: ports, want: obj{"value": want}}
	}
	checkTextCases(t, "expression", []textCase{
		value(`a + b`, flow.Number(3), obj{"a": flow.Number(1), "b": flow.Number(2)}),
		value(`first + " " + last`, "Ada Lovelace", obj{"first": "Ada", "last": "Lovelace"}),
		value(`items.filter(i, i > 2).map(i, i * 2)`, list{flow.Number(6), flow.Number(8)}, obj{"items": list{flow.Number(1), flow.Number(3), flow.Number(4)}}),
		value(`{"total": n, "paid": n == 0, "none": null}`, obj{"total": flow.Number(1.5), "paid": false, "none": nil}, obj{"n": flow.Number(1.5)}),
		value(`timestamp(at) + duration("1h")`, "2026-03-14T13:00:00Z", obj{"at": "2026-03-14T12:00:00Z"}),
		value(`size(text) > 3 ? "long" : "short"`, "long", obj{"text": "word"}),
		{name: "without names", config: obj{"expression": "value + 1"}, ports: obj{"value": flow.Number(1)}, want: obj{"value": flow.Number(2)}},
		{name: "not JSON", config: obj{"expression": `{1: 2}`}, ports: obj{"value": ""}, fails: "must be texts"},
		{name: "no number", config: obj{"expression": "0.0 / value"}, ports: obj{"value": flow.Number(0)}, fails: ""},
	}[:8])
	for want, config := range map[string]obj{
		`"in" cannot be the name`: {"expression": "1", "values": list{"in"}},
		"Nothing is called":       {"expression": "other", "values": list{"a"}},
	} {
		found := fmt.Sprint(use{kind: "expression", config: config, ports: obj{}}.problems(t))
		if !strings.Contains(found, want) && want[0] == '"' {
			t.Errorf("%v: got %s, want %q", config, found, want)
		}
	}
}

// TestSwitch_names_ports_as_the_builder_does has the same vectors as a script of the builder.
func TestSwitch_names_ports_as_the_builder_does(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../testdata/cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct {
		Config map[string]any
		Ports  []string
	}
	if err := json.Unmarshal(data, &vectors); err != nil {
		t.Fatal(err)
	}
	for _, v := range vectors {
		if got := casePorts(v.Config); !slices.Equal(got, v.Ports) {
			t.Errorf("%v has the ports %q, want %q", v.Config, got, v.Ports)
		}
	}
}

func TestSwitch(t *testing.T) {
	t.Parallel()
	cases := obj{"cases": list{"Billing question", "shipping", "42"}}
	checkTextCases(t, "switch", []textCase{
		{name: "by another value", config: cases, ports: obj{"value": "text", "on": "BILLING QUESTION "}, want: obj{"billing_question": "text"}},
		{name: "by the value", config: cases, ports: obj{"value": "shipping"}, want: obj{"shipping": "shipping"}},
		{name: "by a number", config: cases, ports: obj{"value": flow.Number(42)}, want: obj{"case_42": flow.Number(42)}},
		{name: "else", config: cases, ports: obj{"value": "other"}, want: obj{"else": "other"}},
		{name: "keeps case", config: obj{"cases": list{"A"}, "ignore_case": false}, ports: obj{"value": "a"}, want: obj{"else": "a"}},
		{name: "expressions", config: obj{"by": switchExpression, "cases": list{"value.score > 0.8", "value.score > 0.5"}}, ports: obj{"value": obj{"score": flow.Number(0.6)}}, want: obj{"case_2": obj{"score": flow.Number(0.6)}}},
		{name: "expressions with names", config: obj{"by": switchExpression, "cases": list{"value > 8", "value > 5"}, "names": list{"High", "Medium high"}}, ports: obj{"value": flow.Number(6)}, want: obj{"medium_high": flow.Number(6)}},
		{name: "an expression that fails", config: obj{"by": switchExpression, "cases": list{"value.score > 0.8"}}, ports: obj{"value": "x"}, fails: "does not fit the value"},
	})
	for want, config := range map[string]obj{
		"has the same port": {"cases": list{"A b", "a-B"}},
		"same port as anot": {"by": switchExpression, "cases": list{"value > 1", "value > 2"}, "names": list{"case_2"}},
		"is empty":          {"cases": list{" "}},
		"must give true":    {"by": switchExpression, "cases": list{"1 + 1"}},
	} {
		if found := fmt.Sprint(use{kind: "switch", config: config, ports: obj{"value": "x"}}.problems(t)); !strings.Contains(found, want) {
			t.Errorf("%v: got %s, want %q", config, found, want)
		}
	}
}
