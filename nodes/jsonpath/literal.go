package jsonpath

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxInteger bounds indexes and slices to integers that every JSON library can represent. The
// bound is part of the RFC.
const maxInteger = 1<<53 - 1

// digits skips decimal digits and reports whether there was any.
func (p *parser) digits() bool {
	start := p.at
	for c := p.peek(); c >= '0' && c <= '9'; c = p.peek() {
		p.at++
	}
	return p.at > start
}

// integer skips an integer without leading zeros. Only a number in a filter may be -0.
func (p *parser) integer(minusZero bool) string {
	start := p.at
	negative := p.accept("-")
	first := p.peek()
	if !p.digits() {
		p.fail("expected a digit" + p.found())
	}
	text := p.source[start:p.at]
	switch length := len(strings.TrimPrefix(text, "-")); {
	case first == '0' && length > 1:
		p.failAt(start, "a number must not begin with 0")
	case first == '0' && negative && !minusZero:
		p.failAt(start, "-0 is neither an index nor a bound; write 0")
	}
	return text
}

// optionalInteger reads an integer of an index or slice, or returns nil.
func (p *parser) optionalInteger() *int64 {
	if c := p.peek(); c != '-' && (c < '0' || c > '9') {
		return nil
	}
	start := p.at
	n, err := strconv.ParseInt(p.integer(false), 10, 64)
	if err != nil || n < -maxInteger || n > maxInteger {
		p.failAt(start, fmt.Sprintf("an index must be between -%d and %d", maxInteger, maxInteger))
	}
	return &n
}

// number reads a number of any size. It keeps its text, so every digit counts.
func (p *parser) number() json.Number {
	start := p.at
	p.integer(true)
	if p.accept(".") && !p.digits() {
		p.fail("expected a digit after the decimal point" + p.found())
	}
	if p.accept("e") || p.accept("E") {
		if !p.accept("-") {
			p.accept("+")
		}
		if !p.digits() {
			p.fail("expected a digit in the exponent" + p.found())
		}
	}
	return json.Number(p.source[start:p.at])
}

// text reads a text in single or double quotes.
func (p *parser) text() string {
	start, quote := p.at, p.peek()
	p.at++
	var b strings.Builder
	for {
		switch c := p.peek(); {
		case p.at == len(p.source):
			p.failAt(start, "this quotation mark is not closed")
		case c == quote:
			p.at++
			return b.String()
		case c == '\\':
			p.escape(&b, quote)
		case c < ' ':
			p.fail("a control character must be escaped, such as \\n")
		default:
			b.WriteByte(c)
			p.at++
		}
	}
}

// escapes are the characters that a letter after a backslash stands for.
var escapes = map[byte]byte{'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', '/': '/', '\\': '\\'}

// escape reads a backslash and what it escapes.
func (p *parser) escape(b *strings.Builder, quote byte) {
	start := p.at
	p.at++
	c := p.peek()
	plain, known := escapes[c]
	switch {
	case c == quote:
		b.WriteByte(quote)
	case known:
		b.WriteByte(plain)
	case c == 'u':
		p.at++
		b.WriteRune(p.escapedRune(start))
		return
	default:
		p.failAt(start, `unknown escape; write \\ for a backslash`)
	}
	p.at++
}

// escapedRune reads the digits after \u. Characters beyond U+FFFF are written as two escapes, a
// surrogate pair.
func (p *parser) escapedRune(start int) rune {
	r := p.hexDigits(start)
	if !utf16.IsSurrogate(r) {
		return r
	}
	if p.accept(`\u`) {
		if pair := utf16.DecodeRune(r, p.hexDigits(start)); pair != utf8.RuneError {
			return pair
		}
	}
	p.failAt(start, "half of a surrogate pair; write both halves, or the character itself")
	return 0
}

func (p *parser) hexDigits(start int) rune {
	n, err := strconv.ParseUint(p.source[p.at:min(p.at+4, len(p.source))], 16, 16)
	if err != nil || p.at+4 > len(p.source) {
		p.failAt(start, `\u needs four hexadecimal digits`)
	}
	p.at += 4
	return rune(n)
}
