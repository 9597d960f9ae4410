package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/value"
)

// FormValue is the value of a field in an HTML form. Texts are the texts of its controls: one, or
// one per row. Kept holds, for each text, the JSON of a value that cannot be typed, such as a file
// or a credential; a typed text takes precedence. Names are the names in the rows of a map.
type FormValue struct {
	As    flow.FieldType // the control, which determines how Texts are parsed
	Names []string
	Texts []string
	Kept  []string
}

// ControlFor returns the control for a value of the field: the type of the field, or another one
// if that control cannot hold the value. Nil means no value.
func ControlFor(f *flow.Field, value any) flow.FieldType {
	kind := flow.TypeOf(value)
	switch f.Type {
	case flow.FieldJSON:
		if f.Template && kind == "text" {
			return flow.FieldArea // without the quotes that JSON would ask for
		}
		return flow.FieldJSON
	case flow.FieldList:
		if kind == "text" {
			return flow.FieldArea
		}
	}
	if value == nil || controlHolds(f, value) {
		return f.Type
	}
	return flow.FieldJSON
}

// controlHolds reports whether the control of the field's type can show a value and return it
// unchanged.
func controlHolds(f *flow.Field, value any) bool {
	switch f.Type {
	case flow.FieldNumber, flow.FieldInteger:
		return flow.TypeOf(value) == "number"
	case flow.FieldBoolean:
		return flow.TypeOf(value) == "boolean"
	case flow.FieldSelect:
		return flow.TypeOf(value) == "text" || optionIndex(f, flow.Text(value)) >= 0
	case flow.FieldSecret:
		return flow.IsSecretRef(value) || flow.TypeOf(value) == "text"
	case flow.FieldFile:
		_, file := flow.FileID(value)
		return file || flow.TypeOf(value) == "text"
	case flow.FieldList:
		items, ok := value.([]any)
		return ok && !slices.ContainsFunc(items, func(item any) bool {
			_, file := flow.FileID(item)
			return !file && (flow.TypeOf(item) != "text" || item == "")
		})
	case flow.FieldMap:
		return holdsMap(value)
	}
	return flow.TypeOf(value) == "text"
}

// holdsMap reports whether the rows of a map control can show a value: every member
// needs a name and a text, or a reference to a credential.
func holdsMap(value any) bool {
	named, ok := flow.AsMap(value)
	for name, item := range named {
		ok = ok && name != "" && (flow.TypeOf(item) == "text" || flow.IsSecretRef(item))
	}
	return ok
}

// optionIndex returns the index of the option with a text, or -1.
func optionIndex(f *flow.Field, text string) int {
	if f.Values == nil {
		return slices.Index(f.Options, text)
	}
	return slices.IndexFunc(f.Values, func(v any) bool { return flow.Text(v) == text })
}

// FormOf returns the form of a value, which ParseForm parses again. Nil means no value. Literal
// secrets are never shown.
func FormOf(f *flow.Field, value any) FormValue {
	v := FormValue{As: ControlFor(f, value)}
	switch v.As {
	case flow.FieldList:
		items, _ := value.([]any)
		for _, item := range items {
			v.row("", item)
		}
	case flow.FieldMap:
		named, _ := flow.AsObject(value)
		for name, item := range named.All() {
			v.row(name, item)
			if f.IsSecretName(name) && !flow.IsSecretRef(item) && !hasTemplate(f, item) {
				v.Texts[len(v.Texts)-1] = ""
			}
		}
	case flow.FieldSecret:
		v.row("", value)
		v.Texts[0] = ""
	case flow.FieldFile:
		v.row("", value)
	case flow.FieldJSON:
		v.Texts = []string{indented(value)}
	default:
		v.Texts = []string{flow.Text(value)}
	}
	return v
}

// hasTemplate reports whether a text is a template, whose secret comes from the inputs of a run.
func hasTemplate(f *flow.Field, v any) bool {
	s, _ := v.(string)
	return f.Template && strings.Contains(s, "{{")
}

// row appends one row. Files and references to credentials cannot be typed, so their
// JSON goes to Kept and the text stays empty.
func (v *FormValue) row(name string, value any) {
	text, kept := flow.Text(value), ""
	if flow.TypeOf(value) == "file" || flow.IsSecretRef(value) {
		text, kept = "", string(flow.EncodeJSON(value))
	}
	if v.As == flow.FieldMap {
		v.Names = append(v.Names, name)
	}
	v.Texts, v.Kept = append(v.Texts, text), append(v.Kept, kept)
}

// indented returns a value as indented JSON. Values of documents can always be encoded, so an
// error is a bug and panics.
func indented(value any) string {
	if value == nil {
		return ""
	}
	var b bytes.Buffer
	if err := json.Indent(&b, flow.EncodeJSON(value), "", "  "); err != nil {
		panic("flow: indent JSON: " + err.Error())
	}
	return b.String()
}

// ParseForm parses the form of a field. Nil means that the value must be removed. The error is a
// message for the user.
func ParseForm(f *flow.Field, v FormValue) (any, error) {
	switch text := v.text(0); v.As {
	case flow.FieldNumber, flow.FieldInteger:
		return parseNumber(text, v.As == flow.FieldInteger)
	case flow.FieldBoolean:
		return parseBoolean(text)
	case flow.FieldSelect:
		return parseOption(f, text)
	case flow.FieldList:
		return v.list()
	case flow.FieldMap:
		return v.named()
	case flow.FieldSecret, flow.FieldFile:
		return v.item(0)
	case flow.FieldJSON:
		return parseJSON(text)
	case flow.FieldModel, flow.FieldValueType:
		return textOrNil(strings.TrimSpace(text)), nil
	default:
		return textOrNil(text), nil // untrimmed, because spaces matter in a separator
	}
}

