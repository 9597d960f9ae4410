package providers

import (
	"encoding/json"
	"net/http"
	"reflect"
	"sluice/flow/value"
	"strings"
	"testing"
)

// city is a schema that fits strict mode; roomy is one that does not, because
// of its keyword minProperties.
const (
	city  = `{"type":"object","properties":{"city":{"type":"string"},"people":{"type":["integer","null"]}},"required":["city"]}`
	roomy = `{"type":"object","properties":{"city":{"type":"string"},"people":{"type":"integer","minimum":1}},"required":["city"],"minProperties":1}`
	// sparse has optional properties, which may not be null.
	sparse = `{"type":"object","properties":{"city":{"type":"string"},"people":{"type":"integer"},"size":{"enum":["s","l"]},
		"mayor":{"$ref":"#/$defs/person"},"roads":{"type":"array","items":{"$ref":"#/$defs/person"}}},"required":["city"],
		"$defs":{"person":{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer"},"title":{"type":["string","null"]}},"required":["name"]}}}`
)

func schemaOf(t *testing.T, text string) map[string]any {
	t.Helper()
	var schema map[string]any
	if err := json.Unmarshal([]byte(text), &schema); err != nil {
		t.Fatal(err)
	}
	return schema
}

func TestChatSchema(t *testing.T) {
	t.Parallel()
	bern := map[string]any{"city": "Bern", "people": json.Number("134000")}
	good := `{"city":"Bern","people":134000}`
	for _, c := range []struct {
		name, provider, schema string
		answers                []string
		want                   any
		class                  ErrorClass
		wrong                  string // in the message, or in the second turn
	}{
		{"is promised by strict mode", "openai", city, []string{good}, bern, "", ""},
		{"is not repaired where it was promised", "openai", city, []string{`{"people":1}`}, nil, ClassBadAnswer, "needs \"city\""},
		{"is asked for without strict mode", "openai", roomy, []string{good}, bern, "", ""},
		{"is repaired where it was not promised", "openai", roomy, []string{`{"city":"Bern","people":0}`, good}, bern, "", "at /people: must be at least"},
		{"is in the prompt of JSON mode", "deepseek", roomy, []string{good}, bern, "", ""},
		{"may come in a fence", "openai_compatible", roomy, []string{"Here it is:\n```json\n" + good + "\n```\nAnything else?"}, bern, "", ""},
		{"may come after thoughts", "openai_compatible", roomy, []string{"<think>{Bern?}</think>\n" + good}, bern, "", ""},
		{"is repaired when it is no JSON", "openai_compatible", roomy, []string{"Bern!", good}, bern, "", "it is not JSON"},
		{"fails when the repair does", "deepseek", roomy, []string{"Bern!", `{"city":7}`}, nil, ClassBadAnswer, "at /city: wanted string, got number"},
		{"drops null for optional properties", "openai", sparse, []string{`{"city":"Bern","people":null,"size":null,"mayor":{"name":"Ann","age":null,"title":null},"roads":[{"name":"A1","age":null,"title":"x"}]}`},
			map[string]any{"city": "Bern", "mayor": map[string]any{"name": "Ann", "title": nil}, "roads": []any{map[string]any{"name": "A1", "title": "x"}}}, "", ""},
		{"drops null without strict mode too", "deepseek", sparse, []string{`{"city":"Bern","people":null,"mayor":null}`}, map[string]any{"city": "Bern"}, "", ""},
		{"drops null beside other keywords", "gemini", roomy, []string{`{"city":"Bern","people":null}`}, map[string]any{"city": "Bern"}, "", ""},
		{"does not drop null for a required property", "openai", sparse, []string{`{"city":null}`}, nil, ClassBadAnswer, "at /city: wanted string, got null"},
		{"does not drop null in a list", "openai", sparse, []string{`{"city":"Bern","roads":[null]}`}, nil, ClassBadAnswer, "at /roads/0: wanted object, got null"},
		{"may come after the end of thoughts", "openai_compatible", roomy, []string{"Bern {or} not\n</think>\n\n" + good}, bern, "", ""},
		{"may come after thoughts in a fence", "openai_compatible", roomy, []string{"<think>\n```json\n{\"city\":\"Rome\"}\n```\n</think>\n```json\n" + good + "\n```"}, bern, "", ""},
		{"may come after prose", "openai_compatible", roomy, []string{"Of the cities {of the list} this is it:\n" + good}, bern, "", ""},
		{"may come between prose", "openai_compatible", roomy, []string{"Sure! " + good + " Anything {else}?"}, bern, "", ""},
		{"may have braces in its texts", "openai_compatible", roomy, []string{`Here: {"city":"B}e\"{rn","people":1}`}, map[string]any{"city": `B}e"{rn`, "people": json.Number("1")}, "", ""},
		{"is not chosen among several", "openai_compatible", roomy, []string{`First {"city":"Rome"} and then ` + good, good}, bern, "", "several JSON values"},
		{"is not taken from thoughts that did not end", "openai_compatible", roomy, []string{`<think>Maybe {"city":"Rome"}`, good}, bern, "", "it is not JSON"},
		{"may be something other than an object", "openai", `{"type":"array","items":{"type":"integer"}}`, []string{"[1,2]"}, []any{json.Number("1"), json.Number("2")}, "", ""},
		{"refers within itself", "deepseek", `{"type":"object","properties":{"a":{"$ref":"#/$defs/n"}},"required":["a"],"$defs":{"n":{"type":"number"}}}`, []string{`{"a":1.5}`}, map[string]any{"a": json.Number("1.5")}, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var u *upstream
			u = setup(t, func(w http.ResponseWriter, _ *http.Request) { stream(w, says(c.answers[len(u.asked())-1])...) })
			r, err := u.client.Chat(brief(t), u.at(c.provider), ChatRequest{Model: "m", Prompt: "?", Schema: schemaOf(t, c.schema)}, nil)
			calls := u.asked()
			if len(calls) != len(c.answers) {
				t.Errorf("asked %d times, wanted %d", len(calls), len(c.answers))
			}
			if c.class != "" {
				if e := failure(t, err); e.Class != c.class || e.Retryable || !strings.Contains(e.Message, c.wrong) {
					t.Errorf("got %s %q", e.Class, e.Message)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if !value.Equal(r.JSON, c.want) || r.Usage.InputTokens != int64(7*len(calls)) || r.Usage.OutputTokens != int64(3*len(calls)) {
				t.Errorf("got %v with %+v, wanted %v", r.JSON, r.Usage, c.want)
			}
			if len(calls) == 2 {
				checkRepair(t, calls[1], c.answers[0], c.wrong)
			}
		})
	}
}

// checkRepair wants the second turn to hold the first answer and what is wrong
// with it.
func checkRepair(t *testing.T, c call, answer, wrong string) {
	t.Helper()
	messages := c.json(t)["messages"].([]any)
	tail := messages[len(messages)-2:]
	said, asked := tail[0].(map[string]any), tail[1].(map[string]any)
	if said["role"] != "assistant" || said["content"] != answer || asked["role"] != "user" || !strings.Contains(asked["content"].(string), wrong) {
		t.Errorf("the second turn ends with %v", tail)
	}
}

func TestChatSchemaOnAnthropic(t *testing.T) {
	t.Parallel()
	t.Run("is the input of a forced tool", func(t *testing.T) {
		t.Parallel()
		u := setup(t, func(w http.ResponseWriter, _ *http.Request) {
			stream(w, claude(claudeText("I look it up. "), claudeJSON(""), claudeJSON(`{"city":`), claudeJSON(`"Bern"}`), claudeEnd("tool_use"))...)
		})
		var preview strings.Builder
		r, err := u.client.Chat(brief(t), u.at("anthropic"), ChatRequest{Model: "m", Prompt: "?", Schema: schemaOf(t, roomy)}, func(s string) { preview.WriteString(s) })
		if err != nil || !value.Equal(r.JSON, map[string]any{"city": "Bern"}) || r.Stop != "stop" || r.Text != `{"city":"Bern"}` || preview.String() != r.Text {
			t.Fatalf("got %+v, %v", r, err)
		}
		body := u.last(t).json(t)
		wantTools := []any{map[string]any{"name": "answer", "input_schema": schemaOf(t, roomy)}}
		if !reflect.DeepEqual(body["tools"], wantTools) || !reflect.DeepEqual(body["tool_choice"], map[string]any{"type": "tool", "name": "answer"}) {
			t.Errorf("sent %v and %v", body["tools"], body["tool_choice"])
		}
	})
	t.Run("is in the prompt when it is no object, and repaired", func(t *testing.T) {
		t.Parallel()
		var u *upstream
		u = setup(t, func(w http.ResponseWriter, _ *http.Request) {
			answer := []string{"", "[3]"}[len(u.asked())-1]
			stream(w, claude(claudeText(answer), claudeEnd("end_turn"))...)
		})
		r, err := u.client.Chat(brief(t), u.at("anthropic"), ChatRequest{Model: "m", Prompt: "?", Schema: schemaOf(t, `{"type":"array","minItems":1}`)}, nil)
		if err != nil || !reflect.DeepEqual(r.JSON, []any{json.Number("3")}) || r.Usage.OutputTokens != 18 {
			t.Fatalf("got %+v, %v", r, err)
		}
	})
}

func TestChatSchemaCutOff(t *testing.T) {
	t.Parallel()
	u := setup(t, func(w http.ResponseWriter, _ *http.Request) {
		stream(w, delta(`{"city":"Be`), finish("length"), usage(5, 8), done)
	})
	_, err := u.client.Chat(brief(t), u.at("deepseek"), ChatRequest{Model: "m", Prompt: "?", Schema: schemaOf(t, roomy)}, nil)
	if e := failure(t, err); e.Class != ClassBadAnswer || !strings.Contains(e.Message, "cut off after 8 tokens") || len(u.asked()) != 1 {
		t.Errorf("got %s %q after %d calls", e.Class, e.Message, len(u.asked()))
	}
}

func TestSchemaRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ schema, says string }{
		"of a type nobody knows":  {`{"type":"strng"}`, "at /type"},
		"that reads a file":       {`{"$ref":"file:///etc/passwd"}`, "another document"},
		"that reads the network":  {`{"properties":{"a":{"$ref":"http://169.254.169.254/x"}}}`, "another document"},
		"that is larger than may": {`{"description":"` + strings.Repeat("x", maxSchema) + `"}`, "larger than 64 KiB"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := setup(t, func(http.ResponseWriter, *http.Request) {})
			_, err := u.client.Chat(brief(t), u.at("openai"), ChatRequest{Model: "m", Prompt: "?", Schema: schemaOf(t, c.schema)}, nil)
			if e := failure(t, err); e.Class != ClassBadRequest || !strings.Contains(e.Message, c.says) || len(u.asked()) != 0 {
				t.Errorf("got %s %q", e.Class, e.Message)
			}
		})
	}
}

