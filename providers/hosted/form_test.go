package hosted_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"sluice/providers/hosted"
)

// decode reads JSON as the client does.
func decode(t testing.TB, text string) map[string]any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v map[string]any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}

// modelOf makes a model of its schemas.
func modelOf(t testing.TB, schemas string) *hosted.Model {
	t.Helper()
	all := decode(t, schemas)
	m := &hosted.Model{All: all}
	m.Input, _ = all["Input"].(map[string]any)
	m.Output, _ = all["Output"].(map[string]any)
	return m
}

// formOf makes a form with one input called name.
func formOf(t testing.TB, name, property, others string) *hosted.Form {
	t.Helper()
	return hosted.NewForm(modelOf(t, `{"Input":{"type":"object","properties":{"`+name+`":`+property+`}},"Output":{"type":"string"}`+others+`}`))
}

func TestWidgets(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, property, others string
		widget                 hosted.Widget
		whole                  bool
		options                []any
	}{
		{name: "allOf a choice", property: `{"allOf":[{"$ref":"#/components/schemas/size"}],"default":"m"}`, others: `,"size":{"type":"string","enum":["s","m"]}`,
			widget: hosted.WidgetSelect, options: []any{"s", "m"}},
		{name: "ref to a choice", property: `{"$ref":"#/components/schemas/size"}`, others: `,"size":{"type":"integer","enum":[1,2]}`,
			widget: hosted.WidgetSelect, whole: true, options: []any{json.Number("1"), json.Number("2")}},
		{name: "choice", property: `{"enum":["a",null,"a","b"]}`, widget: hosted.WidgetSelect, options: []any{"a", "b"}},
		{name: "numbers written as texts", property: `{"type":"integer","enum":["32","64"],"default":64}`,
			widget: hosted.WidgetSelect, whole: true, options: []any{json.Number("32"), json.Number("64")}},
		{name: "choice of objects", property: `{"enum":[{"a":1}]}`, widget: hosted.WidgetJSON},
		{name: "bounded", property: `{"type":"number","minimum":0,"maximum":1}`, widget: hosted.WidgetSlider},
		{name: "bounded whole", property: `{"type":"integer","minimum":0,"maximum":1}`, widget: hosted.WidgetSlider, whole: true},
		{name: "half bounded", property: `{"type":"number","minimum":0}`, widget: hosted.WidgetNumber},
		{name: "whole", property: `{"type":"integer"}`, widget: hosted.WidgetInteger, whole: true},
		{name: "bounds that leave nothing", property: `{"type":"number","minimum":5,"maximum":5}`, widget: hosted.WidgetNumber},
		{name: "switch", property: `{"type":"boolean"}`, widget: hosted.WidgetSwitch},
		{name: "switch with choices", property: `{"type":"boolean","enum":["True","False"]}`, widget: hosted.WidgetSwitch},
		{name: "image", property: `{"type":"string","format":"uri"}`, widget: hosted.WidgetFile},
		{name: "optional image", property: `{"anyOf":[{"type":"string","format":"uri"},{"type":"null"}]}`, widget: hosted.WidgetFile},
		{name: "images", property: `{"type":"array","items":{"type":"string","format":"uri"}}`, widget: hosted.WidgetFiles},
		{name: "tags", property: `{"type":"array","items":{"type":"string"}}`, widget: hosted.WidgetList},
		{name: "numbers", property: `{"type":["array","null"],"items":{"type":"integer"}}`, widget: hosted.WidgetList},
		{name: "boxes", property: `{"type":"array","items":{"type":"array"}}`, widget: hosted.WidgetJSON},
		{name: "code word", property: `{"type":"string","format":"password"}`, widget: hosted.WidgetSecret},
		{name: "marked", property: `{"type":"string","x-cog-secret":true}`, widget: hosted.WidgetSecret},
		{name: "huggingface_access_token", property: `{"type":"string"}`, widget: hosted.WidgetSecret},
		{name: "openai_api_key", property: `{"type":"string"}`, widget: hosted.WidgetSecret},
		{name: "placeholder_token", property: `{"type":"string"}`, widget: hosted.WidgetText},
		{name: "suppress_tokens", property: `{"type":"string"}`, widget: hosted.WidgetText},
		{name: "negative_prompt", property: `{"type":"string"}`, widget: hosted.WidgetTextarea},
		{name: "lyrics", property: `{"type":"string"}`, widget: hosted.WidgetTextarea},
		{name: "notes", property: `{"type":"string","default":"one\ntwo"}`, widget: hosted.WidgetTextarea},
		{name: "voice_id", property: `{"type":"string"}`, widget: hosted.WidgetText},
		{name: "object", property: `{"type":"object"}`, widget: hosted.WidgetJSON},
		{name: "either", property: `{"anyOf":[{"type":"string"},{"type":"integer"}]}`, widget: hosted.WidgetJSON},
		{name: "nothing said", property: `{}`, widget: hosted.WidgetJSON},
		{name: "no schema", property: `true`, widget: hosted.WidgetJSON},
		{name: "circle", property: `{"$ref":"#/components/schemas/a"}`, others: `,"a":{"allOf":[{"$ref":"#/components/schemas/a"}]}`, widget: hosted.WidgetJSON},
		{name: "elsewhere", property: `{"$ref":"https://example.com/schema.json"}`, widget: hosted.WidgetJSON},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := formOf(t, c.name, c.property, c.others)
			if f.Incompatible != "" || len(f.Fields) != 1 {
				t.Fatalf("got %+v", f)
			}
			got := f.Fields[0]
			if got.Widget != c.widget || got.Whole != c.whole || !reflect.DeepEqual(got.Options, c.options) {
				t.Errorf("got %s, whole %v, options %v", got.Widget, got.Whole, got.Options)
			}
		})
	}
}