// text returns the text of a row, or "" if the form did not send the row.
func (v *FormValue) text(i int) string {
	if i < len(v.Texts) {
		return strings.ReplaceAll(v.Texts[i], "\r\n", "\n") // forms send CR LF
	}
	return ""
}

// textOrNil returns nil for an empty text: clearing a control removes the field from the
// node, so that the default of the kind applies again.
func textOrNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// item returns the value of one row: the typed text, or else the kept value.
func (v *FormValue) item(i int) (any, error) {
	s := v.text(i)
	if v.As == flow.FieldSecret || v.As == flow.FieldFile {
		s = strings.TrimSpace(s) // pasted texts often have spaces around them
	}
	if s != "" {
		return s, nil
	}
	if i >= len(v.Kept) || v.Kept[i] == "" {
		return nil, nil
	}
	value, err := flow.DecodeJSON([]byte(v.Kept[i]))
	if err != nil || flow.TypeOf(value) != "file" && !flow.IsSecretRef(value) {
		return nil, errors.New("the form was incomplete; choose this again")
	}
	return value, nil
}

// list parses the rows of a list without empty ones, because a form may have an empty row for the
// next item.
func (v *FormValue) list() (any, error) {
	items := []any{}
	for i := range v.Texts {
		item, err := v.item(i)
		if err != nil {
			return nil, err
		}
		if item != nil {
			items = append(items, item)
		}
	}
	if len(items) == 0 {
		return nil, nil
	}
	return items, nil
}

// named reads the rows of a map. A row without a name and value is dropped; a name
// without a value is kept with an empty text, as an HTTP header may be empty.
func (v *FormValue) named() (any, error) {
	named := &flow.Object{}
	for i, name := range v.Names {
		item, err := v.item(i)
		name = strings.TrimSpace(name)
		twice := named.Has(name)
		switch {
		case err != nil:
			return nil, err
		case name == "" && item == nil:
			continue
		case name == "":
			return nil, fmt.Errorf("row %d has a value but no name", i+1)
		case twice:
			return nil, fmt.Errorf("the name %q appears twice", name)
		case item == nil:
			item = ""
		}
		named.Set(name, item)
	}
	if named.Len() == 0 {
		return nil, nil
	}
	return named, nil
}

// parseOption parses the option of a select. A field with Values accepts only these. A field with
// Options keeps an unknown text, which Validate reports next to the field.
func parseOption(f *flow.Field, text string) (any, error) {
	i := optionIndex(f, text)
	switch {
	case text == "" && i < 0:
		return nil, nil
	case f.Values == nil:
		return text, nil // Validate reports an unknown option
	case i < 0:
		return nil, fmt.Errorf("%q is no longer an option; choose another", text)
	}
	return f.Values[i], nil
}

// parseNumber parses a typed number. It accepts a leading + and a missing 0 before the point, but
// no commas, because 1,000 would be ambiguous. The result keeps the typed digits.
func parseNumber(text string, whole bool) (any, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, nil
	}
	plain := strings.TrimPrefix(text, "+")
	if strings.HasPrefix(plain, ".") {
		plain = "0" + plain
	}
	if !flow.IsNumber(plain) {
		return nil, fmt.Errorf("%q is not a number; write it with digits, such as 0.5", flow.FirstRunes(text, 40))
	}
	n := json.Number(plain)
	if whole && !value.IsInteger(n) {
		return nil, fmt.Errorf("%s is not a whole number", flow.FirstRunes(text, 40))
	}
	return n, nil
}

// parseBoolean parses the value of a select with the options "", true and false. A checkbox could
// not express that no value is set.
func parseBoolean(text string) (any, error) {
	switch text {
	case "":
		return nil, nil
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return nil, fmt.Errorf("%q is neither true nor false", flow.FirstRunes(text, 40))
}

// parseJSON parses any JSON value with the rules for documents, such as the limit on nesting.
func parseJSON(text string) (any, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	value, err := flow.DecodeJSON([]byte(text))
	if p, ok := errors.AsType[*flow.ProblemError](err); ok {
		return nil, fmt.Errorf("this is not valid JSON: %s", p.Detail)
	}
	return value, err
}

// Equal reports whether two forms have the same value, so that an unchanged control causes no
// edit.
func (v FormValue) Equal(w FormValue) bool {
	return v.As == w.As && slices.Equal(v.lines(v.Names), w.lines(w.Names)) && slices.Equal(v.lines(v.Texts), w.lines(w.Texts)) && slices.Equal(v.Kept, w.Kept)
}

// lines returns texts with LF line breaks. Browsers send CR LF for each line break in a text
// area.
func (v FormValue) lines(texts []string) []string {
	out := make([]string, len(texts))
	for i, s := range texts {
		out[i] = strings.ReplaceAll(s, "\r\n", "\n")
	}
	return out
}

// FormFields returns the fields of a node for its form: those of the kind, with the syntax that
// they have in this node, except that the default and the example of an input have the type of
// the input.
func FormFields(n *flow.Node, k *flow.Kind) []flow.Field {
	fields := slices.Clone(k.Fields)
	for i := range fields {
		if f := &fields[i]; f.SyntaxOf != nil {
			f.Syntax = f.SyntaxOf(n)
		}
	}
	if k.Role != flow.RoleInput {
		return fields
	}
	as := map[flow.Type]flow.FieldType{flow.TypeText: flow.FieldArea, flow.TypeNumber: flow.FieldNumber, flow.TypeBoolean: flow.FieldBoolean, flow.TypeList: flow.FieldList, flow.TypeFile: flow.FieldFile}
	for i := range fields {
		f := &fields[i]
		if t, known := as[contract.ReadInput(n).Type]; known && f.Type == flow.FieldJSON {
			f.Type = t
		}
	}
	return fields
}
