package flow

import (
	"fmt"
	"math"
	"slices"
)

// check holds a typed value against the field's declaration.
func (f *Field) check(value any) []Problem {
	one := func(code, format string, args ...any) []Problem {
		return []Problem{{Code: code, Detail: fmt.Sprintf(format, args...)}}
	}
	if named, ok := value.(map[string]any); ok && f.Type == FieldMap {
		return f.checkMap(named)
	}
	if !f.takes(value) {
		got := KindOf(value)
		if got == "number" && f.Type != FieldSecret {
			got = Text(value)
		}
		return one("wrong_type", "%q wants %s, got %s", f.Name, f.wants(), got)
	}
	if f.Values != nil && !slices.ContainsFunc(f.Values, func(v any) bool { return equal(v, value) }) {
		return one("not_allowed", "%q wants one of %s", f.Name, EncodeJSON(f.Values))
	}
	if s, ok := value.(string); ok && f.Type == FieldSelect && f.Values == nil && !slices.Contains(f.Options, s) {
		return one("not_allowed", "%q wants one of %s", f.Name, names(f.Options))
	}
	if size, unit, ok := measure(value); ok {
		if f.Min != nil && size < *f.Min {
			return one("out_of_range", "%q wants at least %s%s", f.Name, inDigits(*f.Min), unit)
		}
		if f.Max != nil && size > *f.Max {
			return one("out_of_range", "%q wants at most %s%s", f.Name, inDigits(*f.Max), unit)
		}
	}
	return nil
}

func (f *Field) takes(value any) bool {
	switch f.Type {
	case FieldText, FieldArea:
		return KindOf(value) == "text" || f.Value == TypeAny || f.Value == TypeJSON
	case FieldSelect, FieldKind, FieldModel:
		return KindOf(value) == "text" || f.Values != nil
	case FieldFile:
		return KindOf(value) == "file" || f.Value == TypeAny && KindOf(value) == "text"
	case FieldNumber:
		return KindOf(value) == "number"
	case FieldInteger:
		n, ok := Float(value)
		return ok && n == math.Trunc(n)
	case FieldBoolean:
		return KindOf(value) == "boolean"
	case FieldList:
		return KindOf(value) == "list" || f.Value == TypeAny && (KindOf(value) == "text" || KindOf(value) == "file")
	case FieldMap:
		return false
	case FieldSecret:
		return IsSecretRef(value) || KindOf(value) == "text"
	}
	return true
}

// checkMap finds the names whose values are neither texts nor secrets.
func (f *Field) checkMap(named map[string]any) []Problem {
	var list []Problem
	for _, name := range sortedNames(named) {
		item := named[name]
		if _, scalar := scalarText(item); !scalar && KindOf(item) != "text" && !IsSecretRef(item) {
			list = append(list, Problem{Pointer: Pointer(name), Code: "wrong_type", Detail: fmt.Sprintf("%q wants text, got %s", name, KindOf(item))})
		}
	}
	return list
}

func (f *Field) wants() string {
	switch f.Type {
	case FieldText, FieldArea, FieldSelect, FieldKind, FieldModel:
		return "text"
	case FieldFile:
		return `a file such as {"file": "file_…"}`
	case FieldInteger:
		return "a whole number"
	case FieldMap:
		return "an object of names and texts"
	case FieldSecret:
		return `{"credential": "name"}`
	}
	return string(f.Type)
}

// IsSecretRef tells whether a value is {"credential": "name"}.
func IsSecretRef(value any) bool { _, ok := SecretRef(value); return ok }

// SecretRefTo is {"credential": "name"}.
func SecretRefTo(name string) map[string]any { return map[string]any{"credential": name} }

// SecretRef is the credential name inside {"credential": "name"}.
func SecretRef(value any) (name string, ok bool) {
	m, isMap := value.(map[string]any)
	if !isMap || len(m) != 1 {
		return "", false
	}
	name, ok = m["credential"].(string)
	return name, ok && name != ""
}