func TestNewForm(t *testing.T) {
	t.Parallel()
	t.Run("orders its fields and shows the first", func(t *testing.T) {
		t.Parallel()
		f := hosted.NewForm(modelOf(t, `{"Input":{"type":"object","required":["z"],"properties":{
			"a":{"type":"string","x-order":5},"b":{"type":"string","x-order":0},"c":{"type":"string","x-order":1},"d":{"type":"string","x-order":2},
			"e":{"type":"string","x-order":3},"last":{"type":"string"},"z":{"type":"string","x-order":9},
			"disable_safety_checker":{"type":"boolean","default":false,"x-order":0.5}}}}`))
		var got []string
		for _, field := range f.Fields {
			got = append(got, fmt.Sprint(field.Name, field.More))
		}
		want := []string{"bfalse", "disable_safety_checkertrue", "cfalse", "dfalse", "etrue", "atrue", "zfalse", "lasttrue"}
		if !slices.Equal(got, want) {
			t.Errorf("got %v, wanted %v", got, want)
		}
	})
	t.Run("says why a model cannot be used", func(t *testing.T) {
		t.Parallel()
		for schemas, why := range map[string]string{
			`{}`: "", `{"Input":{"type":"string"}}`: "no named inputs",
			`{"Input":{"type":"object","properties":[]}}`:                                      "no named inputs",
			`{"TrainingInput":{"type":"object"},"Output":{"type":"string"}}`:                   "only be trained",
			`{"Input":{"type":"object","properties":{}},"Output":{"type":"null"}}`:             "has no output",
			`{"Input":{"type":"object"},"Output":{"type":"string"}}`:                           "",
			`{"Input":{"type":"object","properties":{"a":{"type":"string"}}},"Output":{}}`:     "",
			`{"Input":{"properties":{"a":{"type":"string"}}},"Output":{"type":"nonsense"}}`:    "",
			`{"Input":{"type":"object","properties":{"a":{"$ref":"#/components/schemas/x"}}}}`: "",
		} {
			got := hosted.NewForm(modelOf(t, schemas)).Incompatible
			if why == "" && got != "" || !strings.Contains(strings.ReplaceAll(got, "not take named", "no named"), why) {
				t.Errorf("%s: %q, wanted %q", schemas, got, why)
			}
		}
	})
	t.Run("keeps a default that its own schema takes", func(t *testing.T) {
		t.Parallel()
		for property, want := range map[string]any{
			`{"type":"integer","default":"7"}`: json.Number("7"), `{"type":"boolean","default":"True"}`: true,
			`{"type":"number","minimum":1,"default":0}`: nil, `{"type":"string","default":null}`: nil,
			`{"type":"string","format":"uri","default":"lenna.jpg"}`:             nil,
			`{"type":"string","format":"uri","default":"https://example.com/a"}`: "https://example.com/a",
			`{"type":"string","format":"password","default":"hunter2"}`:          nil,
			`{"enum":["a"],"default":"b"}`:                                       nil,
		} {
			if got := formOf(t, "x", property, "").Fields[0].Default; got != want {
				t.Errorf("%s: %v, wanted %v", property, got, want)
			}
		}
	})
	t.Run("goes round no circle", func(t *testing.T) {
		t.Parallel()
		f := formOf(t, "x", `{"$ref":"#/components/schemas/tree"}`, `,"tree":{"type":"object","properties":{"child":{"$ref":"#/components/schemas/tree"}}}`)
		if got, _ := json.Marshal(f.Fields[0].Schema); string(got) != `{"properties":{"child":{}},"type":"object"}` {
			t.Errorf("got %s", got)
		}
	})
	t.Run("is not impressed by size", func(t *testing.T) {
		t.Parallel()
		props := strings.Builder{}
		for i := range 501 {
			fmt.Fprintf(&props, `"p%d":{},`, i)
		}
		if f := hosted.NewForm(modelOf(t, `{"Input":{"type":"object","properties":{`+props.String()+`"x":{}}}}`)); !strings.Contains(f.Incompatible, "500") {
			t.Errorf("got %q", f.Incompatible)
		}
	})
	t.Run("makes no more of little than a form can have", func(t *testing.T) {
		t.Parallel()
		double := strings.Builder{} // each schema refers twice to the next: 2^40 parts
		for i := range 40 {
			fmt.Fprintf(&double, `,"s%d":{"properties":{"a":{"$ref":"#/components/schemas/s%d"},"b":{"$ref":"#/components/schemas/s%d"}}}`, i, i+1, i+1)
		}
		refs := func(n int, format string) string { // n inputs, or parts of one
			return strings.TrimSuffix(strings.Repeat(format+",", n), ",")
		}
		inputs := strings.Builder{}
		for i := range 500 {
			fmt.Fprintf(&inputs, `"p%d":{"$ref":"#/components/schemas/s0"},`, i)
		}
		wide := strings.Builder{}
		for i := range 400 {
			fmt.Fprintf(&wide, `"w%d":{},`, i)
		}
		many := func(schema, more string) string {
			return `{"Input":{"type":"object","properties":{` + strings.TrimSuffix(inputs.String(), ",") + `}},"s0":` + schema + more + `}`
		}
		choices := strings.Builder{}
		for i := range 2000 {
			fmt.Fprintf(&choices, `,"c%d"`, i)
		}
		for name, schemas := range map[string]string{
			"doubling, once":         `{"Input":{"type":"object","properties":{"x":{"$ref":"#/components/schemas/s0"}}}` + double.String() + `}`,
			"doubling, by 500":       many(`{"items":{"$ref":"#/components/schemas/s1"}}`, strings.TrimPrefix(double.String(), `,"s0":{"properties":{"a":{"$ref":"#/components/schemas/s1"},"b":{"$ref":"#/components/schemas/s1"}}}`)),
			"options, by 500":        many(`{"enum":[`+choices.String()[1:]+`]}`, ""),
			"names, by 500":          many(`{"required":[`+choices.String()[1:]+`],"allOf":[`+refs(900, `{"required":["a","b"]}`)+`]}`, ""),
			"wide ones joined":       many(`{"allOf":[`+refs(3000, `{"$ref":"#/components/schemas/wide"}`)+`]}`, `,"wide":{"properties":{`+strings.TrimSuffix(wide.String(), ",")+`}}`),
			"long patterns, by 500":  many(`{"type":"string","pattern":"a{900}"}`, ""),
			"longer patterns":        many(`{"type":"string","pattern":"`+strings.Repeat("a{1000}", 140)+`"}`, ""),
			"patterns upon patterns": many(`{"type":"string","pattern":"((a{10}){10}){10}b"}`, ""),
		} {
			f := hosted.NewForm(modelOf(t, schemas))
			held := 0
			for _, field := range f.Fields {
				held += parts(field.Schema) + len(field.Options) // keywords and options count once more
			}
			if f.Incompatible != "" || f.Parts > 20_000 || held > 3*20_000 || f.Parts < len(f.Fields) {
				t.Errorf("%s: %d parts were counted, the form has %d (%s)", name, f.Parts, held, f.Incompatible)
			}
		}
	})
	t.Run("shares what is referred to", func(t *testing.T) {
		t.Parallel()
		f := hosted.NewForm(modelOf(t, `{"Input":{"type":"object","properties":{
			"a":{"type":"array","items":{"$ref":"#/components/schemas/s"}},"b":{"type":"array","items":{"$ref":"#/components/schemas/s"}},
			"c":{"properties":{"own":{}},"allOf":[{"$ref":"#/components/schemas/s"},{"$ref":"#/components/schemas/s"}],"required":["z"]}}},
			"s":{"type":"object","title":"S","properties":{"x":{"type":"string"}},"required":["x"]}}`))
		a, b := f.Fields[0].Schema["items"].(map[string]any), f.Fields[1].Schema["items"].(map[string]any)
		if reflect.ValueOf(a).Pointer() != reflect.ValueOf(b).Pointer() {
			t.Error("it was made twice")
		}
		for i, want := range []string{
			`{"items":{"properties":{"x":{"type":"string"}},"required":["x"],"type":"object"},"type":"array"}`,
			`{"items":{"properties":{"x":{"type":"string"}},"required":["x"],"type":"object"},"type":"array"}`,
			`{"properties":{"own":{},"x":{"type":"string"}},"required":["x","z"],"type":"object"}`,
		} {
			if got, _ := json.Marshal(f.Fields[i].Schema); string(got) != want {
				t.Errorf("%s: %s", f.Fields[i].Name, got)
			}
		}
	})
	t.Run("keeps a pattern that is worth it", func(t *testing.T) {
		t.Parallel()
		for pattern, kept := range map[string]bool{`^[a-z]{2,40}$`: true, `^#[0-9a-fA-F]{6}$`: true, `[`: false, `(a{100}){9}`: true, `(a{100}){100}`: false, `a{900}b{900}`: false} {
			property, _ := json.Marshal(map[string]any{"type": "string", "pattern": pattern})
			if got := formOf(t, "x", string(property), "").Fields[0].Schema["pattern"] != nil; got != kept {
				t.Errorf("%s is kept: %v", pattern, got)
			}
		}
	})
}

