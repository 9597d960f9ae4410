package value

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"
	"unsafe"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxDepth bounds the nesting of arrays and objects in JSON that is decoded.
const MaxDepth = 64

// MaxValues bounds how many values the JSON of a request or document has: texts, numbers, booleans,
// nulls, arrays and objects together. Each takes memory, however few bytes of text it has.
const MaxValues = 1_000_000

// SyntaxError says where a text is not the JSON that was asked for, and why.
type SyntaxError struct {
	Pointer string // JSON Pointer (RFC 6901) of the place
	Code    string // invalid_json or duplicate_name
	Detail  string // for the author of the text
}

// Error returns the problem as one line.
func (e *SyntaxError) Error() string {
	if e.Pointer == "" {
		return e.Detail
	}
	return e.Pointer + ": " + e.Detail
}

// Decode decodes exactly one JSON value strictly, as requests and documents are read: valid UTF-8
// after at most one byte order mark, which editors on Windows write, no duplicate names, no trailing
// data, at most MaxDepth deep and MaxValues values. Objects keep the order of their members, and
// numbers keep every digit. An error is a *SyntaxError.
func Decode(data []byte) (any, error) {
	return newDecoder(bytes.TrimPrefix(data, []byte("\ufeff"))).whole()
}

// DecodeOwned is Decode for data that nobody changes afterwards. It does not copy large data URLs, so
// they keep data in memory.
func DecodeOwned(data []byte) (any, error) {
	d := newDecoder(bytes.TrimPrefix(data, []byte("\ufeff")))
	d.owned = data
	return d.whole()
}

// LargeDataURL is the size in bytes from which DecodeOwned does not copy data URLs.
const LargeDataURL = 64 << 10

// DataURLPrefix is how data URLs begin.
const DataURLPrefix = "data:"

// DecodeFrom is Decode for content that is not in memory. Beside the value, it takes memory only for
// the longest text.
func DecodeFrom(content io.Reader) (any, error) {
	buffered := bufio.NewReaderSize(content, maxCopied)
	if start, _ := buffered.Peek(3); string(start) == "\ufeff" {
		_, _ = buffered.Discard(3) // which were peeked
	}
	d := newDecoder(nil)
	d.Reset(buffered)
	return d.whole()
}

