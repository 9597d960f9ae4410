package documents

import (
	"bytes"
	"mime"
	"regexp"
	"strings"
	"unicode/utf8"

	"sluice/documents/charset"
)

// decoded is a text with what is known about its encoding.
type decoded struct {
	text     string
	encoding string // its name, such as "windows-1252"
	guessed  bool   // nothing states the encoding
	damaged  bool   // bytes were invalid and became U+FFFD
}

// DecodeText converts bytes to valid UTF-8; see decodeText. warnings say what may be wrong with the text.
func DecodeText(data []byte, contentType, fallback, known string) (text, encoding string, warnings []string) {
	d := decodeText(data, contentType, fallback, known)
	return d.text, d.encoding, d.warnings()
}

// decodeText converts bytes to valid UTF-8. The encoding is, in this order: the one that the caller knows; that of a byte
// order mark; the one in contentType; that of escape sequences (see charset.Detected7Bit); UTF-16, if the bytes look like
// it; UTF-8, if most bytes are valid; the one declared in the XML, or in the HTML if fallback is "text/html"; and else the
// one that the letters suggest, which is a guess.
//
// The order follows the WHATWG Encoding Standard (https://encoding.spec.whatwg.org), in which a byte order mark takes
// precedence over a declaration. There are two deviations, both for files with a wrong label. A label of UTF-8 is verified.
// And a label that the standard maps to "replacement", which would turn the whole text into one U+FFFD, is ignored.
func decodeText(data []byte, contentType, fallback, known string) decoded {
	isHTML := fallback == "text/html"
	if known != "" {
		if e, err := charset.Lookup(known); err == nil {
			return decodeWith(e, data)
		}
	}
	if e, marked := charset.Marked(data); marked {
		return decodeWith(e, data)
	}
	_, params, _ := mime.ParseMediaType(contentType)
	if e, stated := declared(params["charset"]); stated {
		return decodeWith(e, data)
	}
	if e, found := charset.Detected7Bit(data); found {
		return decodeWith(e, data)
	}
	if e, found := charset.UTF16(data); found {
		d := decodeWith(e, data)
		d.guessed = true
		return d
	}
	if utf8.Valid(data) {
		return decoded{text: string(data), encoding: "utf-8"}
	}
	if mostlyUTF8(data) { // a few bytes were damaged on the way
		return decoded{text: strings.ToValidUTF8(string(data), replacement), encoding: "utf-8", damaged: true}
	}
	if e, stated := declared(inMarkup(data, isHTML)); stated {
		return decodeWith(e, data)
	}
	d := decodeWith(charset.Detect(data, isHTML), data)
	d.guessed = true
	return d
}

// CheckEncoding returns an error if there is no encoding with a name.
func CheckEncoding(name string) error {
	_, err := charset.Lookup(name)
	return err
}

// declared returns the encoding with a label, unless it says nothing reliable.
func declared(label string) (charset.Encoding, bool) {
	if label == "" {
		return charset.Encoding{}, false
	}
	e, err := charset.Lookup(label)
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

// decodeBytes converts bytes from an encoding that exists.
func decodeBytes(name string, data []byte) string {
	e, err := charset.Lookup(name)
	if err != nil {
		return ""
	}
	return e.Decode(data)
}

// replacement is U+FFFD in UTF-8, which replaces invalid bytes.
const replacement = "\uFFFD"

// decodeWith converts data from an encoding.
func decodeWith(e charset.Encoding, data []byte) decoded {
	text := e.Decode(data)
	return decoded{text: text, encoding: e.Name, damaged: strings.Contains(text, replacement) && !bytes.Contains(data, []byte(replacement))}
}

// describe adds the encoding to a document, with what its readers must know about it.
func (d decoded) describe(out *Document) {
	out.Encoding = d.encoding
	for _, w := range d.warnings() {
		out.warn("%s", w)
	}
}

// warnings returns what readers must know about the encoding.
func (d decoded) warnings() (list []string) {
	if d.guessed {
		list = append(list, "The text does not state its encoding. It was read as "+d.encoding+", which is a guess; if characters are wrong, set Encoding.")
	}
	if d.damaged {
		list = append(list, "The text has bytes that are invalid in "+d.encoding+". They were replaced by U+FFFD (�); if characters are wrong, set Encoding.")
	}
	return list
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
