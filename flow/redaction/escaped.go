package redaction

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Services echo secrets escaped in many ways: percent-encoded with any set of kept characters, in
// JSON or JavaScript strings, in HTML. Instead of a list of forms, a text is matched against a
// secret one character at a time, each escaped or not.

// maxEscape is the maximum length in bytes of one escaped character, such as \ud83d\ude00 with
// another backslash each.
const maxEscape = 20

// escapable finds texts in other texts in which any character may be escaped. The zero value finds
// nothing.
type escapable struct {
	texts   []string
	byFirst *[256][]int // indexes of texts by their first byte; nil without texts, because every step has a redactor
	longest int
}

// add adds a text to find.
func (e *escapable) add(text string) {
	if e.byFirst == nil {
		e.byFirst = new([256][]int)
	}
	first := text[0]
	e.byFirst[first] = append(e.byFirst[first], len(e.texts))
	e.texts = append(e.texts, text)
	e.longest = max(e.longest, len(text))
}

// replace returns s with each of the texts replaced.
func (e *escapable) replace(s, by string) string {
	if len(e.texts) == 0 || !strings.ContainsFunc(s, func(r rune) bool { return r < utf8.RuneSelf && isEscape(byte(r)) }) {
		return s
	}
	var b strings.Builder
	end := 0
	for i := 0; i < len(s); {
		n := 0
		if c := s[i]; isEscape(c) || len(e.byFirst[c]) > 0 {
			n, _ = e.match(s[i:])
		}
		if n == 0 {
			i++
			continue
		}
		b.WriteString(s[end:i])
		b.WriteString(by)
		i += n
		end = i
	}
	if end == 0 {
		return s
	}
	b.WriteString(s[end:])
	return b.String()
}

// held returns how many bytes at the end of s could be the beginning of one of the texts.
func (e *escapable) held(s string) int {
	if len(e.texts) == 0 {
		return 0
	}
	for i := max(0, len(s)-e.longest*maxEscape); i < len(s); i++ {
		if _, partial := e.match(s[i:]); partial {
			return len(s) - i
		}
	}
	return 0
}

// isEscape reports whether an escaped character can begin with a byte.
func isEscape(c byte) bool { return c == '%' || c == '\\' || c == '&' || c == '+' }

// match returns the length of the longest of the texts at the beginning of s, or 0. partial
// reports whether s could be the beginning of one.
func (e *escapable) match(s string) (longest int, partial bool) {
	decoded, n := unescape(s, "")
	if n == 0 { // an incomplete escape
		return 0, true
	}
	longest, partial = e.matchFirst(s, s[0])
	other := decoded[0]
	if s[0] == '+' {
		other = ' '
	}
	if other != s[0] {
		length, cut := e.matchFirst(s, other)
		longest, partial = max(longest, length), partial || cut
	}
	return longest, partial
}

// matchFirst is match for the texts with a first byte.
func (e *escapable) matchFirst(s string, first byte) (longest int, partial bool) {
	for _, i := range e.byFirst[first] {
		length, cut := matchEscaped(s, e.texts[i])
		longest, partial = max(longest, length), partial || cut
	}
	return longest, partial
}

// matchEscaped returns the length of text, escaped in any way, at the beginning of s; 0 if it is not
// there. partial reports whether s ends in the middle of it.
func matchEscaped(s, text string) (length int, partial bool) {
	at := 0
	for text != "" {
		if at == len(s) {
			return 0, true
		}
		decoded, n := unescape(s[at:], text)
		switch {
		case n == 0:
			return 0, true
		case strings.HasPrefix(text, decoded):
			at, text = at+n, text[len(decoded):]
		case s[at] == text[0]: // what looks like an escape is text
			at, text = at+1, text[1:]
		case s[at] == '+' && text[0] == ' ':
			at, text = at+1, text[1:]
		default:
			return 0, false
		}
	}
	return at, false
}

