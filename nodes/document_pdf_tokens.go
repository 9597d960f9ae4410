package nodes

import (
	"bytes"
	"strconv"
)

// A content stream and a character map are made of these: float64, pdfName,
// pdfString, []any and pdfOperator. What else occurs, such as dictionaries, has
// no part in text and is nil.
type (
	pdfName     string
	pdfString   string
	pdfOperator string
)

// maxPDFNesting is how deep arrays may lie in each other.
const maxPDFNesting = 20

// pdfTokens takes tokens off the front of a content stream.
type pdfTokens struct {
	data []byte
	at   int
}

// next is the next token; ok is false at the end.
func (t *pdfTokens) next(depth int) (token any, ok bool) {
	t.skipBlank()
	if t.at >= len(t.data) {
		return nil, false
	}
	c := t.data[t.at]
	switch {
	case c == '(':
		return t.literal(), true
	case c == '<' && t.peek(1) == '<', c == '>' && t.peek(1) == '>':
		t.at += 2
		return pdfOperator(string(c) + string(c)), true
	case c == '<':
		return t.hex(), true
	case c == '/':
		t.at++
		return pdfName(t.regular()), true
	case c == '[':
		t.at++
		return t.array(depth), true
	case bytes.IndexByte([]byte("])>{}"), c) >= 0:
		t.at++
		return pdfOperator(c), true
	}
	word := t.regular()
	if f, err := strconv.ParseFloat(word, 64); err == nil {
		return f, true
	}
	return pdfOperator(word), true
}

func (t *pdfTokens) peek(n int) byte {
	if t.at+n < len(t.data) {
		return t.data[t.at+n]
	}
	return 0
}

func (t *pdfTokens) skipBlank() {
	for t.at < len(t.data) {
		switch c := t.data[t.at]; {
		case isPDFBlank(c):
			t.at++
		case c == '%':
			for t.at < len(t.data) && t.data[t.at] != '\n' && t.data[t.at] != '\r' {
				t.at++
			}
		default:
			return
		}
	}
}

func isPDFBlank(c byte) bool {
	return c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\f' || c == 0
}

// regular is a run of ordinary characters: a number, a name or an operator.
func (t *pdfTokens) regular() string {
	start := t.at
	for t.at < len(t.data) && !isPDFBlank(t.data[t.at]) && bytes.IndexByte([]byte("()<>[]{}/%"), t.data[t.at]) < 0 {
		t.at++
	}
	return string(t.data[start:t.at])
}

func (t *pdfTokens) array(depth int) any {
	var list []any
	for {
		token, ok := t.next(depth + 1)
		if op, isOp := token.(pdfOperator); !ok || isOp && op == "]" || depth > maxPDFNesting {
			return list
		}
		list = append(list, token)
	}
}

func (t *pdfTokens) hex() pdfString {
	t.at++
	var out []byte
	half, digits := byte(0), 0
	for ; t.at < len(t.data); t.at++ {
		c := t.data[t.at]
		if c == '>' {
			t.at++
			break
		}
		n, err := strconv.ParseUint(string(c), 16, 8)
		if err != nil {
			continue
		}
		if digits++; digits%2 == 0 {
			out = append(out, half|byte(n))
		} else {
			half = byte(n) << 4
		}
	}
	if digits%2 == 1 {
		out = append(out, half)
	}
	return pdfString(out)
}

// literal reads (text), in which brackets may be nested and \ escapes.
func (t *pdfTokens) literal() pdfString {
	var out []byte
	depth := 0
	for ; t.at < len(t.data); t.at++ {
		switch c := t.data[t.at]; c {
		case '(':
			if depth++; depth > 1 {
				out = append(out, c)
			}
		case ')':
			if depth--; depth == 0 {
				t.at++
				return pdfString(out)
			}
			out = append(out, c)
		case '\\':
			out = t.escape(out)
		default:
			out = append(out, c)
		}
	}
	return pdfString(out)
}

var pdfEscapes = map[byte]byte{'n': '\n', 'r': '\r', 't': '\t', 'b': '\b', 'f': '\f'}

// escape adds what the \ at hand stands for, and stops at its last character.
func (t *pdfTokens) escape(out []byte) []byte {
	t.at++
	c := t.peek(0)
	switch {
	case c >= '0' && c <= '7':
		n := 0
		for i := 0; i < 3 && t.peek(0) >= '0' && t.peek(0) <= '7'; i++ {
			n = n*8 + int(t.peek(0)-'0')
			t.at++
		}
		t.at--
		return append(out, byte(n))
	case c == '\r':
		if t.peek(1) == '\n' {
			t.at++
		}
		return out
	case c == '\n':
		return out
	case pdfEscapes[c] != 0:
		return append(out, pdfEscapes[c])
	}
	return append(out, c)
}

// skipImage jumps over the bytes of an image inside a stream, which may look
// like anything.
func (t *pdfTokens) skipImage() {
	for t.at < len(t.data) {
		i := bytes.Index(t.data[t.at:], []byte("EI"))
		if i < 0 {
			t.at = len(t.data)
			return
		}
		t.at += i + 2
		before, after := t.data[t.at-3], t.peek(0)
		if isPDFBlank(before) && (isPDFBlank(after) || t.at >= len(t.data)) {
			return
		}
	}
}
