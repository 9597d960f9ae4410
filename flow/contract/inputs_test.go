package contract_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/document"
	"sluice/flow/flowtest"
	"sluice/flow/value"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// inputsOf declares inputs by their configs.
func inputsOf(t testing.TB, configs ...string) []contract.Input {
	t.Helper()
	var lines strings.Builder
	for i, c := range configs {
		fmt.Fprintf(&lines, "i%d input %s\n", i, c)
	}
	d, problems := document.ParseDocument(flowtest.Document(lines.String()))
	if problems = append(problems, document.Validate(d, flowtest.Kinds)...); len(problems) > 0 {
		t.Fatal(problems)
	}
	return contract.Inputs(d, flowtest.Kinds)
}

func TestCheckInputs(t *testing.T) {
	t.Parallel()
	text := `{"name": "a", "min": 2, "max": 4, "pattern": "^[a-zé]*$"}`
	number := `{"name": "a", "type": "number", "min": -1.5, "max": 10}`
	list := `{"name": "a", "type": "list", "max": 2}`
	enum := `{"name": "a", "type": "number", "enum": [1, 2.5]}`
	file := `{"name": "a", "type": "file"}`
	loose := `{"name": "a", "type": "json", "min": 2, "pattern": "^x"}`
	tests := []struct{ name, input, given, coerced, want string }{
		{name: "text", input: text, given: `{"a": "éé"}`, want: `{"a":"éé"}`},
		{name: "too short, in characters", input: text, given: `{"a": "é"}`, want: `/a too_small`},
		{name: "too long", input: text, given: `{"a": "abcde"}`, want: `/a too_large`},
		{name: "pattern", input: text, given: `{"a": "ab1"}`, want: `/a pattern`},
		{name: "no coercion", input: text, given: `{"a": 3}`, want: `/a wrong_type`},
		{name: "missing", input: text, given: `{}`, want: `/a required`},
		{name: "null is left out", input: text, given: `{"a": null}`, want: `/a required`},
		{name: "unknown", input: text, given: `{"a": "abc", "aa": 1}`, want: `/aa unknown`},
		{name: "every problem at once", input: text, given: `{"b": 1, "c/d": 2}`, want: `/a required /b unknown /c~1d unknown`},
		{name: "number", input: number, given: `{"a": -1.5}`, want: `{"a":-1.5}`},
		{name: "keeps every digit", input: number, given: `{"a": 1.00000000000000000001}`, want: `{"a":1.00000000000000000001}`},
		{name: "too small", input: number, given: `{"a": -1.6}`, want: `/a too_small`},
		{name: "text for a number", input: number, given: `{"a": "3"}`, want: `/a wrong_type`},
		{name: "text for a number, from a form", input: number, coerced: `{"a": "3"}`, want: `{"a":3}`},
		{name: "words for a number, from a form", input: number, coerced: `{"a": "three"}`, want: `/a wrong_type`},
		{name: "not a float", input: number, given: `{"a": 1e999}`, want: `/a out_of_range`},
		{name: "list", input: list, given: `{"a": [1, "b"]}`, want: `{"a":[1,"b"]}`},
		{name: "too many items", input: list, given: `{"a": [1, 2, 3]}`, want: `/a too_large`},
		{name: "list from a form", input: list, coerced: `{"a": "[1]"}`, want: `{"a":[1]}`},
		{name: "enum compares numbers", input: enum, given: `{"a": 1.0}`, want: `{"a":1.0}`},
		{name: "enum refuses", input: enum, given: `{"a": 2}`, want: `/a not_allowed`},
		{name: "any text", input: loose, given: `{"a": "xy"}`, want: `{"a":"xy"}`},
		{name: "any short text", input: loose, given: `{"a": "x"}`, want: `/a too_small`},
		{name: "any short list", input: loose, given: `{"a": ["x"]}`, want: `/a too_small`},
		{name: "any text with a pattern", input: loose, given: `{"a": "yx"}`, want: `/a pattern`},
		{name: "any boolean", input: loose, given: `{"a": true}`, want: `{"a":true}`},
		{name: "file", input: file, given: `{"a": {"file": "file_01m7z26njgm1r68xj6qyhfyvty"}}`, want: `{"a":{"file":"file_01m7z26njgm1r68xj6qyhfyvty"}}`},
		{name: "another service's file", input: file, given: `{"a": {"file": "report.pdf"}}`, want: `/a not_found`},
		{name: "text for a file", input: file, given: `{"a": "file_01m7z26njgm1r68xj6qyhfyvty"}`, want: `/a wrong_type`},
		{name: "an ID for a file, from a form", input: file, coerced: `{"a": "file_01m7z26njgm1r68xj6qyhfyvty"}`, want: `{"a":{"file":"file_01m7z26njgm1r68xj6qyhfyvty"}}`},
		{name: "messages", input: `{"name": "a", "type": "messages"}`, given: `{"a": [{"role": "tool", "content": 1, "x": 2}, 3, {"role": "user", "content": [{"type": "text"}]}]}`,
			want: `/a/0/role not_allowed /a/0/x unknown /a/0/content wrong_type /a/1 wrong_type /a/2/content/0 wrong_type`},
		{name: "messages with an address", input: `{"name": "a", "type": "messages", "accept": ["image/png"]}`,
			given: `{"a": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/gif;base64,R0lGODlhAQABAAAAACw="}}]}]}`, want: `/a/0/content/0/image_url not_allowed`},
		{name: "messages that are no pictures", input: `{"name": "a", "type": "messages"}`,
			given: `{"a": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:text/plain;base64,YQ=="}}]}]}`, want: `/a/0/content/0/image_url not_allowed`},
		{name: "words for messages, from a form", input: `{"name": "a", "type": "messages"}`, coerced: `{"a": "Hello"}`, want: `{"a":[{"content":"Hello","role":"user"}]}`},
		{name: "messages from a form", input: `{"name": "a", "type": "messages"}`, coerced: `{"a": "[{\"role\": \"user\", \"content\": \"b\"}]"}`, want: `{"a":[{"role":"user","content":"b"}]}`},
		{name: "default", input: `{"name": "a", "default": "d"}`, given: `{}`, want: `{"a":"d"}`},
		{name: "empty default is one", input: `{"name": "a", "default": ""}`, given: `{"a": null}`, want: `{"a":""}`},
		{name: "false is a default", input: `{"name": "a", "type": "boolean", "default": false}`, given: `{}`, want: `{"a":false}`},
		{name: "null is no default", input: `{"name": "a", "default": null}`, given: `{}`, want: `/a required`},
		{name: "empty text from a form stays", input: `{"name": "a", "default": "d"}`, coerced: `{"a": ""}`, want: `{"a":""}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			given := tt.given + tt.coerced
			values, problems := contract.Check(inputsOf(t, tt.input), flowtest.DecodedObject([]byte(given)), tt.coerced != "")
			got := string(flow.EncodeJSON(values))
			if len(problems) > 0 {
				var b strings.Builder
				for _, p := range problems {
					fmt.Fprintf(&b, "%s %s ", p.Pointer, p.Code)
				}
				got = strings.TrimSpace(b.String())
			}
			if got != tt.want {
				t.Errorf("got %s, want %s (%v)", got, tt.want, problems)
			}
		})
	}
}

func TestCheckInputsSuggests(t *testing.T) {
	t.Parallel()
	inputs := inputsOf(t, `{"name": "ticket"}`, `{"name": "tone", "default": "kind"}`)
	for given, want := range map[string]string{"tikcet": `did you mean "ticket"?`, "ton": `did you mean "tone"?`, "Tone": `did you mean "tone"?`, "hue": `this flow has no input "hue"`, "x": `no input "x"`} {
		_, problems := contract.Check(inputs, value.FromMap(map[string]any{"ticket": "t", given: "v"}), false)
		if len(problems) != 1 || !strings.HasSuffix(problems[0].Detail, want) {
			t.Errorf("%s: %v", given, problems)
		}
	}
}

// declarations and values that are tried against each other.
var (
	declarations = []string{
		`{"name": "v"}`, `{"name": "v", "min": 2, "max": 3}`, `{"name": "v", "pattern": "^a+$"}`, `{"name": "v", "enum": ["a", "é"]}`, `{"name": "v", "default": "d"}`,
		`{"name": "v", "type": "number"}`, `{"name": "v", "type": "number", "min": 0, "max": 2.5}`, `{"name": "v", "type": "number", "enum": [1, 2.50], "default": 1}`,
		`{"name": "v", "type": "boolean"}`, `{"name": "v", "type": "boolean", "enum": [true]}`,
		`{"name": "v", "type": "list"}`, `{"name": "v", "type": "list", "min": 1, "max": 2}`, `{"name": "v", "type": "list", "enum": [[1, "a"], []]}`,
		`{"name": "v", "type": "json"}`, `{"name": "v", "type": "json", "min": 1, "max": 2, "pattern": "a"}`, `{"name": "v", "type": "json", "enum": [{"a": 1.0}, "a", 3]}`,
		`{"name": "v", "type": "text", "description": "d", "example": "e", "min": 0}`,
		`{"name": "v", "type": "file"}`, `{"name": "v", "type": "file", "accept": ["image/png"], "min": 3}`,
		`{"name": "v", "type": "file", "default": {"file": "file_01m7z26njgm1r68xj6qyhfyvty"}}`,
		`{"name": "v", "type": "messages"}`, `{"name": "v", "type": "messages", "max": 1}`, `{"name": "v", "type": "messages", "roles": ["user"], "images": false}`,
	}
	candidates = []string{
		`{}`, `{"v": ""}`, `{"v": "a"}`, `{"v": "é"}`, `{"v": "aaa"}`, `{"v": "aaaa"}`, `{"v": "b"}`, `{"v": 0}`, `{"v": 1}`, `{"v": 1.0}`, `{"v": 2.5}`, `{"v": 25e-1}`, `{"v": 3}`, `{"v": -1}`,
		`{"v": true}`, `{"v": false}`, `{"v": []}`, `{"v": [1]}`, `{"v": [1.0, "a"]}`, `{"v": [1, 2, 3]}`, `{"v": {}}`, `{"v": {"a": 1}}`, `{"v": {"file": "f"}}`, `{"v": {"file": 1}}`,
		`{"v": {"file": "file_01m7z26njgm1r68xj6qyhfyvty"}}`, `{"v": {"file": "file_01m7z26njgm1r68xj6qyhfyvty", "name": "n", "size": 3}}`, `{"v": "a", "w": 1}`, `{"w": 1}`,
		`{"v": [{"role": "user", "content": "a"}]}`, `{"v": [{"role": "assistant", "content": ""}, {"role": "user", "content": "a"}]}`, `{"v": [{"role": "system", "content": "a"}]}`,
		`{"v": [{"role": "tool", "content": "a"}]}`, `{"v": [{"role": "user"}]}`, `{"v": [{"role": "user", "content": null}]}`, `{"v": [{"role": "user", "content": []}]}`, `{"v": [{"content": "a"}]}`,
		`{"v": [{"role": "user", "content": "a", "name": "b"}]}`, `{"v": [{"role": 1, "content": "a"}]}`, `{"v": [{"role": "user", "content": {"type": "text", "text": "a"}}]}`,
		`{"v": [{"role": "user", "content": [{"type": "text", "text": "a"}]}]}`, `{"v": [{"role": "user", "content": [{"type": "text"}]}]}`, `{"v": [{"role": "user", "content": [{"type": "text", "text": 1}]}]}`,
		`{"v": [{"role": "user", "content": [{"type": "text", "text": "a", "image_url": "https://example.com"}]}]}`, `{"v": [{"role": "user", "content": [{"type": "input_audio", "input_audio": {}}]}]}`,
		`{"v": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://example.com/a.png", "detail": "low"}}]}]}`,
		`{"v": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://example.com/a.png", "size": 1}}]}]}`,
		`{"v": [{"role": "user", "content": [{"type": "image_url", "image_url": "https://example.com/a.png"}]}]}`, `{"v": [{"role": "user", "content": [{"type": "image_url", "image_url": {"detail": "low"}}]}]}`,
		`{"v": [{"role": "user", "content": [{"type": "image_url", "image_url": {"file": "file_01m7z26njgm1r68xj6qyhfyvty"}}]}]}`, `{"v": [{"role": "user", "content": [{"type": "image_url", "image_url": {"file": "f"}}]}]}`,
		`{"v": [{"role": "user", "content": [{"type": "image_url", "image_url": "ftp://example.com/a.png"}]}]}`, `{"v": [1]}`,
	}
)

// TestInputsSchemaAgrees: the published JSON Schema accepts exactly what a
// start accepts. Only null differs: it means left out, which JSON Schema
// cannot say.
func TestInputsSchemaAgrees(t *testing.T) {
	t.Parallel()
	for _, declaration := range declarations {
		inputs := inputsOf(t, declaration)
		schema := compileSchema(t, contract.Schema(inputs))
		for _, given := range candidates {
			wantAgreement(t, inputs, schema, given)
		}
	}
}

func wantAgreement(t *testing.T, inputs []contract.Input, schema *jsonschema.Schema, given string) {
	t.Helper()
	_, problems := contract.Check(inputs, flowtest.DecodedObject([]byte(given)), false)
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(given))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(v); (err == nil) != (len(problems) == 0) {
		t.Errorf("%s against %s:\nJSON Schema: %v\na start: %v", given, flow.EncodeJSON(contract.Schema(inputs)), err, problems)
	}
}

func compileSchema(t *testing.T, s map[string]any) *jsonschema.Schema {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(flow.EncodeJSON(s)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("mem:schema", v); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("mem:schema")
	if err != nil {
		t.Fatalf("%v\n%s", err, flow.EncodeJSON(s))
	}
	return schema
}

// TestInputsSchemaAgreesOnRandomValues tries random values and bounds.
func TestInputsSchemaAgreesOnRandomValues(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		kind := contract.InputTypes[rng.IntN(5)]
		declaration := map[string]any{"name": "v", "type": string(kind)}
		if low := rng.IntN(4); rng.IntN(2) == 0 {
			declaration["min"], declaration["max"] = flow.Number(low), flow.Number(low+rng.IntN(3))
		}
		if rng.IntN(3) == 0 {
			declaration["pattern"] = []string{"a", "^b", "1$", "[^a]"}[rng.IntN(4)]
		}
		inputs := inputsOf(t, string(flow.EncodeJSON(declaration)))
		schema := compileSchema(t, contract.Schema(inputs))
		for range 20 {
			wantAgreement(t, inputs, schema, string(flow.EncodeJSON(map[string]any{"v": randomValue(rng, 2)})))
		}
	}
}

func randomValue(rng *rand.Rand, depth int) any {
	switch n := rng.IntN(6); {
	case n == 0:
		return rng.IntN(2) == 0
	case n == 1:
		return flow.Number(float64(rng.IntN(80))/10 - 2)
	case n == 2 && depth > 0:
		list := []any{}
		for range rng.IntN(4) {
			list = append(list, randomValue(rng, depth-1))
		}
		return list
	case n == 3 && depth > 0:
		return map[string]any{"a": randomValue(rng, depth-1)}
	}
	return strings.Repeat([]string{"a", "b", "1", "é"}[rng.IntN(4)], rng.IntN(5))
}

func TestClosest(t *testing.T) {
	t.Parallel()
	known := map[string]bool{"text": true, "template": true, "labels": true, "a": true}
	for name, want := range map[string]string{"txt": "text", "tex": "text", "Text": "text", "label": "labels", "templat": "template", "b": "", "": "", "zzzz": "", "te": "text", strings.Repeat("text", 100): ""} {
		if want != "" {
			want = `; did you mean "` + want + `"?`
		}
		if got := flow.Closest(name, known); got != want {
			t.Errorf("%.20s: %q, want %q", name, got, want)
		}
	}
}

// A value that a step may not return is rejected from a caller too, so that an accepted run does not fail because of it.
func TestCheckInputsRefusesDepth(t *testing.T) {
	t.Parallel()
	deep := any("x")
	for range flow.MaxValueDepth + 1 {
		deep = []any{deep}
	}
	in := []contract.Input{{Name: "j", Type: flow.TypeJSON, Required: true}}
	if _, problems := contract.Check(in, value.FromMap(map[string]any{"j": deep}), false); len(problems) != 1 || problems[0].Code != "too_deep" {
		t.Errorf("got %v", problems)
	}
	if _, problems := contract.Check(in, value.FromMap(map[string]any{"j": deep.([]any)[0]}), false); len(problems) != 0 {
		t.Errorf("one level less: got %v", problems)
	}
}

// TestCheck_bounds_patterns proves that checking an input against its pattern takes little time
// in the handler of a request, whatever the pattern and the text are.
func TestCheck_bounds_patterns(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("a", 1<<20)
	for _, pattern := range []string{`(?:a?){500}b`, `(?:a?){100}a{100}b`, `.{1,900}b`, `(a*)*(a*)*b`, `(?:(?:a|b)*(?:a|c)*){50}!`, strings.Repeat("(a?)", 300) + "b", "(?i)" + strings.Repeat(`\pL`, 600), strings.Repeat("a{1000}", 200)} {
		flowtest.CheckCPU(t, func() {
			inputs := make([]contract.Input, 20)
			given := map[string]any{}
			for i := range inputs {
				inputs[i] = contract.ReadInput(&flow.Node{ID: fmt.Sprint("n", i), Config: map[string]any{"name": fmt.Sprint("n", i), "pattern": pattern}})
				given[inputs[i].Name] = text
			}
			contract.Check(inputs, value.FromMap(given), false)
		})
	}
	in := contract.ReadInput(&flow.Node{ID: "n", Config: map[string]any{"name": "n", "pattern": `(?:a?){500}b`}})
	_, problems := contract.Check([]contract.Input{in}, value.FromMap(map[string]any{"n": text}), false)
	if len(problems) != 1 || problems[0].Code != "pattern" || !strings.Contains(problems[0].Detail, "too long to be checked") {
		t.Errorf("got %v", problems)
	}
	in = contract.ReadInput(&flow.Node{ID: "n", Config: map[string]any{"name": "n", "pattern": strings.Repeat("a{1000}", 200)}})
	if problems := in.Problems(); len(problems) != 1 || !strings.Contains(problems[0].Detail, "repeats too much") {
		t.Errorf("got %v", problems)
	}
}

func TestCheck_keeps_order(t *testing.T) {
	t.Parallel()
	inputs := []contract.Input{{Name: "a", Type: flow.TypeText}, {Name: "b", Type: flow.TypeText}, {Name: "c", Type: flow.TypeText, Default: "3"}, {Name: "d", Type: flow.TypeText, Default: "4"}}
	given := value.NewObject(value.Member{Name: "d", Value: nil}, value.Member{Name: "b", Value: "2"}, value.Member{Name: "a", Value: "1"})
	values, problems := contract.Check(inputs, given, false)
	if got := strings.Join(values.Names(), " "); len(problems) > 0 || got != "b a c d" {
		t.Errorf("the order is %s, with %v", got, problems)
	}
}

// TestCheck_lists_only_the_first_allowed_values keeps the error for one value short, however many others
// are allowed.
func TestCheck_lists_only_the_first_allowed_values(t *testing.T) {
	t.Parallel()
	many := make([]string, 5000)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	for enum, want := range map[string]string{
		"1, 2, 3":               "wanted one of [1,2,3]",
		strings.Join(many, ","): "wanted one of [0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19] and 4980 more",
	} {
		inputs := inputsOf(t, `{"name": "a", "type": "number", "enum": [`+enum+`]}`)
		_, problems := contract.Check(inputs, flowtest.DecodedObject([]byte(`{"a": -1}`)), false)
		if len(problems) != 1 || problems[0].Detail != want {
			t.Errorf("got %v, want %q", problems, want)
		}
	}
}
