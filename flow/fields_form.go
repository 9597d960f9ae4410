package flow

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// FormValue is what a form holds of a field. Texts are what a person sees and
// types: one, or one a row. Kept is beside each text the JSON of what no text
// can hold, a file or the name of a credential; a text that is typed wins over
// it. Names are those of a map's rows.
type FormValue struct {
	As    FieldType // the control: how Texts are to be read
	Names []string
	Texts []string
	Kept  []string
}

// Control is what shows a value of the field: the field's own type, or another
// where the value is one that this cannot hold. Nil is no value.
func (f *Field) Control(value any) FieldType {
	kind := KindOf(value)
	switch f.Type {
	case FieldJSON:
		if f.Template && kind == "text" {
			return FieldArea // without the quotes that JSON would ask for
		}
		return FieldJSON
	case FieldList:
		if kind == "text" {
			return FieldArea
		}
	}
	if value == nil || f.holds(value) {
		return f.Type
	}
	return FieldJSON
}

// holds tells whether the usual control of the field's type shows a value and
// gives back the same.
func (f *Field) holds(value any) bool {
	switch f.Type {
	case FieldNumber, FieldInteger:
		return KindOf(value) == "number"
	case FieldBoolean:
		return KindOf(value) == "boolean"
	case FieldSelect:
		return KindOf(value) == "text" || f.option(Text(value)) >= 0
	case FieldSecret:
		return IsSecretRef(value) || KindOf(value) == "text"
	case FieldFile:
		_, file := FileID(value)
		return file || KindOf(value) == "text"
	case FieldList:
		items, ok := value.([]any)
		return ok && !slices.ContainsFunc(items, func(item any) bool {
			_, file := FileID(item)
			return !file && (KindOf(item) != "text" || item == "")
		})
	case FieldMap:
		return holdsMap(value)
	}
	return KindOf(value) == "text"
}

func holdsMap(value any) bool {
	named, ok := value.(map[string]any)
	for name, item := range named {
		ok = ok && name != "" && (KindOf(item) == "text" || IsSecretRef(item))
	}
	return ok
}

// option is the place of the choice that is written so, or -1.
func (f *Field) option(text string) int {
	if f.Values == nil {
		return slices.Index(f.Options, text)
	}
	return slices.IndexFunc(f.Values, func(v any) bool { return Text(v) == text })
}

// Form is how a form shows a value, as Parse reads it again. Nil is no value. A
// secret that is no reference is never shown.
func (f *Field) Form(value any) FormValue {
	v := FormValue{As: f.Control(value)}
	switch v.As {
	case FieldList:
		items, _ := value.([]any)
		for _, item := range items {
			v.row("", item)
		}
	case FieldMap:
		named, _ := value.(map[string]any)
		for _, name := range sortedNames(named) {
			v.row(name, named[name])
			if f.IsSecretName(name) && !IsSecretRef(named[name]) && !f.fillsIn(named[name]) {
				v.Texts[len(v.Texts)-1] = ""
			}
		}
	case FieldSecret:
		v.row("", value)
		v.Texts[0] = ""
	case FieldFile:
		v.row("", value)
	case FieldJSON:
		v.Texts = []string{indented(value)}
	default:
		v.Texts = []string{Text(value)}
	}
	return v
}

// fillsIn tells whether a text takes its secret from the inputs of a run.
func (f *Field) fillsIn(v any) bool {
	s, _ := v.(string)
	return f.Template && strings.Contains(s, "{{")
}

func (v *FormValue) row(name string, value any) {
	text, kept := Text(value), ""
	if KindOf(value) == "file" || IsSecretRef(value) {
		text, kept = "", string(EncodeJSON(value))
	}
	if v.As == FieldMap {
		v.Names = append(v.Names, name)
	}
	v.Texts, v.Kept = append(v.Texts, text), append(v.Kept, kept)
}

