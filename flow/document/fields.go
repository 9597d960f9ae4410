package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"sluice/flow"
	"sluice/flow/contract"
)

// FormValue is what a form holds of a field. Texts are what a person sees and
// types: one, or one a row. Kept is beside each text the JSON of what no text
// can hold, a file or the name of a credential; a text that is typed wins over
// it. Names are those of a map's rows.
type FormValue struct {
	As    flow.FieldType // the control: how Texts are to be read
	Names []string
	Texts []string
	Kept  []string
}

// ControlFor is what shows a value of the field: the field's own type, or another
// where the value is one that this cannot hold. Nil is no value.
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

// controlHolds reports whether the usual control of the field's type shows a value and
// gives back the same.
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
	named, ok := value.(map[string]any)
	for name, item := range named {
		ok = ok && name != "" && (flow.TypeOf(item) == "text" || flow.IsSecretRef(item))
	}
	return ok
}

// optionIndex is the place of the choice that is written so, or -1.
func optionIndex(f *flow.Field, text string) int {
	if f.Values == nil {
		return slices.Index(f.Options, text)
	}
	return slices.IndexFunc(f.Values, func(v any) bool { return flow.Text(v) == text })
}

// FormOf is how a form shows a value, as Parse reads it again. Nil is no value. A
// secret that is no reference is never shown.
func FormOf(f *flow.Field, value any) FormValue {
	v := FormValue{As: ControlFor(f, value)}
	switch v.As {
	case flow.FieldList:
		items, _ := value.([]any)
		for _, item := range items {
			v.row("", item)
		}
	case flow.FieldMap:
		named, _ := value.(map[string]any)
		for _, name := range flow.SortedNames(named) {
			v.row(name, named[name])
			if f.IsSecretName(name) && !flow.IsSecretRef(named[name]) && !hasTemplate(f, named[name]) {
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

// hasTemplate reports whether a text takes its secret from the inputs of a run.
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

// indented returns a value as a person edits it, with two spaces for each level. A value
// of a document can always be encoded, so an error is a fault of the program.
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

// ParseForm reads what a form says of the field. Nil is no value: what was there is
// to be taken out. The error is a sentence for the person who typed it.
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
		return textOrNil(text), nil // its spaces may be what it is about, as of a separator
	}
}

// text returns the text of a row, or "" if the form did not send the row.
func (v *FormValue) text(i int) string {
	if i < len(v.Texts) {
		return strings.ReplaceAll(v.Texts[i], "\r\n", "\n") // as forms send what has lines
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

// item is one row: the text if something is typed, or what was kept.
func (v *FormValue) item(i int) (any, error) {
	s := v.text(i)
	if v.As == flow.FieldSecret || v.As == flow.FieldFile {
		s = strings.TrimSpace(s) // pasted, with what was around it
	}
	if s != "" {
		return s, nil
	}
	if i >= len(v.Kept) || v.Kept[i] == "" {
		return nil, nil
	}
	value, err := flow.DecodeJSON([]byte(v.Kept[i]))
	if err != nil || flow.TypeOf(value) != "file" && !flow.IsSecretRef(value) {
		return nil, errors.New("choose this again; the form was not sent as it was shown")
	}
	return value, nil
}

// list reads the rows of a list without the empty ones; a form may show one for the next
// item.
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
	named := map[string]any{}
	for i, name := range v.Names {
		item, err := v.item(i)
		name = strings.TrimSpace(name)
		_, twice := named[name]
		switch {
		case err != nil:
			return nil, err
		case name == "" && item == nil:
			continue
		case name == "":
			return nil, fmt.Errorf("row %d has a value and no name", i+1)
		case twice:
			return nil, fmt.Errorf("the name %q is there twice", name)
		case item == nil:
			item = ""
		}
		named[name] = item
	}
	if len(named) == 0 {
		return nil, nil
	}
	return named, nil
}

// parseOption reads a choice. A field with typed Values accepts only these; a field with
// Options keeps an unknown text, and Validate reports it where the person sees it.
func parseOption(f *flow.Field, text string) (any, error) {
	i := optionIndex(f, text)
	switch {
	case text == "" && i < 0:
		return nil, nil
	case f.Values == nil:
		return text, nil // one that is gone is reported where the flow is checked
	case i < 0:
		return nil, fmt.Errorf("%q is no choice any more; choose another", text)
	}
	return f.Values[i], nil
}

// parseNumber reads a number as people type it: a leading + or a missing 0 before the
// point is accepted, a decimal comma is not, since 1,000 would be ambiguous. The result keeps the
// digits that were typed.
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
	if size, ok := flow.Float(n); whole && (!ok || size != math.Trunc(size)) {
		return nil, fmt.Errorf("%s is not a whole number", flow.FirstRunes(text, 40))
	}
	return n, nil
}

// parseBoolean reads the value of a select with the options "", true and false. A check
// box could not express that no value is set.
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

// parseJSON reads any JSON value with the rules that apply to documents, such as the
// limit on nesting.
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

// Equal reports whether two forms say the same, so that a control that was not changed
// changes nothing.
func (v FormValue) Equal(w FormValue) bool {
	return v.As == w.As && slices.Equal(v.lines(v.Names), w.lines(w.Names)) && slices.Equal(v.lines(v.Texts), w.lines(w.Texts)) && slices.Equal(v.Kept, w.Kept)
}

// lines returns texts with the line ends of Go. Browsers send CR LF for each line break
// in a text area, whatever was typed.
func (v FormValue) lines(texts []string) []string {
	out := make([]string, len(texts))
	for i, s := range texts {
		out[i] = strings.ReplaceAll(s, "\r\n", "\n")
	}
	return out
}

// FormFields are the fields of a node as a form shows them: those of the kind,
// where what an input falls back to, and its example, are written as the type
// that the input has.
func FormFields(n *flow.Node, k *flow.Kind) []flow.Field {
	fields := slices.Clone(k.Fields)
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