// parts counts what a resolved schema has, as a compiler sees it.
func parts(v any) int {
	n := 0
	switch v := v.(type) {
	case map[string]any:
		n = 1
		for _, part := range v {
			n += parts(part)
		}
	case []any:
		for _, part := range v {
			n += max(1, parts(part))
		}
	}
	return n
}

func TestOutput(t *testing.T) {
	t.Parallel()
	for output, want := range map[string]hosted.Output{
		`{"type":"string"}`:                                         {Type: hosted.OutputText},
		`{"type":"string","format":"uri"}`:                          {Type: hosted.OutputFile},
		`{"type":"array","items":{"type":"string","format":"uri"}}`: {Type: hosted.OutputFiles},
		`{"type":"array","items":{"type":"string"}}`:                {Type: hosted.OutputList},
		`{"type":"array","items":{"type":"string"},"x-cog-array-type":"iterator","x-cog-array-display":"concatenate"}`: {Type: hosted.OutputText, Joined: true},
		`{"type":"integer"}`: {Type: hosted.OutputNumber}, `{"type":"boolean"}`: {Type: hosted.OutputSwitch},
		`{}`: {Type: hosted.OutputJSON}, `{"type":"object"}`: {Type: hosted.OutputJSON}, `{"anyOf":[{"type":"string"},{"type":"object"}]}`: {Type: hosted.OutputJSON},
		`{"$ref":"#/components/schemas/Out"}`: {Type: hosted.OutputObject, Properties: []hosted.Property{
			{Name: "text", Type: hosted.OutputText}, {Name: "images", Type: hosted.OutputFiles}, {Name: "audio", Type: hosted.OutputFile}}},
	} {
		m := modelOf(t, `{"Input":{"type":"object"},"Output":`+output+`,"Out":{"type":"object","properties":{
			"audio":{"type":"string","format":"uri"},"text":{"type":"string","x-order":0},"images":{"type":"array","items":{"type":"string","format":"uri"},"x-order":1}}}}`)
		if got := hosted.NewForm(m).Output; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, wanted %+v", output, got, want)
		}
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	f := hosted.NewForm(modelOf(t, `{"Input":{"type":"object","required":["prompt","image"],"properties":{
		"prompt":{"type":"string","maxLength":10},"steps":{"type":"integer","minimum":1,"maximum":4},"size":{"enum":["s","m"]},"image":{"type":"string","format":"uri"},
		"images":{"type":"array","items":{"type":"string","format":"uri"},"maxItems":2},"go_fast":{"type":"boolean"},"hf_token":{"type":"string"},
		"scales":{"type":"array","items":{"type":"number","exclusiveMinimum":true,"minimum":0}},"mode":{"anyOf":[{"type":"string"},{"type":"integer"}]}}}}`))
	for _, c := range []struct{ input, want string }{
		{`{"prompt":"hi","steps":4,"size":"m","image":"https://example.com/a.png","go_fast":true,"scales":[0.5,1],"mode":3}`, ``},
		{`{"steps":2.0,"image":{"file":"file_1"},"images":["data:,x",{"file":"file_2"}],"hf_token":{"credential":"hf"}}`, ``},
		{`{"prompt":null,"steps":null,"image":null}`, ``},
		{`{"steps":5}`, `steps: This must be at most 4.`},
		{`{"steps":1.5}`, `steps: This must be a whole number.`},
		{`{"steps":"2"}`, `steps: This must be a whole number.`},
		{`{"size":"l"}`, `size: This must be one of s, m.`},
		{`{"prompt":"hello world"}`, `prompt: This must have at most 10 characters.`},
		{`{"go_fast":"yes"}`, `go_fast: This must be true or false.`},
		{`{"scales":[1,0]}`, `scales: Item 2: This must be more than 0.`},
		{`{"mode":true}`, `mode: This matches no form that the model accepts.`},
		{`{"image":""}`, `image: This must be a file or its URL.`},
		{`{"image":7}`, `image: This must be a file or its URL.`},
		{`{"image":"a picture of a cat"}`, `image: This must be a file or its URL.`},
		{`{"images":["a","b","c"]}`, `images: This takes at most 2 files.`},
		{`{"images":["https://a/b",7]}`, `images: Item 2 must be a file or its URL.`},
		{`{"images":"a"}`, `images: This must be a list of files or URLs.`},
		{`{"hf_token":7}`, `hf_token: This must be a credential.`},
		{`{"promt":"hi"}`, `promt: The model has no input of this name. Did you mean prompt?`},
		{`{"unheard_of":1}`, `unheard_of: The model has no input of this name.`},
		{`{"go_fast":1,"steps":0}`, `go_fast: This must be true or false.|steps: This must be at least 1.`},
	} {
		var got []string
		for _, p := range f.Check(decode(t, c.input)) {
			got = append(got, p.Field+": "+p.Detail)
		}
		if strings.Join(got, "|") != c.want {
			t.Errorf("%s: %q, wanted %q", c.input, got, c.want)
		}
	}
	if got := f.Missing(decode(t, `{"image":null,"steps":1}`)); len(got) != 2 || got[0].Field != "image" || got[1].Field != "prompt" {
		t.Errorf("missing: %v", got)
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"num_outputs": "Num outputs", "hf_token": "HF token", "imageSource": "Image source", "cfg": "CFG", "lora-scale": "LoRA scale", "": "", "__": "__",
	} {
		if got := hosted.TitleOf(name); got != want {
			t.Errorf("%q: %q, wanted %q", name, got, want)
		}
	}
	long := strings.Repeat("word ", 100)
	for text, want := range map[string]string{
		"One. Two. Three.": "One. Two.",
		"See [the docs](https://example.com) for `x`.\n": "See the docs for x.",
		"<b>Bold</b>\tand  **more**":                     "Bold and more",
		"Scale 0.5 e.g. half":                            "Scale 0.5 e.g. half",
		"":                                               "",
		"A first sentence that counts. " + long:          "A first sentence that counts.",
		long:                                             long[:234] + "…",
	} {
		if got := hosted.Sentences(text); got != want {
			t.Errorf("%q: %q, wanted %q", text, got, want)
		}
	}
}