// unescape decodes the first character of s and returns its length in s: a byte as it is, or one
// that is escaped for a URL, JSON, JavaScript or HTML, also twice. n is 0 for an escape that the
// end of s may have cut. want is the text that is expected, which decides what is ambiguous: two
// backslashes are one if that is expected, and otherwise the beginning of an escape.
func unescape(s, want string) (decoded string, n int) {
	switch s[0] {
	case '%':
		return unescapePercent(s, want)
	case '\\':
		if strings.HasPrefix(s, `\\`) && strings.HasPrefix(want, `\`) {
			return `\`, 2
		}
		return unescapeBackslash(s)
	case '&':
		return unescapeEntity(s)
	}
	return s[:1], 1
}

// unescapePercent decodes a percent-encoded byte. It begins with %25 if it was encoded twice.
func unescapePercent(s, want string) (decoded string, n int) {
	if len(s) < len("%2525") && strings.HasPrefix("%2525", s) {
		return "", 0
	}
	from := 1
	if strings.HasPrefix(s, "%25") && (!strings.HasPrefix(want, "%") || strings.HasPrefix(s, "%2525") && !strings.HasPrefix(want, "%25")) {
		from = 3
	}
	for ; from > 0; from -= 2 {
		hex, ok, cut := hexDigits(s[from:], 2)
		if ok {
			return byteText[hex : hex+1], from + 2
		}
		if cut {
			return "", 0
		}
	}
	return "%", 1
}

// byteText has all bytes in order, to slice texts of one byte from.
var byteText = func() string {
	b := make([]byte, 256)
	for i := range b {
		b[i] = byte(i)
	}
	return string(b)
}()

// controls are the characters of the escapes \n, \r, \t, \b and \f.
var controls = map[byte]string{'n': "\n", 'r': "\r", 't': "\t", 'b': "\b", 'f': "\f"}

// unescapeBackslash decodes an escape of JSON or JavaScript. It has more than one backslash if it
// was escaped again.
func unescapeBackslash(s string) (decoded string, n int) {
	from := 1
	for from < len(s) && from < maxEscape-5 && s[from] == '\\' {
		from++
	}
	if from == len(s) {
		return "", 0
	}
	switch c := s[from]; c {
	case 'u':
		return unescapeUTF16(s, from+1)
	case 'x':
		hex, ok, cut := hexDigits(s[from+1:], 2)
		if ok {
			return string(rune(hex)), from + 3
		}
		if cut {
			return "", 0
		}
	case '"', '/', '\'':
		return string(c), from + 1
	case 'n', 'r', 't', 'b', 'f':
		return controls[c], from + 1
	}
	return `\`, 1
}

// unescapeUTF16 decodes the digits of \u at an offset, and the second half of a surrogate pair.
func unescapeUTF16(s string, from int) (decoded string, n int) {
	hex, ok, cut := hexDigits(s[from:], 4)
	if cut {
		return "", 0
	}
	if !ok {
		return `\`, 1
	}
	r, n := rune(hex), from+4
	if !utf16.IsSurrogate(r) {
		return string(r), n
	}
	rest := s[n:]
	if len(rest) < 6 && strings.HasPrefix(`\u`, rest[:min(len(rest), 2)]) {
		return "", 0
	}
	if low, ok, _ := hexDigits(strings.TrimPrefix(rest, `\u`), 4); ok {
		if pair := utf16.DecodeRune(r, rune(low)); pair != utf8.RuneError {
			return string(pair), n + 6
		}
	}
	return `\`, 1
}

// entities are the named characters of HTML that escaping produces.
var entities = map[string]string{"amp": "&", "lt": "<", "gt": ">", "quot": `"`, "apos": "'", "sol": "/", "plus": "+", "equals": "="}

// unescapeEntity decodes a character reference of HTML.
func unescapeEntity(s string) (decoded string, n int) {
	end := strings.IndexByte(s[:min(len(s), maxEscape)], ';')
	if end < 0 {
		if len(s) < maxEscape && strings.Trim(s[1:], "#abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") == "" {
			return "", 0
		}
		return "&", 1
	}
	name := s[1:end]
	if decoded := entities[strings.ToLower(name)]; decoded != "" {
		return decoded, end + 1
	}
	if r, ok := charRef(name); ok {
		return string(r), end + 1
	}
	return "&", 1
}

// charRef decodes the name of a numeric character reference, such as #47 or #x2F.
func charRef(name string) (rune, bool) {
	digits, numeric := strings.CutPrefix(name, "#")
	base := rune(10)
	if hex, isHex := strings.CutPrefix(strings.ToLower(digits), "x"); isHex {
		digits, base = hex, 16
	}
	var r rune
	for _, c := range []byte(strings.ToLower(digits)) {
		d, ok := digit(c)
		if !ok || d >= base || r > utf8.MaxRune {
			return 0, false
		}
		r = r*base + d
	}
	return r, numeric && digits != "" && r > 0
}

// hexDigits decodes n hexadecimal digits at the beginning of s. cut reports whether s ends before
// that many.
func hexDigits(s string, n int) (value int, ok, cut bool) {
	for i := range n {
		if i == len(s) {
			return 0, false, true
		}
		d, ok := digit(s[i] | 0x20)
		if !ok || s[i] < '0' {
			return 0, false, false
		}
		value = value<<4 | int(d)
	}
	return value, true, false
}

// digit returns the value of a hexadecimal digit in lower case.
func digit(c byte) (rune, bool) {
	switch {
	case c >= '0' && c <= '9':
		return rune(c - '0'), true
	case c >= 'a' && c <= 'f':
		return rune(c-'a') + 10, true
	}
	return 0, false
}
