package document

import (
	"slices"
	"testing"

	"sluice/flow"
	"sluice/flow/flowtest"
	"sluice/flow/value"
)

var fileValue = map[string]any{"file": "file_01jd6v0q8z0000000000000000", "name": "a.pdf", "mime": "application/pdf", "size": flow.Number(12)}

func jsonValue(t *testing.T, text string) any {
	t.Helper()
	v, err := flow.DecodeJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestFormRoundTrip checks for every type of field which control shows a value, and that the
// control's text is parsed as the same value.
func TestFormRoundTrip(t *testing.T) {
	t.Parallel()
	ref := map[string]any{"credential": "acme"}
	cases := map[string]struct {
		field flow.Field
		value any
		as    flow.FieldType
	}{
		"text":                 {flow.Field{Type: flow.FieldText}, " a, b ", flow.FieldText},
		"area":                 {flow.Field{Type: flow.FieldArea}, "a\nb\n", flow.FieldArea},
		"number":               {flow.Field{Type: flow.FieldNumber}, jsonValue(t, `0.25`), flow.FieldNumber},
		"integer":              {flow.Field{Type: flow.FieldInteger}, jsonValue(t, `12`), flow.FieldInteger},
		"true":                 {flow.Field{Type: flow.FieldBoolean}, true, flow.FieldBoolean},
		"false":                {flow.Field{Type: flow.FieldBoolean}, false, flow.FieldBoolean},
		"select":               {flow.Field{Type: flow.FieldSelect, Options: []string{"GET", "POST"}}, "POST", flow.FieldSelect},
		"a choice that is old": {flow.Field{Type: flow.FieldSelect, Options: []string{"GET"}}, "TRACE", flow.FieldSelect},
		"select of numbers":    {flow.Field{Type: flow.FieldSelect, Options: []string{"1", "2"}, Values: jsonValue(t, `[1, 2]`).([]any)}, jsonValue(t, `2`), flow.FieldSelect},
		"select of texts":      {flow.Field{Type: flow.FieldSelect, Options: []string{"1", "x"}, Values: jsonValue(t, `[1, "x"]`).([]any)}, "x", flow.FieldSelect},
		"list":                 {flow.Field{Type: flow.FieldList}, jsonValue(t, `["a", " b"]`), flow.FieldList},
		"list of numbers":      {flow.Field{Type: flow.FieldList}, jsonValue(t, `[1, "2"]`), flow.FieldJSON},
		"list with nothing":    {flow.Field{Type: flow.FieldList}, jsonValue(t, `["a", ""]`), flow.FieldJSON},
		"list of files":        {flow.Field{Type: flow.FieldList, Value: flow.TypeAny}, []any{fileValue, "https://example.com/a.png"}, flow.FieldList},
		"lines for a list":     {flow.Field{Type: flow.FieldList, Value: flow.TypeAny}, "a\nb", flow.FieldArea},
		"map":                  {flow.Field{Type: flow.FieldMap}, jsonValue(t, `{"A": "1", "B": ""}`), flow.FieldMap},
		"map of numbers":       {flow.Field{Type: flow.FieldMap}, jsonValue(t, `{"A": 1}`), flow.FieldJSON},
		"map with a secret":    {flow.Field{Type: flow.FieldMap, Secrets: flow.SecretsByName}, map[string]any{"Authorization": ref, "Accept": "*/*"}, flow.FieldMap},
		"JSON":                 {flow.Field{Type: flow.FieldJSON}, jsonValue(t, `{"b": [1, null], "a": "é"}`), flow.FieldJSON},
		"text as JSON":         {flow.Field{Type: flow.FieldJSON}, "12", flow.FieldJSON},
		"template as JSON":     {flow.Field{Type: flow.FieldJSON, Template: true}, "12 {{x}}", flow.FieldArea},
		"secret":               {flow.Field{Type: flow.FieldSecret}, ref, flow.FieldSecret},
		"type":                 {flow.Field{Type: flow.FieldValueType}, "number", flow.FieldValueType},
		"file":                 {flow.Field{Type: flow.FieldFile}, fileValue, flow.FieldFile},
		"address of a file":    {flow.Field{Type: flow.FieldFile, Value: flow.TypeAny}, "https://example.com/a.pdf", flow.FieldFile},
		"model":                {flow.Field{Type: flow.FieldModel}, "ollama/llama3.2", flow.FieldModel},
		"JSON in an area":      {flow.Field{Type: flow.FieldArea, Value: flow.TypeAny}, jsonValue(t, `{"text": "{{answer}}"}`), flow.FieldJSON},
		"text for a number":    {flow.Field{Type: flow.FieldNumber}, "many", flow.FieldJSON},
	}
	seen := map[flow.FieldType]bool{}
	for name, c := range cases {
		seen[c.field.Type] = true
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			form := FormOf(&c.field, c.value)
			if form.As != c.as {
				t.Errorf("shows as %s, want %s", form.As, c.as)
			}
			got, err := ParseForm(&c.field, form)
			if err != nil || !value.Equal(got, c.value) {
				t.Errorf("%#v becomes %#v, %v", form, got, err)
			}
			none := FormOf(&c.field, nil)
			if got, err := ParseForm(&c.field, none); got != nil || err != nil {
				t.Errorf("nothing becomes %#v, %v", got, err)
			}
		})
	}
	for _, each := range fieldTypes {
		if !seen[each] {
			t.Errorf("no case of the type %s", each)
		}
	}
}

