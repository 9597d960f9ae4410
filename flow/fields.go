package flow

import (
	"fmt"
	"slices"

	"sluice/flow/value"
)

// Check returns the problems of a typed value of the field.
func (f *Field) Check(v any) []Problem {
	one := func(code, format string, args ...any) []Problem {
		return []Problem{{Code: code, Detail: fmt.Sprintf(format, args...)}}
	}
	if named, ok := AsObject(v); ok && f.Type == FieldMap {
		return f.checkMap(named)
	}
	if !f.accepts(v) {
		got := TypeOf(v)
		if got == "number" && f.Type != FieldSecret {
			got = Text(v)
		}
		return one("wrong_type", "%q wants %s, got %s", f.Name, f.expected(), got)
	}
	if f.Values != nil && !slices.ContainsFunc(f.Values, func(allowed any) bool { return EqualValues(allowed, v) }) {
		return one("not_allowed", "%q wants one of %s", f.Name, EncodeJSON(f.Values))
	}
	if s, ok := v.(string); ok && f.Type == FieldSelect && f.Values == nil && !slices.Contains(f.Options, s) {
		return one("not_allowed", "%q wants one of %s", f.Name, InputNames(f.Options))
	}
	size, unit := Measure(v)
	if f.Min != nil && isLess(size, *f.Min) {
		return one("out_of_range", "%q wants at least %s%s", f.Name, FormatNumber(*f.Min), unit)
	}
	if f.Max != nil && isLess(*f.Max, size) {
		return one("out_of_range", "%q wants at most %s%s", f.Name, FormatNumber(*f.Max), unit)
	}
	return nil
}

// isLess compares two numbers exactly. It is false for other values.
func isLess(a, b any) bool {
	order, ok := value.CompareNumbers(a, b)
	return ok && order < 0
}

// accepts reports whether a typed value has a type that the field accepts. It is false for map
// fields, because Check has handled objects before and they accept nothing else.
func (f *Field) accepts(v any) bool {
	switch f.Type {
	case FieldText, FieldArea:
		return TypeOf(v) == "text" || f.Value == TypeAny || f.Value == TypeJSON
	case FieldSelect, FieldValueType, FieldModel:
		return TypeOf(v) == "text" || f.Values != nil
	case FieldFile:
		return TypeOf(v) == "file" || f.Value == TypeSource && TypeOf(v) == "text"
	case FieldNumber:
		return TypeOf(v) == "number"
	case FieldInteger:
		return value.IsInteger(v)
	case FieldBoolean:
		return TypeOf(v) == "boolean"
	case FieldList:
		return TypeOf(v) == "list" || f.Value.Is(v) && (TypeOf(v) == "text" || TypeOf(v) == "file")
	case FieldMap:
		return false
	case FieldSecret:
		return IsSecretRef(v) || TypeOf(v) == "text"
	}
	return true
}

// checkMap returns a problem for each value that is neither a text nor a secret. A name may
// also have a list of them, or null for none.
func (f *Field) checkMap(named *Object) []Problem {
	var list []Problem
	wrong := func(pointer, name string, item any) {
		if _, scalar := scalarText(item); !scalar && item != nil && TypeOf(item) != "text" && !IsSecretRef(item) {
			list = append(list, Problem{Pointer: pointer, Code: "wrong_type", Detail: fmt.Sprintf("%q wants text, got %s", name, TypeOf(item))})
		}
	}
	for name, value := range named.All() {
		items, isList := value.([]any)
		if !isList {
			wrong(Pointer(name), name, value)
		}
		for i, item := range items {
			wrong(Pointer(name, i), name, item)
		}
	}
	return list
}

// expected describes the values that the field accepts, for errors.
func (f *Field) expected() string {
	switch f.Type {
	case FieldText, FieldArea, FieldSelect, FieldValueType, FieldModel:
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

// IsSecretRef reports whether a value is {"credential": "name"}.
func IsSecretRef(value any) bool { _, ok := SecretRef(value); return ok }

// SecretRefTo returns {"credential": "name"}.
func SecretRefTo(name string) map[string]any { return map[string]any{"credential": name} }

// SecretRef returns the credential name in {"credential": "name"}.
func SecretRef(v any) (name string, ok bool) {
	if value.Len(v) != 1 {
		return "", false
	}
	name, ok = value.Get(v, "credential").(string)
	return name, ok && name != ""
}

// SecretPlace is where the value of a field may hold literal secrets, and where references to
// credentials are resolved when the node runs.
type SecretPlace string

// The places of secrets.
const (
	// SecretsByName are values under names such as Authorization or password: in
	// a map, and at any depth of a JSON value. See IsSecretName.
	SecretsByName SecretPlace = "names"
	// SecretsInURL are user names with passwords, and query parameters with secret names.
	SecretsInURL SecretPlace = "url"
)

// Redact returns a value without secrets that were typed in, for exports and for people
// who may not see them. References to credentials and secret inputs stay: they reveal
// only a name.
func (f *Field) Redact(v any) any {
	if _, isInput := SecretInput(v); f.Type == FieldSecret && !isInput && !IsSecretRef(v) && v != nil && v != "" {
		return Redacted
	}
	named, isMap := AsObject(v)
	if f.Secrets == SecretsInURL {
		return redactURLs(v)
	}
	if f.Secrets != SecretsByName {
		return v
	}
	if !isMap || f.Type != FieldMap {
		return f.redactMembers(v)
	}
	out, _ := named.Replace(func(name string, item any) (any, error) {
		if f.IsSecretName(name) && !isReference(item) {
			return Redacted, nil
		}
		return item, nil
	})
	return out
}

// redactURLs is ShownURL for a URL or a list of them.
func redactURLs(v any) any {
	switch v := v.(type) {
	case string:
		return ShownURL(v)
	case []any:
		out := slices.Clone(v)
		for i := range out {
			out[i] = redactURLs(out[i])
		}
		return out
	}
	return v
}

// redactMembers redacts the members with secret names in a JSON value.
func (f *Field) redactMembers(v any) any {
	switch v := value.Ordered(v).(type) {
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = f.redactMembers(v[i])
		}
		return out
	case *Object:
		if IsSecretRef(v) {
			return v
		}
		out, _ := v.Replace(func(name string, item any) (any, error) {
			if s, isText := item.(string); isText && s != "" && IsSecretMember(name, s) {
				return Redacted, nil
			}
			return f.redactMembers(item), nil
		})
		return out
	}
	return v
}

// isReference reports whether a value references credentials and holds no
// secret itself.
func isReference(v any) bool {
	if _, ok := v.(SecretText); ok || IsSecretRef(v) {
		return true
	}
	s, ok := v.(string)
	return ok && len(TextCredentials(s)) > 0
}

// IsSecretName reports whether a map field hides the value of a name.
func (f *Field) IsSecretName(name string) bool {
	return f.Secrets == SecretsByName && IsSecretName(name)
}
