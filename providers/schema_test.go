package providers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sluice/flow/value"
	"strings"
	"testing"
	"time"
)

// doubling is a schema whose levels each refer to the next one twice.
func doubling(levels int) string {
	var defs []string
	for i := range levels {
		defs = append(defs, fmt.Sprintf(`"l%d":{"allOf":[{"$ref":"#/$defs/l%d"},{"$ref":"#/$defs/l%d"}]}`, i, i+1, i+1))
	}
	return fmt.Sprintf(`{"type":"object","allOf":[{"$ref":"#/$defs/l0"}],"$defs":{%s,"l%d":{"type":"object"}}}`, strings.Join(defs, ","), levels)
}

// branching refers to itself twice below the same property, so each level of an
// answer doubles the work. No count of the schema alone can tell.
const branching = `{"type":"object","allOf":[{"properties":{"a":{"$ref":"#"}}},{"properties":{"a":{"$ref":"#"}}}]}`

func nested(levels int) string {
	return strings.Repeat(`{"a":`, levels) + "{}" + strings.Repeat("}", levels)
}

func TestCheckSchema(t *testing.T) {
	t.Parallel()
	enum := strings.TrimSuffix(strings.Repeat(`"DE",`, 250), ",")
	for _, c := range []struct{ name, schema, says string }{
		{"takes an empty one", `{}`, ""},
		{"takes a usual one", roomy, ""},
		{"takes references within", `{"properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"type":"string"}}}`, ""},
		{"takes one that refers to itself", `{"type":"object","properties":{"left":{"$ref":"#"},"right":{"$ref":"#"}}}`, ""},
		{"takes one that branches", branching, ""},
		{"takes a list of values that is used often", `{"$defs":{"e":{"enum":[` + enum + `]}},"properties":{` + properties(100, `{"$ref":"#/$defs/e"}`) + `}}`, ""},
		{"takes an old dialect", `{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"x":{"type":"string"}},"properties":{"a":{"$ref":"#/definitions/x"}}}`, ""},
		{"takes a name of its own", `{"$id":"https://example.com/x","$defs":{"x":{"$anchor":"here","type":"string"}},"properties":{"a":{"$ref":"#here"}}}`, ""},
		{"takes a few levels that double", doubling(9), ""},
		{"refuses many", doubling(22), "more than 5,000 parts"},
		{"refuses very many", doubling(400), "more than 5,000 parts"},
		{"refuses very many of an old dialect", strings.Replace(doubling(400), "{", `{"$schema":"http://json-schema.org/draft-07/schema#",`, 1), "more than 5,000 parts"},
		{"refuses many small ones", `{"allOf":[` + strings.Repeat("true,", 5000) + `true]}`, "more than 5,000 parts"},
		{"refuses a long pattern", `{"pattern":"` + strings.Repeat("a", 1001) + `"}`, "longer than 1,000 characters"},
		{"refuses a large pattern", `{"patternProperties":{"(.{0,900}x){1}` + strings.Repeat(".{0,1000}", 5) + `":true}}`, "repeats too much"},
		{"refuses what is no pattern", `{"properties":{"a":{"pattern":"("}}}`, "at /properties/a/pattern: this is not a regular expression: missing closing )"},
		{"refuses an invalid type", `{"type":5}`, "at /type: wanted"},
		{"refuses references that depend on the place", `{"$dynamicAnchor":"n","properties":{"a":{"$dynamicRef":"#n"}}}`, "$dynamicRef"},
		{"refuses the schema of schemas", `{"$ref":"https://json-schema.org/draft/2020-12/schema"}`, "another document"},
		{"refuses another dialect", `{"$schema":"https://example.com/dialect"}`, "another document"},
		{"refuses numbers without end", `{"enum":[1e999999]}`, "1,000 digits"},
		{"refuses a reference to nowhere", `{"$ref":"#/$defs/x"}`, "not a JSON Schema"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			err := CheckSchema(exactly(t, c.schema))
			if took := time.Since(start); took > time.Minute {
				t.Errorf("took %v", took)
			}
			if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says) || len(err.Error()) > 500) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// exactly keeps numbers as they are written, as documents of flows do.
func exactly(t *testing.T, text string) map[string]any {
	t.Helper()
	v, err := parse(text)
	if err != nil {
		t.Fatal(err)
	}
	m, _ := value.AsMap(v)
	return m
}

func properties(n int, each string) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf(`"p%d":%s`, i, each))
	}
	return strings.Join(list, ",")
}

