// Package position encodes text for the place where it is put into a URL, a form, a header or
// a JSON text, so that no value can change the structure around it. It has the one table of
// encoders (Position.Encode), and a Writer that finds the position of each value in a typed
// text. It knows nothing about flows.
package position

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"unicode"
)

// Position is the kind of place at which a value is inserted.
type Position int

// The positions.
const (
	Text        Position = iota // plain text, in which nothing is special
	Authority                   // the host and port of a URL
	PathSegment                 // one segment of the path of a URL
	Path                        // a part of the path of a URL that keeps its slashes
	Query                       // a name or a value in the query or the fragment of a URL
	Form                        // a name or a value of application/x-www-form-urlencoded
	Header                      // the value of an HTTP header
	JSONString                  // inside the quotes of a JSON string
	JSONValue                   // a whole JSON value
)

// encoders is the table of positions with their encoders.
var encoders = [...]func(string) (string, error){
	Text:        func(s string) (string, error) { return s, nil },
	Authority:   checkAuthority,
	PathSegment: func(s string) (string, error) { return percentEncode(s), nil },
	Path:        func(s string) (string, error) { return encodePath(s), nil },
	Query:       func(s string) (string, error) { return percentEncode(s), nil },
	Form:        func(s string) (string, error) { return url.QueryEscape(s), nil },
	Header:      checkHeader,
	JSONString:  func(s string) (string, error) { q := quote(s); return q[1 : len(q)-1], nil },
	JSONValue:   func(s string) (string, error) { return quote(s), nil },
}

// Encode returns a text encoded for the position. It returns an error for a text that the
// position cannot hold, such as a slash in the host of a URL.
func (p Position) Encode(text string) (string, error) { return encoders[p](text) }

// percentEncode encodes everything but the unreserved characters of RFC 3986. A space is %20
// and not +, which only forms decode.
func percentEncode(s string) string {
	return strings.ReplaceAll(url.QueryEscape(s), "+", "%20")
}

// encodePath encodes each segment and keeps the slashes between them.
func encodePath(s string) string {
	parts := strings.Split(s, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return strings.Join(parts, "/")
}

// checkAuthority accepts the characters of host names. Names in other alphabets become ASCII
// when the URL is parsed.
func checkAuthority(s string) (string, error) {
	if strings.ContainsFunc(s, func(r rune) bool {
		return r != '-' && r != '.' && r != '_' && !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r)
	}) {
		return "", errors.New("a value in the host of a URL can only have letters, digits, dots and hyphens")
	}
	return s, nil
}

// checkHeader rejects line breaks and other control characters, which would end the header.
func checkHeader(s string) (string, error) {
	if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
		return "", errors.New("the value of a header cannot have line breaks or other control characters")
	}
	return s, nil
}

// quote returns a JSON string without HTML escapes.
func quote(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic("position: encode a string: " + err.Error()) // never fails
	}
	return strings.TrimSuffix(b.String(), "\n")
}