func indented(value any) string {
	if value == nil {
		return ""
	}
	var b bytes.Buffer
	if err := json.Indent(&b, EncodeJSON(value), "", "  "); err != nil {
		panic("flow: indent JSON: " + err.Error())
	}
	return b.String()
}

// Parse reads what a form says of the field. Nil is no value: what was there is
// to be taken out. The error is a sentence for whoever typed it.
func (f *Field) Parse(v FormValue) (any, error) {
	switch text := v.text(0); v.As {
	case FieldNumber, FieldInteger:
		return parseNumber(text, v.As == FieldInteger)
	case FieldBoolean:
		return parseBoolean(text)
	case FieldSelect:
		return f.parseOption(text)
	case FieldList:
		return v.list()
	case FieldMap:
		return v.named()
	case FieldSecret, FieldFile:
		return v.item(0)
	case FieldJSON:
		return parseJSON(text)
	case FieldModel, FieldKind:
		return textOrNil(strings.TrimSpace(text)), nil
	default:
		return textOrNil(text), nil // its spaces may be what it is about, as of a separator
	}
}

func (v *FormValue) text(i int) string {
	if i < len(v.Texts) {
		return strings.ReplaceAll(v.Texts[i], "\r\n", "\n") // as forms send what has lines
	}
	return ""
}

func textOrNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// item is one row: the text if something is typed, or what was kept.
func (v *FormValue) item(i int) (any, error) {
	s := v.text(i)
	if v.As == FieldSecret || v.As == FieldFile {
		s = strings.TrimSpace(s) // pasted, with what was around it
	}
	if s != "" {
		return s, nil
	}
	if i >= len(v.Kept) || v.Kept[i] == "" {
		return nil, nil
	}
	value, err := DecodeJSON([]byte(v.Kept[i]))
	if err != nil || KindOf(value) != "file" && !IsSecretRef(value) {
		return nil, errors.New("choose this anew; the form was not sent as it was shown")
	}
	return value, nil
}

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

func (f *Field) parseOption(text string) (any, error) {
	i := f.option(text)
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

func parseNumber(text string, whole bool) (any, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, nil
	}
	plain := strings.TrimPrefix(text, "+")
	if strings.HasPrefix(plain, ".") {
		plain = "0" + plain
	}
	if !isNumber(plain) {
		return nil, fmt.Errorf("%q is not a number; write it with digits, such as 0.5", firstRunes(text, 40))
	}
	n := json.Number(plain)
	if size, ok := Float(n); whole && (!ok || size != math.Trunc(size)) {
		return nil, fmt.Errorf("%s is not a whole number", firstRunes(text, 40))
	}
	return n, nil
}

func parseBoolean(text string) (any, error) {
	switch text {
	case "":
		return nil, nil
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return nil, fmt.Errorf("%q is neither true nor false", firstRunes(text, 40))
}

func parseJSON(text string) (any, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	value, err := DecodeJSON([]byte(text))
	if p, ok := errors.AsType[*ProblemError](err); ok {
		return nil, fmt.Errorf("this is not JSON: %s", p.Detail)
	}
	return value, err
}

// Equal tells whether two forms say the same, so that a control nobody touched
// changes nothing.
func (v FormValue) Equal(w FormValue) bool {
	return v.As == w.As && slices.Equal(v.lines(v.Names), w.lines(w.Names)) && slices.Equal(v.lines(v.Texts), w.lines(w.Texts)) && slices.Equal(v.Kept, w.Kept)
}

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
func FormFields(n *Node, k *Kind) []Field {
	fields := slices.Clone(k.Fields)
	if k.Role != RoleInput {
		return fields
	}
	as := map[Type]FieldType{TypeText: FieldArea, TypeNumber: FieldNumber, TypeBoolean: FieldBoolean, TypeList: FieldList, TypeFile: FieldFile}
	for i := range fields {
		f := &fields[i]
		if t, known := as[readInput(n).Type]; known && f.Type == FieldJSON {
			f.Type = t
		}
	}
	return fields
}