var fieldTypes = []flow.FieldType{flow.FieldText, flow.FieldArea, flow.FieldNumber, flow.FieldInteger, flow.FieldBoolean, flow.FieldSelect, flow.FieldList, flow.FieldMap, flow.FieldJSON, flow.FieldSecret, flow.FieldValueType, flow.FieldFile, flow.FieldModel}

func TestFieldParse(t *testing.T) {
	t.Parallel()
	acme := `{"credential":"acme"}`
	cases := map[string]struct {
		field flow.Field
		form  FormValue
		want  any
		err   string
	}{
		"lines as forms send them": {flow.Field{Type: flow.FieldArea}, FormValue{As: flow.FieldArea, Texts: []string{"a\r\nb"}}, "a\nb", ""},
		"a number as typed":        {flow.Field{Type: flow.FieldNumber}, FormValue{As: flow.FieldNumber, Texts: []string{" .5 "}}, flow.Number(0.5), ""},
		"words for a number":       {flow.Field{Type: flow.FieldNumber}, FormValue{As: flow.FieldNumber, Texts: []string{"0,5"}}, nil, `"0,5" is not a number; write it with digits, such as 0.5`},
		"a part for a whole":       {flow.Field{Type: flow.FieldInteger}, FormValue{As: flow.FieldInteger, Texts: []string{"1.5"}}, nil, "1.5 is not a whole number"},
		"neither":                  {flow.Field{Type: flow.FieldBoolean}, FormValue{As: flow.FieldBoolean, Texts: []string{"on"}}, nil, `"on" is neither true nor false`},
		"half of JSON":             {flow.Field{Type: flow.FieldJSON}, FormValue{As: flow.FieldJSON, Texts: []string{`{"a":`}}, nil, "this is not valid JSON: the JSON ends too early"},
		"no choice":                {flow.Field{Type: flow.FieldSelect, Values: []any{true}}, FormValue{As: flow.FieldSelect, Texts: []string{"x"}}, nil, `"x" is no longer an option; choose another`},
		"empty rows":               {flow.Field{Type: flow.FieldList}, FormValue{As: flow.FieldList, Texts: []string{"", "a", ""}}, []any{"a"}, ""},
		"rows that are all empty":  {flow.Field{Type: flow.FieldList}, FormValue{As: flow.FieldList, Texts: []string{""}}, nil, ""},
		"a row without a name":     {flow.Field{Type: flow.FieldMap}, FormValue{As: flow.FieldMap, Names: []string{"", " "}, Texts: []string{"", "x"}}, nil, "row 2 has a value but no name"},
		"a name that is twice":     {flow.Field{Type: flow.FieldMap}, FormValue{As: flow.FieldMap, Names: []string{"a", "a "}, Texts: []string{"1", "2"}}, nil, `the name "a" appears twice`},
		"a secret that is typed":   {flow.Field{Type: flow.FieldSecret}, FormValue{As: flow.FieldSecret, Texts: []string{" s3cret\n"}, Kept: []string{acme}}, "s3cret", ""},
		"a credential":             {flow.Field{Type: flow.FieldSecret}, FormValue{As: flow.FieldSecret, Texts: []string{""}, Kept: []string{acme}}, map[string]any{"credential": "acme"}, ""},
		"what was never kept":      {flow.Field{Type: flow.FieldSecret}, FormValue{As: flow.FieldSecret, Texts: []string{""}, Kept: []string{`["x"]`}}, nil, "the form was incomplete; choose this again"},
		"nothing at all":           {flow.Field{Type: flow.FieldText}, FormValue{As: flow.FieldText}, nil, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := ParseForm(&c.field, c.form)
			said := ""
			if err != nil {
				said = err.Error()
			}
			if said != c.err || !flow.EqualValues(got, c.want) {
				t.Errorf("got %#v, %q; want %#v, %q", got, said, c.want, c.err)
			}
		})
	}
}

func TestForm_hidesSecrets(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		field flow.Field
		value any
	}{
		"field":  {flow.Field{Type: flow.FieldSecret}, "s3cret"},
		"header": {flow.Field{Type: flow.FieldMap, Secrets: flow.SecretsByName}, map[string]any{"X-Token": "s3cret"}},
	} {
		if form := FormOf(&c.field, c.value); slices.Contains(form.Texts, "s3cret") || slices.Contains(form.Kept, "s3cret") {
			t.Errorf("%s: the form shows it: %#v", name, form)
		}
	}
}

func TestFormFields(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]flow.FieldType{"": flow.FieldArea, "text": flow.FieldArea, "number": flow.FieldNumber, "boolean": flow.FieldBoolean, "list": flow.FieldList, "file": flow.FieldFile, "json": flow.FieldJSON, "no type": flow.FieldJSON} {
		n := &flow.Node{Kind: "input", Config: map[string]any{}}
		if input != "" {
			n.Config["type"] = input
		}
		for _, f := range FormFields(n, &flowtest.InputKind) {
			if (f.Name == "default" || f.Name == "example") && f.Type != want {
				t.Errorf("%s of an input of type %q shows as %s, want %s", f.Name, input, f.Type, want)
			}
		}
	}
	if flowtest.InputKind.Field("default").Type != flow.FieldJSON {
		t.Error("the declaration itself was changed")
	}
}
