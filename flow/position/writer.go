package position

import (
	"fmt"
	"net/url"
	"strings"
)

// Format is the format of a text that a Writer writes.
type Format int

// The formats.
const (
	Plain Format = iota
	URL
	JSON
	FormData // application/x-www-form-urlencoded
)

// Writer writes a text of typed parts and values. The typed parts determine the position of
// each value. The zero value writes plain text.
type Writer struct {
	format Format
	b      strings.Builder
	url    urlPart
	json   jsonString
	values []inserted // in a URL
}

// inserted is a value in a URL.
type inserted struct {
	name     string // for errors
	from, to int    // bytes of the URL
}

// NewWriter returns a writer of a format.
func NewWriter(f Format) *Writer { return &Writer{format: f} }

// Typed appends a typed part, which is not encoded.
func (w *Writer) Typed(s string) {
	w.b.WriteString(s)
	switch w.format {
	case URL:
		w.url = w.url.after(s, w.b.String())
	case JSON:
		w.json.pass(s)
	}
}

// At returns the position of the next value.
func (w *Writer) At() Position {
	switch w.format {
	case URL:
		return [...]Position{inScheme: Query, inAuthority: Authority, inPath: PathSegment, inQuery: Query}[w.url]
	case FormData:
		return Form
	case JSON:
		if w.json.inString {
			return JSONString
		}
		return JSONValue
	}
	return Text
}

// Insert appends a value that is already encoded for its position. The name is for errors.
func (w *Writer) Insert(name, encoded string) {
	from := w.b.Len()
	w.b.WriteString(encoded)
	if w.format == URL {
		w.values = append(w.values, inserted{name, from, w.b.Len()})
	}
}

// Len returns the number of bytes written so far.
func (w *Writer) Len() int { return w.b.Len() }

// Since returns the text from an offset on.
func (w *Writer) Since(offset int) string { return w.b.String()[offset:] }

// Finish returns the text. In a URL, it returns an error if a value leaves a segment of the path
// empty or makes it . or .., because such a segment names another resource: a request to
// delete /customers/{{id}}/orders must not delete /orders.
func (w *Writer) Finish() (string, error) {
	text := w.b.String()
	if len(w.values) == 0 {
		return text, nil
	}
	from, to := pathOf(text)
	for start := from; start < to; {
		end := start + 1 // after the slash
		for end < to && text[end] != '/' {
			end++
		}
		if v := w.valueIn(start+1, end); v != nil {
			if err := v.check(text[start+1 : end]); err != nil {
				return "", err
			}
		}
		start = end
	}
	return text, nil
}

// valueIn returns the first value in a range of the URL. A value without text counts at both
// ends of the range.
func (w *Writer) valueIn(from, to int) *inserted {
	for i := range w.values {
		if v := &w.values[i]; v.from <= to && v.to >= from {
			return v
		}
	}
	return nil
}

// check returns an error for a segment that does not name a resource.
func (v *inserted) check(segment string) error {
	decoded, err := url.PathUnescape(segment)
	if err != nil {
		decoded = segment
	}
	switch {
	case decoded == "" && v.from == v.to:
		return fmt.Errorf("%s is empty, which leaves a part of the URL's path empty", v.name)
	case decoded == "." || decoded == "..":
		return fmt.Errorf("%s makes a part of the URL's path %q, which would lead to another resource", v.name, decoded)
	}
	return nil
}

// pathOf returns the range of the path of a URL, which begins with a slash.
func pathOf(s string) (from, to int) {
	if i := strings.Index(s, "://"); i >= 0 {
		from = i + 3
	}
	if i := strings.IndexAny(s[from:], "?#"); i >= 0 {
		to = from + i
	} else {
		to = len(s)
	}
	if i := strings.IndexByte(s[from:to], '/'); i >= 0 {
		return from + i, to
	}
	return to, to
}

// urlPart is the part of a URL that has been reached.
type urlPart int

const (
	inScheme urlPart = iota
	inAuthority
	inPath
	inQuery // or the fragment
)

// after returns the part after a typed text, which is the end of all.
func (p urlPart) after(s, all string) urlPart {
	if p == inScheme {
		_, rest, found := strings.Cut(all, "://")
		if !found {
			return p
		}
		p, s = inAuthority, rest
	}
	if p == inQuery || strings.ContainsAny(s, "?#") {
		return inQuery
	}
	if strings.Contains(s, "/") {
		return inPath
	}
	return p
}

// jsonString tracks whether the current position of a JSON text is inside a string.
type jsonString struct{ inString, afterBackslash bool }

// pass advances the position over typed text.
func (p *jsonString) pass(s string) {
	for _, c := range []byte(s) {
		switch {
		case p.afterBackslash:
			p.afterBackslash = false
		case c == '\\' && p.inString:
			p.afterBackslash = true
		case c == '"':
			p.inString = !p.inString
		}
	}
}