// TestChatSchemaEffort meets answers that take longer to check than anybody
// waits.
func TestChatSchemaEffort(t *testing.T) {
	t.Parallel()
	words := `["` + strings.Repeat(strings.Repeat("ab", 20000)+`","`, 20) + `"]`
	for _, c := range []struct{ name, schema, answer string }{
		{"doubles with its depth", branching, nested(40)},
		{"doubles in an old dialect", `{"$schema":"http://json-schema.org/draft-07/schema#",` + branching[1:], nested(40)},
		{"doubles where it is only asked whether it fits", `{"not":{"$ref":"#/$defs/b"},"$defs":{"b":{"allOf":[{"properties":{"a":{"$ref":"#/$defs/b"}}},{"properties":{"a":{"$ref":"#/$defs/b"}}}]}}}`, nested(40)},
		{"has patterns that take long", `{"items":{"pattern":"(.{0,1000}){1}x.{0,1000}y"}}`, words},
		{"compares many values with many", `{"items":{"enum":[` + strings.TrimSuffix(strings.Repeat("1.5,", 10000), ",") + `]}}`, "[" + strings.Repeat("7,", 50000) + "7]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			u := setup(t, func(w http.ResponseWriter, _ *http.Request) { stream(w, says(c.answer)...) })
			r, err := u.client.Chat(brief(t), u.at("openai_compatible"), ChatRequest{Model: "m", Prompt: "?", Schema: schemaOf(t, c.schema)}, nil)
			if e := failure(t, err); e.Class != ClassBadAnswer || e.Retryable || !strings.Contains(e.Message, "cannot be checked") {
				t.Errorf("got %+v", e)
			}
			if r == nil || r.Usage.InputTokens != 7 || len(u.asked()) != 1 {
				t.Errorf("got %+v after %d calls", r, len(u.asked()))
			}
		})
	}
	t.Run("refuses numbers without end", func(t *testing.T) {
		t.Parallel()
		u := setup(t, func(w http.ResponseWriter, _ *http.Request) {
			stream(w, says("["+strings.Repeat("1e999999,", 2000)+"1]")...)
		})
		_, err := u.client.Chat(brief(t), u.at("openai_compatible"), ChatRequest{Model: "m", Prompt: "?", Schema: schemaOf(t, `{"items":{"type":"integer"}}`)}, nil)
		if e := failure(t, err); e.Class != ClassBadAnswer || !strings.Contains(e.Message, "1,000 digits") || len(u.asked()) != 2 {
			t.Errorf("got %+v after %d calls", e, len(u.asked()))
		}
	})
	t.Run("bears what is only large", func(t *testing.T) {
		t.Parallel()
		schema := `{"type":"array","items":{"type":"object","properties":{` + properties(20, `{"type":"string","pattern":"^[a-z]{1,20}$"}`) + `}}}`
		answer := "[" + strings.TrimSuffix(strings.Repeat("{"+properties(20, `"word"`)+"},", 2000), ",") + "]"
		u := setup(t, func(w http.ResponseWriter, _ *http.Request) { stream(w, says(answer)...) })
		if _, err := u.client.Chat(brief(t), u.at("openai_compatible"), ChatRequest{Model: "m", Prompt: "?", Schema: schemaOf(t, schema)}, nil); err != nil {
			t.Error(err)
		}
	})
	t.Run("ends with the context", func(t *testing.T) {
		t.Parallel()
		f, err := newForm(schemaOf(t, branching))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, _, err := f.read(ctx, nested(3)); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		if v, wrong, err := f.read(t.Context(), nested(3)); err != nil || wrong != "" || v == nil {
			t.Errorf("afterwards: %v %q %v", v, wrong, err)
		}
	})
}