// FuzzForm feeds whatever it likes as a model's schemas: a form is made, checks
// its own defaults and compares with itself without a word.
func FuzzForm(f *testing.F) {
	f.Add(`{"Input":{"type":"object","properties":{"a":{"allOf":[{"$ref":"#/components/schemas/a"}]}}},"a":{"enum":[1,"x",null]}}`)
	f.Add(`{"Input":{"type":"object","required":["a"],"properties":{"a":{"type":["string","null"],"default":"x","x-order":1e300}}},"Output":{"$ref":"#/components/schemas/Output"}}`)
	f.Add(`{"Input":{"properties":{"a":{"anyOf":[{"type":"null"}],"pattern":"[","minimum":"x","exclusiveMinimum":true,"items":false,"required":"a"}}}}`)
	f.Add(`{"Input":{"properties":{"a":{"type":"array","items":{"type":"string","format":"uri"},"maxItems":-1,"multipleOf":0,"minLength":1.5}}},"Output":[]}`)
	f.Fuzz(func(t *testing.T, schemas string) {
		var all map[string]any
		d := json.NewDecoder(strings.NewReader(schemas))
		d.UseNumber()
		if d.Decode(&all) != nil {
			return
		}
		m := &hosted.Model{All: all}
		m.Input, _ = all["Input"].(map[string]any)
		m.Output, _ = all["Output"].(map[string]any)
		form := hosted.NewForm(m)
		defaults := map[string]any{}
		for _, field := range form.Fields {
			if field.Default != nil {
				defaults[field.Name] = field.Default
			}
			if field.Widget == "" || field.Widget == hosted.WidgetSelect && len(field.Options) == 0 {
				t.Errorf("%s has the widget %q without options", field.Name, field.Widget)
			}
			_ = form.Check(map[string]any{field.Name: schemas})
		}
		if problems := form.Check(defaults); len(problems) > 0 {
			t.Errorf("its own defaults do not pass: %v", problems)
		}
		if c := hosted.Compare(m, m); len(c.List) > 0 {
			t.Errorf("it differs from itself: %v", c.List)
		}
	})
}