func TestStrictSchema(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, schema, want string }{
		{"closes and requires", `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`,
			`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`},
		{"requires what may be null", city,
			`{"type":"object","properties":{"city":{"type":"string"},"people":{"type":["integer","null"]}},"required":["city","people"],"additionalProperties":false}`},
		{"goes down", `{"$schema":"x","type":"object","properties":{"a":{"type":"array","items":{"$ref":"#/$defs/b"}}},"required":["a"],"$defs":{"b":{"anyOf":[{"type":"null"},{"type":"object","properties":{"c":{"const":1}},"required":["c"]}]}}}`,
			`{"type":"object","properties":{"a":{"type":"array","items":{"$ref":"#/$defs/b"}}},"required":["a"],"additionalProperties":false,"$defs":{"b":{"anyOf":[{"type":"null"},{"type":"object","properties":{"c":{"const":1}},"required":["c"],"additionalProperties":false}]}}}`},
		{"lets optional properties be null", `{"type":"object","properties":{"a":{"type":"string"},"b":{"enum":["x"],"type":"string"},"c":{"$ref":"#/$defs/d"},"e":{"anyOf":[{"type":"string"},{"type":"number"}]},"f":{"const":1},"g":{"type":["string","number"]},"h":{"description":"anything"}},"$defs":{"d":{"type":"number"}}}`,
			`{"type":"object","properties":{"a":{"type":["string","null"]},"b":{"enum":["x",null],"type":["string","null"]},"c":{"anyOf":[{"$ref":"#/$defs/d"},{"type":"null"}]},"e":{"anyOf":[{"type":"string"},{"type":"number"},{"type":"null"}]},"f":{"anyOf":[{"const":1},{"type":"null"}]},"g":{"type":["string","number","null"]},"h":{"description":"anything"}},"$defs":{"d":{"type":"number"}},"required":["a","b","c","e","f","g","h"],"additionalProperties":false}`},
		{"lets optional objects be null", `{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"string"}}}}}`,
			`{"type":"object","properties":{"a":{"type":["object","null"],"properties":{"b":{"type":["string","null"]}},"required":["b"],"additionalProperties":false}},"required":["a"],"additionalProperties":false}`},
		{"lets an enum be null", `{"type":"object","properties":{"a":{"type":["string","null"],"enum":["x"]}}}`,
			`{"type":"object","properties":{"a":{"type":["string","null"],"enum":["x",null]}},"required":["a"],"additionalProperties":false}`},
		{"leaves other keywords", roomy, ""},
		{"leaves open objects", `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":true}`, ""},
		{"leaves objects without properties", `{"type":"object"}`, ""},
		{"leaves keywords it does not know", `{"type":"object","properties":{"a":{"type":"string","minLength":2}},"required":["a"]}`, ""},
		{"leaves boolean schemas", `{"type":"object","properties":{"a":true},"required":["a"]}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			schema := schemaOf(t, c.schema)
			got, ok := strictSchema(value.FromMap(schema))
			if !reflect.DeepEqual(schema, schemaOf(t, c.schema)) {
				t.Error("the schema itself was changed")
			}
			if c.want == "" {
				if ok {
					t.Errorf("got %v, wanted none", got)
				}
			} else if !ok || !value.Equal(got, schemaOf(t, c.want)) {
				t.Errorf("got %s, wanted %s", value.Encode(got), c.want)
			}
		})
	}
}
