package documents

import (
	"bytes"
	"mime"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
)

// DecodeText converts bytes to valid UTF-8, by their byte order mark, the
// declared charset, or else as UTF-8. If they are not valid UTF-8, the charset
// is the one declared in the HTML, if fallback is "text/html", or Windows-1252.
//
// The order follows the WHATWG Encoding Standard (https://encoding.spec.whatwg.org),
// in which a byte order mark takes precedence over a declaration. There are two
// deviations, both for files with a wrong label. A label of UTF-8 is verified. And a label that the standard maps to "replacement", which would turn
// the whole text into one U+FFFD, is ignored.
//
// Windows-1252 is the last resort because most unlabeled Western files use it, and
// browsers also read ISO 8859-1 and US-ASCII as Windows-1252.
func DecodeText(data []byte, contentType, fallback string) string {
	_, params, _ := mime.ParseMediaType(contentType)
	declared := params["charset"]
	if e, _, certain := charset.DetermineEncoding(data[:min(len(data), 1024)], ""); certain && hasMark(data) {
		return decodeWith(e, data)
	}
	if e, name := charset.Lookup(declared); e != nil && name != "utf-8" && name != "replacement" {
		return decodeWith(e, data)
	}
	if utf8.Valid(data) {
		return string(data)
	}
	if mostlyUTF8(data) { // a few bytes were damaged on the way
		return strings.ToValidUTF8(string(data), "\uFFFD")
	}
	if fallback == "text/html" {
		e, _, _ := charset.DetermineEncoding(data[:min(len(data), 1024)], "text/html")
		return decodeWith(e, data)
	}
	return decodeWith(charmap.Windows1252, data)
}

// mostlyUTF8 reports whether data has at least as many valid multi-byte characters as
// invalid bytes. In other encodings that is unlikely, because a multi-byte sequence of
// UTF-8 requires a lead byte (C2–F4) followed by one to three continuation bytes (80–BF).
func mostlyUTF8(data []byte) bool {
	good, bad := 0, 0
	for len(data) > 0 {
		r, size := utf8.DecodeRune(data)
		if r == utf8.RuneError && size == 1 {
			bad++
		} else if size > 1 {
			good++
		}
		data = data[size:]
	}
	return good >= bad
}

// hasMark reports whether data begins with a byte order mark of UTF-8, UTF-16LE
// or UTF-16BE.
func hasMark(data []byte) bool {
	for _, mark := range []string{"\xef\xbb\xbf", "\xff\xfe", "\xfe\xff"} {
		if bytes.HasPrefix(data, []byte(mark)) {
			return true
		}
	}
	return false
}

// decodeWith converts data from e to UTF-8 without a byte order mark. Invalid bytes
// become U+FFFD.
func decodeWith(e encoding.Encoding, data []byte) string {
	out, err := e.NewDecoder().Bytes(data)
	if err != nil {
		out = data
	}
	return strings.TrimPrefix(strings.ToValidUTF8(string(out), "\uFFFD"), "\uFEFF")
}
