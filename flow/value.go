package flow

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"sluice/flow/value"
)

// MaxValueDepth bounds the nesting of a value. It is less than MaxJSONDepth, because rows and
// responses wrap values.
const MaxValueDepth = MaxJSONDepth - 4

// AsValue converts v to the types of DecodeJSON and reports whether anything changed. Other Go
// types are encoded to JSON and decoded. It copies what it changes, because values are shared.
func AsValue(v any, depth int) (out any, changed bool, err error) {
	if depth < 0 {
		return nil, false, Errorf(CodeOutputInvalid, "The result is nested deeper than %d levels.", MaxValueDepth)
	}
	given := v // returned as it is, because converting a text to an interface again would allocate
	switch v := v.(type) {
	case nil, bool, int, int64:
		return given, false, nil
	case string:
		if utf8.ValidString(v) {
			return given, false, nil
		}
		return strings.ToValidUTF8(v, "\uFFFD"), true, nil
	case json.Number:
		if IsNumber(string(v)) {
			return given, false, nil
		}
	case float64:
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			return given, false, nil
		}
	case []any:
		return asList(v, depth)
	case *value.Object:
		return asObject(v, depth)
	case map[string]any:
		if v != nil {
			out, _, err = asObject(value.FromMap(v), depth)
			return out, true, err
		}
	}
	return reencode(v, depth)
}

// asList converts the items of a list and reports whether any changed. It copies the list only
// then.
func asList(v []any, depth int) (any, bool, error) {
	changed := false
	for i := range v {
		item, other, err := AsValue(v[i], depth-1)
		if err != nil {
			return nil, false, err
		}
		if other && !changed {
			v, changed = slices.Clone(v), true
		}
		if other {
			v[i] = item
		}
	}
	return v, changed, nil
}

// asObject is asList for objects. Most values need no conversion, and copying several megabytes
// would be slow.
func asObject(o *value.Object, depth int) (any, bool, error) {
	if o == nil {
		return nil, true, nil
	}
	copied := o
	for name, item := range o.All() {
		if !utf8.ValidString(name) {
			return reencode(o, depth)
		}
		item, other, err := AsValue(item, depth-1)
		if err != nil {
			return nil, false, err
		}
		if other && copied == o {
			copied = o.Clone()
		}
		if other {
			copied.Set(name, item)
		}
	}
	return copied, copied != o, nil
}

// reencode converts a value by encoding and decoding it, which replaces invalid UTF-8.
func reencode(v any, depth int) (any, bool, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, false, err
	}
	decoded, err := DecodeJSON(data)
	if err != nil {
		return nil, false, err
	}
	out, _, err := AsValue(decoded, depth)
	return out, true, err
}

// Type is the type of the values of a port or an input.
type Type string

// The value types. A value has one of the Go types of DecodeJSON: nil, bool, string,
// json.Number, []any or *value.Object.
const (
	TypeText    Type = "text"
	TypeNumber  Type = "number"
	TypeBoolean Type = "boolean"
	TypeJSON    Type = "json"
	TypeList    Type = "list"
	TypeFile    Type = "file"
	TypeAny     Type = "any"
)

// Types of ports that accept values of several types. They also accept null, which means that
// there is no value.
const (
	TypeSource  Type = "file or text"       // a file, or the URL of one
	TypeSources Type = "list, file or text" // files, or URLs of them; a single one counts as a list
	TypeItems   Type = "list or text"       // a list, or a text with one item a line
)

// typeMembers lists the types that a combined type consists of.
var typeMembers = map[Type][]Type{
	TypeSource:  {TypeFile, TypeText},
	TypeSources: {TypeList, TypeFile, TypeText},
	TypeItems:   {TypeList, TypeText},

	TypeMessages: {TypeList},
}

// Overlaps reports whether a value can have both types without a conversion.
func (t Type) Overlaps(other Type) bool {
	if t == other {
		return true
	}
	if typeMembers[t] == nil {
		t, other = other, t
	}
	return slices.ContainsFunc(typeMembers[t], other.Overlaps)
}

// MaxTextBytes bounds a text that a step builds. Templates can multiply their input, so a chain
// of them could otherwise exhaust memory.
const MaxTextBytes = 16 << 20

// TypeOf returns the name of the type of a value, for users.
func TypeOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string, SecretText:
		return "text"
	case json.Number, float64, int, int64:
		return "number"
	case []any:
		return "list"
	case *value.Object, map[string]any:
		if _, ok := value.Get(v, "file").(string); ok {
			return "file"
		}
		return "object"
	}
	return "unknown"
}

