package flow

import (
	"errors"
	"strings"

	"sluice/flow/value"
)

// MaxJSONDepth bounds the nesting of arrays and objects in JSON that is decoded.
const MaxJSONDepth = value.MaxDepth

// TimeForm is the format of times in JSON: RFC 3339 in UTC with milliseconds.
const TimeForm = "2006-01-02T15:04:05.000Z"

// DecodeJSON decodes one JSON value strictly; see value.Decode. An error is a *ProblemError with
// the location.
func DecodeJSON(data []byte) (any, error) {
	v, err := value.Decode(data)
	return v, JSONProblem(err)
}

// DecodeReceived decodes JSON that another program wrote; see value.DecodeReceived. An error is a
// *ProblemError with the location.
func DecodeReceived(data []byte) (any, error) {
	v, err := value.DecodeReceived(data)
	return v, JSONProblem(err)
}

// EncodeJSON returns a value as compact JSON with the members of objects in their order; see
// value.Encode.
func EncodeJSON(v any) []byte { return value.Encode(v) }

// ProblemError wraps one Problem as an error.
type ProblemError struct{ Problem }

// Error returns the problem as one line.
func (e *ProblemError) Error() string { return e.Problem.String() }

// JSONProblem converts an error of a decoder to a *ProblemError.
func JSONProblem(err error) error {
	if e, ok := errors.AsType[*value.SyntaxError](err); ok {
		return &ProblemError{Problem{Pointer: e.Pointer, Code: e.Code, Detail: e.Detail}}
	}
	return err
}

// LooksLikeJSON reports whether a text begins like an object or an array. This heuristic
// decides how templates escape values; it does not validate.
func LooksLikeJSON(s string) bool {
	s = strings.TrimLeft(s, " \t\r\n")
	return s != "" && (s[0] == '{' || s[0] == '[')
}

// Object is a JSON object that keeps the order of its members; see package value.
type Object = value.Object

// AsObject returns a value as an object; see value.AsObject.
func AsObject(v any) (*Object, bool) { return value.AsObject(v) }

// AsMap returns an object as a map, for readers to whom the order of its members has no meaning;
// see value.AsMap.
func AsMap(v any) (map[string]any, bool) { return value.AsMap(v) }

// Ordered returns a map as an object; see value.Ordered.
func Ordered(v any) any { return value.Ordered(v) }
