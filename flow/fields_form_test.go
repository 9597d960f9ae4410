package flow

import (
	"reflect"
	"slices"
	"testing"
)

var fileValue = map[string]any{"file": "file_01jd6v0q8z0000000000000000", "name": "a.pdf", "mime": "application/pdf", "size": Number(12)}

func jsonValue(t *testing.T, text string) any {
	t.Helper()
	v, err := DecodeJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestFormRoundTrip holds that what a form shows of a value is read as the same
// value, for every type of field, and in which control it shows.
func TestFormRoundTrip(t *testing.T) {
	t.Parallel()
	ref := map[string]any{"credential": "acme"}
	cases := map[string]struct {
		field Field
		value any
		as    FieldType
	}{
		"text":                 {Field{Type: FieldText}, " a, b ", FieldText},
		"area":                 {Field{Type: FieldArea}, "a\nb\n", FieldArea},
		"number":               {Field{Type: FieldNumber}, jsonValue(t, `0.25`), FieldNumber},
		"integer":              {Field{Type: FieldInteger}, jsonValue(t, `12`), FieldInteger},
		"true":                 {Field{Type: FieldBoolean}, true, FieldBoolean},
		"false":                {Field{Type: FieldBoolean}, false, FieldBoolean},
		"select":               {Field{Type: FieldSelect, Options: []string{"GET", "POST"}}, "POST", FieldSelect},
		"a choice that is old": {Field{Type: FieldSelect, Options: []string{"GET"}}, "TRACE", FieldSelect},
		"select of numbers":    {Field{Type: FieldSelect, Options: []string{"1", "2"}, Values: jsonValue(t, `[1, 2]`).([]any)}, jsonValue(t, `2`), FieldSelect},
		"select of texts":      {Field{Type: FieldSelect, Options: []string{"1", "x"}, Values: jsonValue(t, `[1, "x"]`).([]any)}, "x", FieldSelect},
		"list":                 {Field{Type: FieldList}, jsonValue(t, `["a", " b"]`), FieldList},
		"list of numbers":      {Field{Type: FieldList}, jsonValue(t, `[1, "2"]`), FieldJSON},
		"list with nothing":    {Field{Type: FieldList}, jsonValue(t, `["a", ""]`), FieldJSON},
		"list of files":        {Field{Type: FieldList, Value: TypeAny}, []any{fileValue, "https://example.com/a.png"}, FieldList},
		"lines for a list":     {Field{Type: FieldList, Value: TypeAny}, "a\nb", FieldArea},
		"map":                  {Field{Type: FieldMap}, jsonValue(t, `{"A": "1", "B": ""}`), FieldMap},
		"map of numbers":       {Field{Type: FieldMap}, jsonValue(t, `{"A": 1}`), FieldJSON},
		"map with a secret":    {Field{Type: FieldMap, Secrets: SecretsByName}, map[string]any{"Authorization": ref, "Accept": "*/*"}, FieldMap},
		"JSON":                 {Field{Type: FieldJSON}, jsonValue(t, `{"b": [1, null], "a": "é"}`), FieldJSON},
		"text as JSON":         {Field{Type: FieldJSON}, "12", FieldJSON},
		"template as JSON":     {Field{Type: FieldJSON, Template: true}, "12 {{x}}", FieldArea},
		"secret":               {Field{Type: FieldSecret}, ref, FieldSecret},
		"type":                 {Field{Type: FieldKind}, "number", FieldKind},
		"file":                 {Field{Type: FieldFile}, fileValue, FieldFile},
		"address of a file":    {Field{Type: FieldFile, Value: TypeAny}, "https://example.com/a.pdf", FieldFile},
		"model":                {Field{Type: FieldModel}, "ollama/llama3.2", FieldModel},
		"JSON in an area":      {Field{Type: FieldArea, Value: TypeAny}, jsonValue(t, `{"text": "{{answer}}"}`), FieldJSON},
		"text for a number":    {Field{Type: FieldNumber}, "many", FieldJSON},
	}
	seen := map[FieldType]bool{}
	for name, c := range cases {
		seen[c.field.Type] = true
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			form := c.field.Form(c.value)
			if form.As != c.as {
				t.Errorf("shows as %s, want %s", form.As, c.as)
			}
			got, err := c.field.Parse(form)
			if err != nil || !reflect.DeepEqual(got, c.value) {
				t.Errorf("%#v becomes %#v, %v", form, got, err)
			}
			none := c.field.Form(nil)
			if got, err := c.field.Parse(none); got != nil || err != nil {
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

var fieldTypes = []FieldType{FieldText, FieldArea, FieldNumber, FieldInteger, FieldBoolean, FieldSelect, FieldList, FieldMap, FieldJSON, FieldSecret, FieldKind, FieldFile, FieldModel}

func TestFieldParse(t *testing.T) {
	t.Parallel()
	acme := `{"credential":"acme"}`
	cases := map[string]struct {
		field Field
		form  FormValue
		want  any
		err   string
	}{
		"lines as forms send them": {Field{Type: FieldArea}, FormValue{As: FieldArea, Texts: []string{"a\r\nb"}}, "a\nb", ""},
		"a number as typed":        {Field{Type: FieldNumber}, FormValue{As: FieldNumber, Texts: []string{" .5 "}}, Number(0.5), ""},
		"words for a number":       {Field{Type: FieldNumber}, FormValue{As: FieldNumber, Texts: []string{"0,5"}}, nil, `"0,5" is not a number; write it with digits, such as 0.5`},
		"a part for a whole":       {Field{Type: FieldInteger}, FormValue{As: FieldInteger, Texts: []string{"1.5"}}, nil, "1.5 is not a whole number"},
		"neither":                  {Field{Type: FieldBoolean}, FormValue{As: FieldBoolean, Texts: []string{"on"}}, nil, `"on" is neither true nor false`},
		"half of JSON":             {Field{Type: FieldJSON}, FormValue{As: FieldJSON, Texts: []string{`{"a":`}}, nil, "this is not JSON: the JSON ends too early"},
		"no choice":                {Field{Type: FieldSelect, Values: []any{true}}, FormValue{As: FieldSelect, Texts: []string{"x"}}, nil, `"x" is no choice any more; choose another`},
		"empty rows":               {Field{Type: FieldList}, FormValue{As: FieldList, Texts: []string{"", "a", ""}}, []any{"a"}, ""},
		"rows that are all empty":  {Field{Type: FieldList}, FormValue{As: FieldList, Texts: []string{""}}, nil, ""},
		"a row without a name":     {Field{Type: FieldMap}, FormValue{As: FieldMap, Names: []string{"", " "}, Texts: []string{"", "x"}}, nil, "row 2 has a value and no name"},
		"a name that is twice":     {Field{Type: FieldMap}, FormValue{As: FieldMap, Names: []string{"a", "a "}, Texts: []string{"1", "2"}}, nil, `the name "a" is there twice`},
		"a secret that is typed":   {Field{Type: FieldSecret}, FormValue{As: FieldSecret, Texts: []string{" s3cret\n"}, Kept: []string{acme}}, "s3cret", ""},
		"a credential":             {Field{Type: FieldSecret}, FormValue{As: FieldSecret, Texts: []string{""}, Kept: []string{acme}}, map[string]any{"credential": "acme"}, ""},
		"what was never kept":      {Field{Type: FieldSecret}, FormValue{As: FieldSecret, Texts: []string{""}, Kept: []string{`["x"]`}}, nil, "choose this anew; the form was not sent as it was shown"},
		"nothing at all":           {Field{Type: FieldText}, FormValue{As: FieldText}, nil, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := c.field.Parse(c.form)
			said := ""
			if err != nil {
				said = err.Error()
			}
			if said != c.err || !equal(got, c.want) {
				t.Errorf("got %#v, %q; want %#v, %q", got, said, c.want, c.err)
			}
		})
	}
}

func TestForm_hidesSecrets(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		field Field
		value any
	}{
		"field":  {Field{Type: FieldSecret}, "s3cret"},
		"header": {Field{Type: FieldMap, Secrets: SecretsByName}, map[string]any{"X-Token": "s3cret"}},
	} {
		if form := c.field.Form(c.value); slices.Contains(form.Texts, "s3cret") || slices.Contains(form.Kept, "s3cret") {
			t.Errorf("%s: the form shows it: %#v", name, form)
		}
	}
}

func TestFormFields(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]FieldType{"": FieldArea, "text": FieldArea, "number": FieldNumber, "boolean": FieldBoolean, "list": FieldList, "file": FieldFile, "json": FieldJSON, "no type": FieldJSON} {
		n := &Node{Kind: "input", Config: map[string]any{}}
		if input != "" {
			n.Config["type"] = input
		}
		for _, f := range FormFields(n, &inputKind) {
			if (f.Name == "default" || f.Name == "example") && f.Type != want {
				t.Errorf("%s of an input of type %q shows as %s, want %s", f.Name, input, f.Type, want)
			}
		}
	}
	if inputKind.Field("default").Type != FieldJSON {
		t.Error("the declaration itself was changed")
	}
}