func TestSchemaNumbers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"1": true, "-1.5e300": true, "1E-300": true, "1e309": true, "1e1001": false, "1e1000": true, "2E+999999": false, "1e-99999999999999999999": false} {
		if got := bearable(json.Number(text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// TestAnswerProblemWords checks that every way in which an answer can break a schema is described in Sluice's words, not those of the library.
func TestAnswerProblemWords(t *testing.T) {
	t.Parallel()
	for schema, c := range map[string]struct{ answer, says string }{
		`{"enum":[1,"a"]}`:                           {`2`, `at the top: must be one of 1, "a"`},
		`{"const":"a"}`:                              {`"b"`, `at the top: must be "a"`},
		`{"items":{"minimum":2.5}}`:                  {`[1]`, "at /0: must be at least 2.5"},
		`{"maximum":2}`:                              {`3`, "must be at most 2"},
		`{"exclusiveMinimum":2}`:                     {`2`, "must be more than 2"},
		`{"exclusiveMaximum":2}`:                     {`2`, "must be less than 2"},
		`{"multipleOf":0.5}`:                         {`0.3`, "must be a multiple of 0.5"},
		`{"minLength":3}`:                            {`"a"`, "has 1 characters, wanted at least 3"},
		`{"maxLength":1}`:                            {`"abc"`, "has 3 characters, wanted at most 1"},
		`{"minItems":1}`:                             {`[]`, "has 0 items, wanted at least 1"},
		`{"maxItems":1}`:                             {`[1,2]`, "has 2 items, wanted at most 1"},
		`{"minProperties":1}`:                        {`{}`, "has 0 properties, wanted at least 1"},
		`{"maxProperties":1}`:                        {`{"a":1,"b":2}`, "has 2 properties, wanted at most 1"},
		`{"uniqueItems":true}`:                       {`[1,2,1]`, "items 1 and 3 are equal"},
		`{"pattern":"^a$"}`:                          {`"b"`, "does not match its pattern"},
		`{"propertyNames":{"maxLength":1}}`:          {`{"ab":1}`, "has 2 characters, wanted at most 1"},
		`{"properties":{"a":false}}`:                 {`{"a":1}`, "at /a: must be left out"},
		`{"dependentRequired":{"a":["b"]}}`:          {`{"a":1}`, `needs "b", as it has "a"`},
		`{"not":{"type":"string"}}`:                  {`"a"`, "must not fit the schema of not"},
		`{"contains":{"type":"string"}}`:             {`[]`, "does not fit contains"},
		`{"oneOf":[{"minimum":1},{"minimum":2}]}`:    {`3`, "fits several schemas of oneOf"},
		`{"unevaluatedProperties":false}`:            {`{"a":1}`, "at /a: must be left out"},
		`{"prefixItems":[{}],"items":false}`:         {`[1,2]`, "at /1: must be left out"},
		`{"contains":{"const":1},"maxContains":1}`:   {`[1,1]`, "does not fit maxContains"},
		`{"contains":{"const":1},"minContains":2}`:   {`[1]`, "does not fit minContains"},
		`{"anyOf":[{"type":"null"},{"minItems":5}]}`: {`[]`, "wanted null, got array"},
	} {
		t.Run(schema, func(t *testing.T) {
			t.Parallel()
			f, err := newForm(exactly(t, schema))
			if err != nil {
				t.Fatal(err)
			}
			_, wrong, err := f.read(t.Context(), c.answer)
			if err != nil || !strings.Contains(wrong, c.says) || strings.Contains(wrong, "failed") || strings.Contains(wrong, "'") {
				t.Errorf("got %q, %v; want %q", wrong, err, c.says)
			}
		})
	}
}
