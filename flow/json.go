package flow

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxJSONDepth bounds the nesting of arrays and objects in JSON that is decoded.
const MaxJSONDepth = 64

// TimeForm is the format of times in JSON: RFC 3339 in UTC with milliseconds.
const TimeForm = "2006-01-02T15:04:05.000Z"

// DecodeJSON decodes exactly one JSON value: valid UTF-8, no duplicate names, no trailing data,
// at most MaxJSONDepth deep. Objects become map[string]any, arrays []any and numbers
// json.Number, which keeps every digit. An error is a *ProblemError with the location.
func DecodeJSON(data []byte) (any, error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(data))
	v, err := decodeValue(d)
	if err == nil {
		if _, end := d.ReadToken(); end != io.EOF {
			err = &jsonError{at: "", msg: fmt.Sprintf("unexpected data after the JSON value, at byte %d", d.InputOffset())}
		}
	}
	if err != nil {
		return nil, jsonProblem(d, err)
	}
	return v, nil
}

// EncodeJSON returns a value as compact JSON with sorted names and without HTML escapes.
// Values consist of the types of DecodeJSON, so a failure is a programming error and panics.
func EncodeJSON(v any) []byte { return appendJSON(make([]byte, 0, 128), v) }

// appendJSON encodes the most common types directly, because every step is encoded for its
// hash, and leaves the rest to encoding/json.
func appendJSON(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...)
	case bool:
		return strconv.AppendBool(b, v)
	case string:
		if isPlain(v) {
			return append(append(append(b, '"'), v...), '"')
		}
	case json.Number:
		if IsNumber(string(v)) {
			return append(b, v...)
		}
	case int:
		return strconv.AppendInt(b, int64(v), 10)
	case float64:
		if size := math.Abs(v); size == 0 || size >= 1e-6 && size < 1e21 { // encoding/json uses an exponent for others
			return strconv.AppendFloat(b, v, 'f', -1, 64)
		}
	case []any:
		if v != nil {
			return appendList(b, v)
		}
	case map[string]any:
		if v != nil {
			return appendObject(b, v)
		}
	}
	return appendReflected(b, v)
}

func appendList(b []byte, list []any) []byte {
	b = append(b, '[')
	for i, item := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendJSON(b, item)
	}
	return append(b, ']')
}

// appendObject appends an object with sorted members, so that equal values have equal
// encodings, on which step hashes and idempotency depend. Small objects need no allocation.
func appendObject(b []byte, m map[string]any) []byte {
	var few [16]string
	names := few[:0]
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	b = append(b, '{')
	for i, name := range names {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendJSON(b, name), ':')
		b = appendJSON(b, m[name])
	}
	return append(b, '}')
}

// isPlain reports whether a text needs no escapes in JSON.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= 0x7f {
			return false
		}
	}
	return true
}

// appendReflected encodes other types, such as structs, with encoding/json. A failure is a bug
// and panics.
func appendReflected(b []byte, v any) []byte {
	w := bytes.NewBuffer(b)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("flow: encode JSON: %v", err))
	}
	return bytes.TrimSuffix(w.Bytes(), []byte("\n"))
}

// jsonError is a violation of a rule beyond JSON syntax, such as the maximum depth. at is a
// JSON Pointer.
type jsonError struct{ at, msg string }

func (e *jsonError) Error() string { return e.msg }

// ProblemError wraps one Problem as an error.
type ProblemError struct{ Problem }

// Error returns the problem as one line.
func (e *ProblemError) Error() string { return e.Problem.String() }