func TestForm_nestedValues(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ schema, value, want string }{
		{`{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}`, `{"a":1}`, ""},
		{`{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}`, `{"a":"x"}`, "A: This must be a whole number."},
		{`{"type":"object","properties":{"a":{"type":"integer"}},"required":["b","a"]}`, `{}`, "This must have a, b."},
		{`{"type":"object","properties":{"a":{"type":"object","required":["b"]}}}`, `{"a":{}}`, "A: This must have b."},
		{`{"type":"object","properties":{"a":{}},"additionalProperties":false}`, `{"b":1}`, "This must not have b."},
		{`{"type":"object","additionalProperties":{"type":"integer"}}`, `{"a":"x"}`, "A: This must be a whole number."},
		{`{"type":"object","minProperties":1}`, `{}`, "This must have at least 1 entries."},
		{`{"type":"array","items":{"type":"object","properties":{"a":{"type":"integer","maximum":1}}}}`, `[{"a":1},{"a":3}]`, "Item 2, a: This must be at most 1."},
		{`{"type":"array","items":{"type":"object","properties":{"a":{"type":"integer","minimum":5,"maximum":1}}}}`, `[{"a":3}]`, ""},
		{`{"type":"object","properties":{"a":{"type":"integer","nullable":true}}}`, `{"a":null}`, ""},
		{`{"type":"object","properties":{"a":{"type":"integer","nullable":true}}}`, `{"a":"x"}`, "A: This must be a whole number."},
		{`{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`, `{"a":null}`, ""},
		{`{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"boolean"},{"type":"null"}]}}}`, `{"a":null}`, ""},
		{`{"type":"object","properties":{"a":{"enum":["x"],"type":["string","null"]}}}`, `{"a":null}`, ""},
		{`{"type":"object","properties":{"a":{"type":"integer"}}}`, `{"a":null}`, "A: This must be a whole number."},
		{`{"type":"object","properties":{"f":{"type":"string","format":"uri"}}}`, `{"f":"a.png"}`, "F: This must be a file or its URL."},
		{`{"type":"object","properties":{"f":{"type":"string","format":"uri"}}}`, `{"f":"https://example.com/a.png"}`, ""},
	} {
		f := hosted.NewForm(modelOf(t, `{"Input":{"type":"object","properties":{"in":`+c.schema+`}}}`))
		d := json.NewDecoder(strings.NewReader(c.value))
		d.UseNumber()
		var value any
		if err := d.Decode(&value); err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, p := range f.Check(map[string]any{"in": value}) {
			got += p.Detail
		}
		if got != c.want {
			t.Errorf("%s of %s: %q, want %q", c.value, c.schema, got, c.want)
		}
	}
}