// Is reports whether v has the type, without coercion.
func (t Type) Is(v any) bool {
	switch t {
	case TypeAny, TypeJSON:
		return true
	case TypeText, TypeNumber, TypeBoolean, TypeList, TypeFile:
		return TypeOf(v) == string(t)
	}
	return typeMembers[t] != nil && (v == nil || slices.ContainsFunc(typeMembers[t], func(m Type) bool { return m.Is(v) }))
}

// Coerce converts v to a type if that loses nothing: a number written as text to a number,
// "true" and "false" to booleans, a scalar to text. Otherwise it returns an error that names
// both types.
func Coerce(v any, t Type) (any, error) {
	if t.Is(v) {
		return v, nil
	}
	switch t {
	case TypeText:
		if s, ok := scalarText(v); ok {
			return s, nil
		}
	case TypeNumber:
		if s, ok := v.(string); ok && IsNumber(strings.TrimSpace(s)) {
			return json.Number(strings.TrimSpace(s)), nil
		}
	case TypeBoolean:
		if s, ok := v.(string); ok && (s == "true" || s == "false") {
			return s == "true", nil
		}
	}
	return nil, fmt.Errorf("wanted %s, got %s", t, TypeOf(v))
}

// Parse parses a text that a user typed (a form field, --input name=value) as a value of the
// type. Lists and JSON values are JSON text, a file is its ID or URL.
func (t Type) Parse(s string) (any, error) {
	if t == TypeFile && fileID.MatchString(s) {
		return map[string]any{"file": s}, nil
	}
	if t == TypeFile {
		if _, ok := RemoteFileOf(s); ok {
			return strings.TrimSpace(s), nil
		}
	}
	if t == TypeMessages && !strings.HasPrefix(strings.TrimSpace(s), "[") {
		return UserMessage(s), nil // plain text is one message
	}
	if t != TypeList && t != TypeJSON && t != TypeMessages {
		return Coerce(s, t)
	}
	v, err := DecodeJSON([]byte(s))
	if err != nil && t == TypeJSON {
		return s, nil // plain text is a JSON string without quotes
	}
	if err != nil {
		return nil, fmt.Errorf("wanted a list written as JSON, such as [\"a\", \"b\"]")
	}
	return Coerce(v, t)
}

// FormatNumber formats a number for users, without an exponent unless it is very small or large.
func FormatNumber(f float64) string {
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e15) {
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

func scalarText(v any) (string, bool) {
	switch v := v.(type) {
	case json.Number:
		return v.String(), true
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64), true
	case int:
		return strconv.Itoa(v), true
	case int64:
		return strconv.FormatInt(v, 10), true
	case bool:
		return strconv.FormatBool(v), true
	}
	return "", false
}

// IsNumber reports whether s is a JSON number.
func IsNumber(s string) bool { return value.IsNumber(s) }

// Text returns a value as text: text unchanged, null as "", everything else as JSON.
func Text(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	if s, ok := scalarText(v); ok {
		return s
	}
	if v == nil {
		return ""
	}
	if s, ok := v.(SecretText); ok {
		return s.String()
	}
	return string(EncodeJSON(v))
}

// Float returns a number value as float64. ok is false for other values and for numbers out of
// range.
func Float(v any) (f float64, ok bool) {
	switch v := v.(type) {
	case json.Number:
		f, err := v.Float64()
		return f, err == nil
	case float64:
		return v, true
	case int:
		return float64(v), true
	case int64:
		return float64(v), true
	}
	return 0, false
}

// Number returns a Go number as a value.
func Number[N int | int64 | float64 | float32](n N) json.Number {
	return json.Number(EncodeJSON(n))
}

// Measure returns the size to which the bounds min and max of a field or an input apply, with
// its unit: the characters of a text, the items of a list, or the number itself. It is nil for
// other values.
func Measure(v any) (size any, unit string) {
	switch v := v.(type) {
	case string:
		return utf8.RuneCountInString(v), " characters"
	case []any:
		return len(v), " items"
	}
	if _, ok := value.NumberText(v); ok {
		return v, ""
	}
	return nil, ""
}

// EqualValues compares values as JSON Schema does: 1 equals 1.0, also in lists and objects.
func EqualValues(a, b any) bool { return value.Equal(a, b) }

// InputNames joins names for a sentence.
func InputNames(list []string) string { return strings.Join(list, ", ") }