// DecodeReceived decodes JSON that another program wrote and that cannot be corrected here: the body of
// a response, the answer of a model, a text of a file. Unlike Decode it reads a text without content
// as null, takes the last of duplicate names, as JavaScript does, replaces invalid UTF-8 and half
// surrogate pairs by U+FFFD, and accepts any number of values. Every place that reads such JSON
// uses it, so that the same text is the same value everywhere.
func DecodeReceived(data []byte) (any, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if len(bytes.TrimLeft(data, " \t\r\n")) == 0 {
		return nil, nil
	}
	d := newDecoder(data, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	d.left = math.MaxInt // the memory of the step bounds it
	return d.whole()
}

// maxStoredDepth bounds the nesting of stored JSON. Rows wrap values of MaxDepth in few levels.
const maxStoredDepth = 2 * MaxDepth

// maxCopied is the size in bytes of a text that is copied to decode it faster.
const maxCopied = 64 << 10

// DecodeStored decodes JSON that Encode wrote. It reads values that are nested deeper than MaxDepth,
// because rows wrap them, and any number of values.
func DecodeStored(text string) (any, error) {
	d := newDecoder(nil, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if len(text) < maxCopied {
		d.Reset(bytes.NewBufferString(text))
	} else {
		d.Reset(strings.NewReader(text))
	}
	d.depth, d.left = maxStoredDepth, math.MaxInt
	return d.whole()
}

// Limits of the names that a decoder remembers.
const (
	maxNames = 1024
	maxName  = 64 // bytes
)

// decoder decodes one value. Objects in lists repeat their names, so it keeps one copy of each.
type decoder struct {
	*jsontext.Decoder
	depth int // maximum nesting
	left  int // number of further values that are accepted
	names map[string]string
	owned []byte // what is decoded, if texts may refer to it

	// Members and items of objects and lists whose end was not reached yet. They are copied at the
	// end, so that values have no unused space and growing ones leave nothing behind.
	members []Member
	items   []any
}

func newDecoder(data []byte, options ...jsontext.Options) *decoder {
	return &decoder{Decoder: jsontext.NewDecoder(bytes.NewBuffer(data), options...), depth: MaxDepth, left: MaxValues}
}

// whole decodes the only value of the text.
func (d *decoder) whole() (any, error) {
	v, err := d.value()
	if err == nil {
		if _, end := d.ReadToken(); end != io.EOF {
			err = &SyntaxError{Code: "invalid_json", Detail: fmt.Sprintf("unexpected data after the JSON value, at byte %d", d.InputOffset())}
		}
	}
	if err != nil {
		return nil, syntaxError(d.Decoder, err)
	}
	return v, nil
}

// value decodes one value. Numbers are not converted to float64, which would change large IDs.
func (d *decoder) value() (any, error) {
	t, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	if d.StackDepth() > d.depth {
		return nil, &SyntaxError{Pointer: string(d.StackPointer()), Code: "invalid_json", Detail: fmt.Sprintf("nested deeper than %d levels", d.depth)}
	}
	if d.left--; d.left < 0 {
		return nil, &SyntaxError{Pointer: string(d.StackPointer()), Code: "invalid_json", Detail: "more than 1,000,000 values"}
	}
	switch t.Kind() {
	case '{':
		return d.object()
	case '[':
		return d.list()
	case '"':
		return d.text(t), nil
	case '0':
		return json.Number(t.String()), nil
	case 't', 'f':
		return t.Bool(), nil
	}
	return nil, nil
}

// text returns a text that was just read.
func (d *decoder) text(t jsontext.Token) string {
	if len(d.owned) < LargeDataURL {
		return t.String()
	}
	end := len(d.owned) - len(d.UnreadBuffer()) - 1 // of the closing quote
	start := bytes.LastIndexByte(d.owned[:end], '"') + 1
	quoted := d.owned[start:end]
	if len(quoted) < LargeDataURL || !bytes.HasPrefix(quoted, []byte(DataURLPrefix)) || bytes.IndexByte(quoted, '\\') >= 0 || start > 1 && d.owned[start-2] == '\\' {
		return t.String() // which unquotes it; the last one begins after an escaped quote
	}
	return unsafe.String(unsafe.SliceData(quoted), len(quoted))
}

// object decodes the members of an object up to its end.
func (d *decoder) object() (any, error) {
	start := len(d.members)
	for d.PeekKind() != '}' {
		t, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		name := d.name(t.String())
		v, err := d.value()
		if err != nil {
			return nil, err
		}
		d.members = append(d.members, Member{name, v})
	}
	o := NewObject(d.members[start:]...)
	clear(d.members[start:])
	d.members = d.members[:start]
	_, err := d.ReadToken()
	return o, err
}

// name returns the copy of a name that was read before, so that the new one can be collected.
func (d *decoder) name(name string) string {
	if known, ok := d.names[name]; ok {
		return known
	}
	if len(name) > maxName || len(d.names) >= maxNames {
		return name
	}
	if d.names == nil {
		d.names = map[string]string{}
	}
	d.names[name] = name
	return name
}

// maxPending is the number of items of a list that are kept together until its end is reached.
const maxPending = 4096

// list decodes the items of a list up to its end. The items of a long list are kept in several
// slices, because growing one would leave many of several times its size behind.
func (d *decoder) list() (any, error) {
	start := len(d.items)
	var earlier [][]any
	for d.PeekKind() != ']' {
		v, err := d.value()
		if err != nil {
			return nil, err
		}
		if d.items = append(d.items, v); len(d.items)-start == maxPending {
			earlier = append(earlier, slices.Clone(d.items[start:]))
			d.items = d.items[:start]
		}
	}
	list := make([]any, 0, len(earlier)*maxPending+len(d.items)-start)
	for _, items := range earlier {
		list = append(list, items...)
	}
	list = append(list, d.items[start:]...)
	clear(d.items[start : start+min(len(list), maxPending)])
	d.items = d.items[:start]
	_, err := d.ReadToken()
	return list, err
}

// syntaxError converts an error of the decoder to a *SyntaxError with a message for people.
func syntaxError(d *jsontext.Decoder, err error) error {
	if own, ok := errors.AsType[*SyntaxError](err); ok {
		return own
	}
	e := &SyntaxError{Pointer: string(d.StackPointer()), Code: "invalid_json", Detail: "the JSON ends too early"}
	if syn, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		e.Pointer = string(syn.JSONPointer)
		switch {
		case errors.Is(err, jsontext.ErrDuplicateName):
			e.Code, e.Detail = "duplicate_name", "this name appears twice in the same object"
		case !errors.Is(err, io.ErrUnexpectedEOF):
			e.Detail = fmt.Sprintf("%s, at byte %d", syntaxWords(syn.Err), syn.ByteOffset)
		}
	}
	return e
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