func TestForm_swappedBounds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		schema   string
		bounded  bool
		accepted string
	}{
		{`{"type":"integer","minimum":5,"maximum":1}`, false, "3"},
		{`{"type":"integer","exclusiveMinimum":5,"maximum":5}`, false, "5"},
		{`{"type":"number","minimum":5,"exclusiveMaximum":true,"maximum":5}`, false, "9"},
		{`{"type":"number","exclusiveMinimum":2,"exclusiveMaximum":1}`, false, "9"},
		{`{"type":"integer","minimum":5,"maximum":5}`, true, "5"},
		{`{"allOf":[{"type":"integer","minimum":5}],"maximum":1}`, false, "3"},
		{`{"type":"string","minLength":5,"maxLength":1}`, false, `"abc"`},
		{`{"type":"array","items":{"type":"string"},"minItems":5,"maxItems":1}`, false, `["a","b"]`},
	} {
		f := hosted.NewForm(modelOf(t, `{"Input":{"type":"object","properties":{"in":`+c.schema+`}}}`))
		d := json.NewDecoder(strings.NewReader(c.accepted))
		d.UseNumber()
		var value any
		if err := d.Decode(&value); err != nil {
			t.Fatal(err)
		}
		if problems := f.Check(map[string]any{"in": value}); len(problems) > 0 {
			t.Errorf("%s refuses %s: %v", c.schema, c.accepted, problems)
		}
		if field := f.Fields[0]; (field.Min != nil || field.Max != nil || field.MaxItems != nil) != c.bounded || field.Widget == hosted.WidgetSlider {
			t.Errorf("%s: %+v", c.schema, field)
		}
	}
}

