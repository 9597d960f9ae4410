package value

import (
	"bytes"
	"encoding/json"
	"io"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Raw is JSON of another program that is decoded only as far as it is asked for, because its shape
// is not certain. The zero value is a missing value. Text that is no JSON reads as missing.
type Raw []byte

// first returns the first byte of the text, which tells its type, or 0.
func (r Raw) first() byte {
	if text := bytes.TrimLeft(r, " \t\r\n"); len(text) > 0 {
		return text[0]
	}
	return 0
}

// IsText reports whether the value is a text.
func (r Raw) IsText() bool { return r.first() == '"' }

// IsList reports whether the value is a list.
func (r Raw) IsList() bool { return r.first() == '[' }

// IsObject reports whether the value is an object.
func (r Raw) IsObject() bool { return r.first() == '{' }

// Members returns the members of an object, and nil for other values. Of two members with the same
// name the later counts. Nothing is copied.
func (r Raw) Members() map[string]Raw {
	var m map[string]Raw
	if r.IsObject() && r.each(func(name string, v Raw) {
		if m == nil {
			m = map[string]Raw{}
		}
		m[name] = v
	}) {
		return m
	}
	return nil
}

// Items returns the items of a list, and nil for other values. Nothing is copied.
func (r Raw) Items() (list []Raw) {
	if r.IsList() && r.each(func(_ string, v Raw) { list = append(list, v) }) {
		return list
	}
	return nil
}

// each calls f for each member of an object, or each item of a list. It reports whether the text is
// valid.
func (r Raw) each(f func(name string, v Raw)) bool {
	d := jsontext.NewDecoder(bytes.NewBuffer(r), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if _, err := d.ReadToken(); err != nil {
		return false
	}
	for d.PeekKind() != '}' && d.PeekKind() != ']' {
		var name string
		if r.IsObject() {
			token, err := d.ReadToken()
			if err != nil {
				return false
			}
			name = token.String()
		}
		v, err := d.ReadValue()
		if err != nil {
			return false
		}
		end := d.InputOffset()
		f(name, r[end-int64(len(v)):end:end])
	}
	if _, err := d.ReadToken(); err != nil {
		return false
	}
	_, err := d.ReadToken()
	return err == io.EOF
}

// Item returns the item of a list at a position, or nil.
func (r Raw) Item(i int) Raw {
	if list := r.Items(); i < len(list) {
		return list[i]
	}
	return nil
}

// Get returns a member of an object, or nil. It takes several names to look into nested objects.
func (r Raw) Get(names ...string) Raw {
	for _, name := range names {
		r = r.Members()[name]
	}
	return r
}

// Text returns the decoded text, and "" for other values.
func (r Raw) Text() (s string) {
	if r.IsText() {
		_ = json.Unmarshal(r, &s)
	}
	return s
}

// String returns the decoded text, and the JSON of other values.
func (r Raw) String() string {
	if r.IsText() {
		return r.Text()
	}
	return string(bytes.TrimSpace(r))
}

// Number returns a number. ok is false for other values.
func (r Raw) Number() (n float64, ok bool) {
	if c := r.first(); c != '-' && (c < '0' || c > '9') {
		return 0, false
	}
	n, err := strconv.ParseFloat(r.String(), 64)
	return n, err == nil
}

// Int returns a number, or the number that a text contains, without its fraction, and otherwise 0.
func (r Raw) Int() int64 {
	n, err := strconv.ParseFloat(r.String(), 64)
	if err != nil || n >= 1<<63 || n < -1<<63 {
		return 0
	}
	return int64(n)
}

// IsFilled reports whether a value says anything: it is not missing, null, false, zero or empty,
// nor a list or object with only such values. It reads no further than to the first that does.
func (r Raw) IsFilled() bool {
	d := jsontext.NewDecoder(bytes.NewBuffer(r), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for {
		token, err := d.ReadToken()
		if err != nil {
			return false
		}
		switch token.Kind() {
		case 't':
			return true
		case '0':
			if n, _ := strconv.ParseFloat(token.String(), 64); n != 0 { // infinite if it is out of range
				return true
			}
		case '"':
			parent, read := d.StackIndex(d.StackDepth())
			isName := parent == '{' && read%2 == 1
			if !isName && token.String() != "" {
				return true
			}
		}
	}
}
