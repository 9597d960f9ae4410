package charset

import (
	"bytes"
	"mime"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Decoded is a text with what is known about its encoding.
type Decoded struct {
	Text     string // valid UTF-8 without a byte order mark
	Encoding string // its name, such as "windows-1252"
	Guessed  bool   // nothing states the encoding
	Damaged  bool   // bytes were invalid and became U+FFFD
}

// Read converts bytes to a text. The encoding is, in this order: the one that the caller knows; that of a byte
// order mark; the one in contentType; that of escape sequences (see Detected7Bit); UTF-16, if the bytes look like
// it; UTF-8, if most bytes are valid; the one declared in the XML, or in the HTML if isHTML is set; and else the
// one that the letters suggest, which is a guess.
//
// The order follows the WHATWG Encoding Standard (https://encoding.spec.whatwg.org), in which a byte order mark takes
// precedence over a declaration. There are two deviations, both for files with a wrong label. A label of UTF-8 is verified.
// And a label that the standard maps to "replacement", which would turn the whole text into one U+FFFD, is ignored.
func Read(data []byte, contentType string, isHTML bool, known string) Decoded {
	if known != "" {
		if e, err := Lookup(known); err == nil {
			return e.read(data)
		}
	}
	if e, marked := Marked(data); marked {
		return e.read(data)
	}
	_, params, _ := mime.ParseMediaType(contentType)
	if e, stated := declared(params["charset"]); stated {
		return e.read(data)
	}
	if e, found := Detected7Bit(data); found {
		return e.read(data)
	}
	if e, found := UTF16(data); found {
		t := e.read(data)
		t.Guessed = true
		return t
	}
	if utf8.Valid(data) {
		return Decoded{Text: string(data), Encoding: "utf-8"}
	}
	if mostlyUTF8(data) { // a few bytes were damaged on the way
		return Decoded{Text: strings.ToValidUTF8(string(data), replacement), Encoding: "utf-8", Damaged: true}
	}
	if e, stated := declared(inMarkup(data, isHTML)); stated {
		return e.read(data)
	}
	t := Detect(data, isHTML).read(data)
	t.Guessed = true
	return t
}

// replacement is U+FFFD in UTF-8, which replaces invalid bytes.
const replacement = "\uFFFD"

// read converts data from an encoding.
func (e Encoding) read(data []byte) Decoded {
	text := e.Decode(data)
	return Decoded{Text: text, Encoding: e.Name, Damaged: strings.Contains(text, replacement) && !bytes.Contains(data, []byte(replacement))}
}

// declared returns the encoding with a label, unless it says nothing reliable.
func declared(label string) (Encoding, bool) {
	if label == "" {
		return Encoding{}, false
	}
	e, err := Lookup(label)
	return e, err == nil && e.Name != "utf-8" && e.Name != "replacement"
}

// Declarations of the encoding within a text.
var (
	metaCharset = regexp.MustCompile(`(?i)<meta\s[^>]*charset\s*=\s*["']?\s*([a-z0-9_:.+-]+)`)
	xmlEncoding = regexp.MustCompile(`^\s*<\?xml\s[^>]*encoding\s*=\s*["']([a-zA-Z0-9_:.+-]+)["']`)
)

// inMarkup returns the encoding that a meta element of HTML or the declaration of XML states, or "". A declaration of
// UTF-16 is wrong, since it was readable.
func inMarkup(data []byte, isHTML bool) string {
	const maxPrefix = 4096
	head := data[:min(len(data), maxPrefix)]
	found := xmlEncoding.FindSubmatch(head)
	if isHTML && found == nil {
		found = metaCharset.FindSubmatch(head)
	}
	if found == nil || bytes.HasPrefix(bytes.ToLower(found[1]), []byte("utf-16")) {
		return ""
	}
	return string(found[1])
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
