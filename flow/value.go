package flow

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxValueDepth is how deep a value may nest: less than MaxJSONDepth, since
// records and answers wrap it.
const MaxValueDepth = MaxJSONDepth - 4

// AsValue returns v as DecodeJSON would give it. Go types that are no values
// take the way through JSON. What is changed is copied: values are shared.
func AsValue(v any, depth int) (out any, changed bool, err error) {
	if depth < 0 {
		return nil, false, Errorf(CodeOutputInvalid, "The result is nested deeper than %d levels.", MaxValueDepth)
	}
	switch v := v.(type) {
	case nil, bool, int, int64:
		return v, false, nil
	case string:
		if utf8.ValidString(v) {
			return v, false, nil
		}
		return strings.ToValidUTF8(v, "\uFFFD"), true, nil
	case json.Number:
		if IsNumber(string(v)) {
			return v, false, nil
		}
	case float64:
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			return v, false, nil
		}
	case []any:
		return asList(v, depth)
	case map[string]any:
		return asObject(v, depth)
	}
	data, err := json.Marshal(v)
	if err != nil {
		return nil, false, err
	}
	decoded, err := DecodeJSON(data)
	if err != nil {
		return nil, false, err
	}
	out, _, err = AsValue(decoded, depth)
	return out, true, err
}

// asList converts the items of a list and reports whether any changed. Only then it copies
// the list.
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

// asObject is asList for the members of an object. Most values need no conversion, and
// copying those of several megabytes would cost.
func asObject(v map[string]any, depth int) (any, bool, error) {
	var copied map[string]any
	for name, item := range v {
		item, other, err := AsValue(item, depth-1)
		if err != nil {
			return nil, false, err
		}
		if other && copied == nil {
			copied = maps.Clone(v)
		}
		if other {
			copied[name] = item
		}
	}
	if copied != nil {
		return copied, true, nil
	}
	return v, false, nil
}

// Type is what kind of value a port or an input takes.
type Type string

// The value types. A value itself is what DecodeJSON gives: nil, bool, string,
// json.Number, []any or map[string]any.
const (
	TypeText    Type = "text"
	TypeNumber  Type = "number"
	TypeBoolean Type = "boolean"
	TypeJSON    Type = "json"
	TypeList    Type = "list"
	TypeFile    Type = "file"
	TypeAny     Type = "any"
)

// Types of ports that take values of several types. Null is taken too and means
// that there is no value.
const (
	TypeSource  Type = "file or text"       // a file, or the URL of one
	TypeSources Type = "list, file or text" // files, or URLs of them; a single one counts as a list
	TypeItems   Type = "list or text"       // a list, or a text with one item a line
)

// members are the types that a type of several consists of.
var members = map[Type][]Type{
	TypeSource:  {TypeFile, TypeText},
	TypeSources: {TypeList, TypeFile, TypeText},
	TypeItems:   {TypeList, TypeText},

	TypeMessages: {TypeList},
}

// Overlaps reports whether a value can be of both types without a conversion.
func (t Type) Overlaps(other Type) bool {
	if t == other {
		return true
	}
	if members[t] == nil {
		t, other = other, t
	}
	return slices.ContainsFunc(members[t], other.Overlaps)
}

// MaxTextBytes bounds a text that a step builds. Templates multiply what they
// are given, so without a bound a chain of them fills the memory.
const MaxTextBytes = 16 << 20

// TypeOf names what a value is in words a person uses.
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
	case map[string]any:
		if _, ok := v["file"].(string); ok {
			return "file"
		}
		return "object"
	}
	return "unknown"
}

// Is reports whether v is a value of the type as it stands, without coercion.
func (t Type) Is(v any) bool {
	switch t {
	case TypeAny, TypeJSON:
		return true
	case TypeText, TypeNumber, TypeBoolean, TypeList, TypeFile:
		return TypeOf(v) == string(t)
	}
	return members[t] != nil && (v == nil || slices.ContainsFunc(members[t], func(m Type) bool { return m.Is(v) }))
}

// Coerce turns v into the type where nothing can be lost by it: a number
// written as text into a number, "true" and "false" into booleans, a scalar
// into text. Everything else is refused with what was wanted and what came.
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

// Parse reads text typed by a person (a form field, --input name=value) as a
// value of the type; lists and JSON are written as JSON, a file as its ID.
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
		return UserMessage(s), nil // plain words are one message
	}
	if t != TypeList && t != TypeJSON && t != TypeMessages {
		return Coerce(s, t)
	}
	v, err := DecodeJSON([]byte(s))
	if err != nil && t == TypeJSON {
		return s, nil // plain words are a JSON text without its quotes
	}
	if err != nil {
		return nil, fmt.Errorf("wanted a list written as JSON, such as [\"a\", \"b\"]")
	}
	return Coerce(v, t)
}

// FormatNumber writes a number for people: without an exponent where that is short.
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

// IsNumber reports whether s is a number as JSON writes it.
func IsNumber(s string) bool {
	s = strings.TrimPrefix(s, "-")
	if len(s) > 1 && s[0] == '0' && s[1] >= '0' && s[1] <= '9' {
		return false
	}
	s, ok := digits(s)
	if ok && strings.HasPrefix(s, ".") {
		s, ok = digits(s[1:])
	}
	if ok && s != "" && (s[0] == 'e' || s[0] == 'E') {
		if s = s[1:]; s != "" && (s[0] == '+' || s[0] == '-') {
			s = s[1:]
		}
		s, ok = digits(s)
	}
	return ok && s == ""
}

// digits cuts at least one digit off the start of s.
func digits(s string) (rest string, ok bool) {
	i := 0
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	return s[i:], i > 0
}

// Text is a value as it appears inside a text: text as it is, null as nothing,
// everything else as JSON.
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

// Float is a number value as float64; ok is false for anything else and for
// numbers out of range.
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

// Number wraps a Go number as a value.
func Number[N int | int64 | float64 | float32](n N) json.Number {
	return json.Number(EncodeJSON(n))
}

// Measure returns what the bounds min and max of a field or an input apply to, with its unit:
// the characters of a text, the items of a list, or the number itself.
func Measure(v any) (size float64, unit string, ok bool) {
	switch v := v.(type) {
	case string:
		return float64(utf8.RuneCountInString(v)), " characters", true
	case []any:
		return float64(len(v)), " items", true
	}
	size, ok = Float(v)
	return size, "", ok
}

// EqualValues compares as JSON Schema does: 1 is 1.0, also inside lists and objects.
func EqualValues(a, b any) bool {
	switch a := a.(type) {
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, EqualValues)
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, EqualValues)
	}
	x, xNumber := Float(a)
	y, yNumber := Float(b)
	if xNumber && yNumber {
		return x == y
	}
	return string(EncodeJSON(a)) == string(EncodeJSON(b))
}

// InputNames joins names for a sentence.
func InputNames(list []string) string { return strings.Join(list, ", ") }