// TestForm_open checks that a model without an input schema can be used.
func TestForm_open(t *testing.T) {
	t.Parallel()
	f := hosted.NewForm(modelOf(t, `{}`))
	input := map[string]any{"anything": map[string]any{"at": "all"}}
	if !f.Open || f.Incompatible != "" || len(f.Check(input)) > 0 || len(f.Missing(input)) > 0 {
		t.Errorf("%+v", f)
	}
}

// TestProblemWords checks that problems are not described in the words of the schema library.
func TestProblemWords(t *testing.T) {
	t.Parallel()
	for schema, c := range map[string]struct{ value, says string }{
		`{"const":"a"}`:                               {`"b"`, "This must be a."},
		`{"multipleOf":8}`:                            {`3`, "This must be a multiple of 8."},
		`{"uniqueItems":true}`:                        {`[1,2,1]`, "Items 1 and 3 are equal. Each may be given once."},
		`{"pattern":"^#[0-9a-f]+$"}`:                  {`"red"`, "This must match the pattern ^#[0-9a-f]+$."},
		`{"not":{"type":"string"}}`:                   {`"a"`, "The model does not take this value. See the model's page for what it takes."},
		`{"items":{"anyOf":[{"type":"boolean"}]}}`:    {`[1]`, "Item 1: This matches no form that the model accepts."},
		`{"properties":{"a":{"exclusiveMinimum":0}}}`: {`{"a":0}`, "A: This must be more than 0."},
	} {
		t.Run(schema, func(t *testing.T) {
			t.Parallel()
			var got string
			for _, p := range formOf(t, "x", schema, "").Check(decode(t, `{"x":`+c.value+`}`)) {
				got += p.Detail
			}
			if got != c.says {
				t.Errorf("got %q, want %q", got, c.says)
			}
		})
	}
}
