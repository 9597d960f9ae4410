package providers

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"sluice/flow/value"
)

// texts is a text, a text part, or those of a list: reasoning models of Mistral send their
// thoughts as parts of another type. Its bytes are kept unchanged, because some servers
// split characters between chunks.
type texts string

// UnmarshalJSON never fails: a value that is not text counts as empty.
func (t *texts) UnmarshalJSON(data []byte) error {
	*t = texts(unquote(data))
	if value.Raw(data).IsObject() {
		*t = texts(unquote(value.Raw(data).Get("text")))
	}
	for _, part := range value.Raw(data).Items() {
		if part.IsText() {
			*t += texts(unquote(part))
		} else {
			*t += texts(unquote(part.Get("text")))
		}
	}
	return nil
}

// word is a short text, such as a finish reason. Anything else counts as empty.
type word string

// UnmarshalJSON never fails, for the same reason as that of count.
func (w *word) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*w = word(text)
	}
	return nil
}

// count is a token count; any positive JSON number below 1e15, otherwise 0.
type count int64

// UnmarshalJSON never fails: an invalid count must not discard a paid answer.
func (n *count) UnmarshalJSON(data []byte) error {
	var f float64
	if json.Unmarshal(data, &f) == nil && f > 0 && f < 1e15 {
		*n = count(f)
	}
	return nil
}

// unquote decodes a JSON string. Half a surrogate pair, which encoding/json replaces, is kept
// in the three bytes that UTF-8 would have for it (WTF-8): the other half may be in the next
// chunk of a stream, see wellFormed.
func unquote(v value.Raw) string {
	if !v.IsText() {
		return ""
	}
	raw := strings.TrimSpace(string(v))
	raw = raw[1 : len(raw)-1]
	if !strings.Contains(raw, `\`) {
		return raw
	}
	out := make([]byte, 0, len(raw))
	for raw != "" {
		switch {
		case raw[0] != '\\':
			out, raw = append(out, raw[0]), raw[1:]
		case strings.HasPrefix(raw, `\u`) && len(raw) >= 6:
			unit, _ := strconv.ParseUint(raw[2:6], 16, 16) // the JSON is valid
			out, raw = appendUnit(out, rune(unit)), raw[6:]
		default:
			out, raw = append(out, unescaped(raw[1])), raw[2:]
		}
	}
	return string(out)
}

// unescaped returns the character that follows a backslash in JSON.
func unescaped(c byte) byte {
	if i := strings.IndexByte("bfnrt", c); i >= 0 {
		return "\b\f\n\r\t"[i]
	}
	return c
}

// appendUnit appends a UTF-16 code unit: as a character, or as half of one.
func appendUnit(out []byte, unit rune) []byte {
	if !utf16.IsSurrogate(unit) {
		return utf8.AppendRune(out, unit)
	}
	return append(out, 0xE0|byte(unit>>12), 0x80|byte(unit>>6)&0xBF, 0x80|byte(unit)&0xBF)
}

// halfAt returns the surrogate that a text has in three bytes at a position.
func halfAt(text string, i int) (half rune, ok bool) {
	if i < 0 || i+3 > len(text) || text[i] != 0xED || text[i+1] < 0xA0 || text[i+1] > 0xBF || text[i+2]&0xC0 != 0x80 {
		return 0, false
	}
	return 0xD000 | rune(text[i+1]&0x3F)<<6 | rune(text[i+2]&0x3F), true
}

// isHigh reports whether a surrogate is the first of a pair.
func isHigh(half rune) bool { return half < 0xDC00 }

// wellFormed joins the halves of surrogate pairs, and replaces bytes that are not UTF-8.
func wellFormed(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	var out strings.Builder
	from := 0
	for i := 0; i < len(text); i++ {
		high, ok := halfAt(text, i)
		if !ok || !isHigh(high) {
			continue
		}
		if low, ok := halfAt(text, i+3); ok && !isHigh(low) {
			out.WriteString(strings.ToValidUTF8(text[from:i], "\uFFFD"))
			out.WriteRune(utf16.DecodeRune(high, low))
			from, i = i+6, i+5
		}
	}
	out.WriteString(strings.ToValidUTF8(text[from:], "\uFFFD"))
	return out.String()
}
