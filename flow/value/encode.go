package value

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unsafe"
)

// Encode returns a value as compact JSON without HTML escapes: the members of an *Object in their
// order, those of a map sorted. A value that JSON cannot express is a programming error and
// panics.
func Encode(v any) []byte { return encoder{}.append(make([]byte, 0, 128), v) }

// Canonical returns a value as compact JSON in which the members of every object are sorted, so
// that equal values have equal bytes. Hashes and comparisons use it.
func Canonical(v any) []byte { return encoder{sorted: true}.append(make([]byte, 0, 128), v) }

// Text is Encode as a string. It does not leave several buffers of growing size behind, as large
// values would otherwise.
func Text(v any) string {
	var text string
	withBuffer(encoder{}, v, func(b []byte) { text = string(b) })
	return text
}

// Hash returns the SHA-256 of Canonical in hexadecimal.
func Hash(v any) string {
	var sum [sha256.Size]byte
	withBuffer(encoder{sorted: true}, v, func(b []byte) { sum = sha256.Sum256(b) })
	return hex.EncodeToString(sum[:])
}

// buffers are used again by the next encoding.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// withBuffer calls use with the encoding of a value, which is valid until use returns.
func withBuffer(e encoder, v any, use func([]byte)) {
	b := buffers.Get().(*[]byte)
	defer buffers.Put(b)
	*b = e.append((*b)[:0], v)
	use(*b)
}

// encoder appends values as JSON.
type encoder struct {
	sorted bool   // ignores the order of members
	texts  *Texts // nil if nothing is remembered
}

// append encodes the most common types directly, because every step is encoded for its hash, and
// leaves the rest to encoding/json.
func (e encoder) append(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...)
	case bool:
		return strconv.AppendBool(b, v)
	case string:
		if e.texts != nil && len(v) >= rememberedBytes {
			return e.texts.once(b, part{unsafe.Pointer(unsafe.StringData(v)), len(v)}, func(b []byte) []byte { return appendText(b, v) })
		}
		return appendText(b, v)
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
		if e.texts != nil && len(v) > 0 {
			return e.texts.once(b, part{unsafe.Pointer(unsafe.SliceData(v)), len(v)}, func(b []byte) []byte { return e.appendList(b, v) })
		}
		if v != nil {
			return e.appendList(b, v)
		}
	case *Object:
		if e.texts != nil && v != nil {
			return e.texts.once(b, part{unsafe.Pointer(v), -1}, func(b []byte) []byte { return e.appendObject(b, v) })
		}
		if v != nil {
			return e.appendObject(b, v)
		}
		return append(b, "null"...)
	case map[string]any:
		if v != nil {
			return e.appendMap(b, v)
		}
	}
	return appendReflected(b, v)
}

func (e encoder) appendList(b []byte, list []any) []byte {
	b = append(b, '[')
	for i, item := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = e.append(b, item)
	}
	return append(b, ']')
}

func (e encoder) appendObject(b []byte, o *Object) []byte {
	members := o.members
	if e.sorted && !slices.IsSortedFunc(members, byName) {
		members = slices.Clone(members)
		slices.SortFunc(members, byName)
	}
	b = append(b, '{')
	for i := range members {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendText(b, members[i].Name), ':')
		b = e.append(b, members[i].Value)
	}
	return append(b, '}')
}

func byName(a, b Member) int { return strings.Compare(a.Name, b.Name) }

// appendMap appends a map with sorted members. Small maps need no allocation.
func (e encoder) appendMap(b []byte, m map[string]any) []byte {
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
		b = append(appendText(b, name), ':')
		b = e.append(b, m[name])
	}
	return append(b, '}')
}

// appendText appends a text. Most need no escapes.
func appendText(b []byte, s string) []byte {
	if isPlain(s) {
		return append(append(append(b, '"'), s...), '"')
	}
	return appendReflected(b, s)
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
// and panics. Objects inside such types keep their order.
func appendReflected(b []byte, v any) []byte {
	w := bytes.NewBuffer(b)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("value: encode JSON: %v", err))
	}
	return bytes.TrimSuffix(w.Bytes(), []byte("\n"))
}