// jsonProblem converts an error of the decoder to a ProblemError with a JSON Pointer and a
// message for people.
func jsonProblem(d *jsontext.Decoder, err error) error {
	p := Problem{Pointer: string(d.StackPointer()), Code: "invalid_json"}
	if own, ok := errors.AsType[*jsonError](err); ok {
		p.Pointer, p.Detail = own.at, own.msg
		return &ProblemError{p}
	}
	if syn, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		p.Pointer = string(syn.JSONPointer)
		p.Detail = fmt.Sprintf("%s, at byte %d", syntaxWords(syn.Err), syn.ByteOffset)
		switch {
		case errors.Is(err, jsontext.ErrDuplicateName):
			p.Code, p.Detail = "duplicate_name", "this name appears twice in the same object"
		case errors.Is(err, io.ErrUnexpectedEOF):
			p.Detail = "the JSON ends too early"
		}
		return &ProblemError{p}
	}
	p.Detail = "the JSON ends too early"
	return &ProblemError{p}
}

// invalidCharacter matches the decoder's message about an invalid character and
// its place.
var invalidCharacter = regexp.MustCompile(`^invalid character ((?:'.+'|.+?)) (at|after|in) (.+)$`)

// characterPlaces are the places in the decoder's messages, by prefix.
var characterPlaces = []struct{ start, words string }{
	{"start of value", "where a value should begin"},
	{"start of string", "where a text in double quotes should begin"},
	{"top-level value", "after the JSON value"},
	{"object name", "after a name, where ':' belongs"},
	{"object value", "after a value, where ',' or '}' belongs"},
	{"array", "after a value, where ',' or ']' belongs"},
	{"literal", "where true, false or null should be"},
	{"string", "inside a text, where it needs an escape such as \\n"},
	{"number", "inside a number"},
}

// syntaxWords describes a JSON syntax error for the author of the text.
func syntaxWords(err error) string {
	switch text := err.Error(); {
	case errors.Is(err, jsontext.ErrNonStringName):
		return "a name must be a text in double quotes"
	case strings.HasPrefix(text, "missing value"):
		return "a value is missing after a name"
	case strings.HasPrefix(text, "mismatching"):
		return "a closing bracket does not match the opening one"
	case strings.Contains(text, "surrogate"):
		return "a text has half of a surrogate pair; write both halves, or the character itself"
	case strings.HasPrefix(text, "invalid escape"):
		return "a text has a backslash before something that JSON does not escape; write \\\\ for a backslash"
	case strings.Contains(text, "UTF-8"):
		return "a text is not valid UTF-8"
	default:
		m := invalidCharacter.FindStringSubmatch(text)
		for _, place := range characterPlaces {
			if m != nil && strings.HasPrefix(m[3], place.start) {
				return "unexpected " + m[1] + " " + place.words
			}
		}
	}
	return "this is not JSON"
}

// decodeValue decodes one value. Numbers are not converted to float64, which would change
// large IDs.
func decodeValue(d *jsontext.Decoder) (any, error) {
	t, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	if d.StackDepth() > MaxJSONDepth {
		return nil, &jsonError{at: string(d.StackPointer()), msg: fmt.Sprintf("nested deeper than %d levels", MaxJSONDepth)}
	}
	switch t.Kind() {
	case '{':
		return decodeObject(d)
	case '[':
		return decodeArray(d)
	case '"':
		return t.String(), nil
	case '0':
		return json.Number(t.String()), nil
	case 't', 'f':
		return t.Bool(), nil
	}
	return nil, nil
}

// decodeObject decodes the members of an object up to its end. The decoder rejects duplicate
// names.
func decodeObject(d *jsontext.Decoder) (any, error) {
	m := map[string]any{}
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		key := name.String()
		if m[key], err = decodeValue(d); err != nil {
			return nil, err
		}
	}
	_, err := d.ReadToken()
	return m, err
}

func decodeArray(d *jsontext.Decoder) (any, error) {
	list := []any{}
	for d.PeekKind() != ']' {
		v, err := decodeValue(d)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	_, err := d.ReadToken()
	return list, err
}

// LooksLikeJSON reports whether a text begins like an object or an array. This heuristic
// decides how templates escape values; it does not validate.
func LooksLikeJSON(s string) bool {
	s = strings.TrimLeft(s, " \t\r\n")
	return s != "" && (s[0] == '{' || s[0] == '[')
}
