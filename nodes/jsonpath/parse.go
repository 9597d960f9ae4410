package jsonpath

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Limits of a path.
const (
	MaxSource  = 500 // bytes
	maxNesting = 50  // levels of filters, parentheses and functions
)

// SyntaxError says where a path is not JSONPath, and what was expected there.
type SyntaxError struct {
	Column int    // position in characters, from 1
	Detail string // for the author of the path
}

// Error returns the problem as one line.
func (e *SyntaxError) Error() string { return fmt.Sprintf("character %d: %s", e.Column, e.Detail) }

// Parse parses a path. Besides the grammar it checks the types of functions and comparisons, so
// that a parsed path cannot fail except for its work. The error can be shown to the author; it is a
// *SyntaxError unless the whole source is unusable.
func Parse(source string) (path *Path, err error) {
	switch {
	case len(source) > MaxSource:
		return nil, fmt.Errorf("it has %d bytes; the limit is %d", len(source), MaxSource)
	case !utf8.ValidString(source):
		return nil, fmt.Errorf("it is not valid UTF-8")
	}
	// The functions of the parser report an error by a panic with it, which leaves them as readable
	// as the grammar.
	defer func() {
		switch fault := recover().(type) {
		case nil:
		case *SyntaxError:
			path, err = nil, fault
		default:
			panic(fault)
		}
	}()
	p := &parser{source: source}
	if !p.accept("$") {
		p.fail("a path must begin with $, as in $.items[0]")
	}
	path = &Path{p.segments()}
	if p.at < len(source) {
		p.fail("expected . or [ or the end of the path" + p.found())
	}
	return path, nil
}

// parser reads a path from left to right.
type parser struct {
	source  string
	at      int // position in bytes
	nesting int
}

// fail ends parsing with an error at the current position.
func (p *parser) fail(detail string) { p.failAt(p.at, detail) }

func (p *parser) failAt(at int, detail string) {
	panic(&SyntaxError{Column: 1 + utf8.RuneCountInString(p.source[:at]), Detail: detail})
}

// found describes what stands at the current position instead of what was expected.
func (p *parser) found() string {
	switch c, _ := utf8.DecodeRuneInString(p.source[p.at:]); {
	case p.at == len(p.source):
		return ", found the end"
	case c == ' ':
		return ", found a space"
	default:
		return fmt.Sprintf(", found %q", c)
	}
}

// peek returns the next byte, or 0 at the end.
func (p *parser) peek() byte {
	if p.at < len(p.source) {
		return p.source[p.at]
	}
	return 0
}

// accept skips a token if it comes next.
func (p *parser) accept(token string) bool {
	if !strings.HasPrefix(p.source[p.at:], token) {
		return false
	}
	p.at += len(token)
	return true
}

// blanks skips white space.
func (p *parser) blanks() {
	for p.peek() != 0 && strings.IndexByte(" \t\n\r", p.peek()) >= 0 {
		p.at++
	}
}

// nest enters a filter, parentheses or the arguments of a function. The caller defers the result.
func (p *parser) nest() (leave func()) {
	if p.nesting++; p.nesting > maxNesting {
		p.fail(fmt.Sprintf("nested deeper than %d levels", maxNesting))
	}
	return func() { p.nesting-- }
}

// segments reads the segments of a query. White space is allowed before each, but not after the
// last.
func (p *parser) segments() (list []segment) {
	for {
		end := p.at
		p.blanks()
		switch {
		case p.accept(".."):
			list = append(list, segment{descendant: true, selectors: p.afterDots("..")})
		case p.accept("."):
			list = append(list, segment{selectors: p.afterDots(".")})
		case p.accept("["):
			list = append(list, segment{selectors: p.bracketed()})
		default:
			p.at = end
			return list
		}
	}
}

// afterDots reads what follows one or two dots.
func (p *parser) afterDots(dots string) []selector {
	switch {
	case p.accept("*"):
		return []selector{wildcard{}}
	case dots == ".." && p.accept("["):
		return p.bracketed()
	}
	start := p.at
	for p.at < len(p.source) {
		c, size := utf8.DecodeRuneInString(p.source[p.at:])
		if !isNameStart(c) && (p.at == start || c < '0' || c > '9') {
			break
		}
		p.at += size
	}
	switch c := p.peek(); {
	case p.at == start && c >= '0' && c <= '9':
		p.fail("expected a name; an index is written in brackets, as in [0]")
	case p.at == start && dots == "..":
		p.fail("expected a name, * or [ after .." + p.found())
	case p.at == start:
		p.fail("expected a name or * after the dot" + p.found())
	case c == '-':
		p.fail("a name with special characters needs brackets and quotes, as in ['first-name']")
	case c == '(':
		p.failAt(start, "functions are only allowed in filters, as in $[?length(@.name) > 3]")
	}
	return []selector{name(p.source[start:p.at])}
}

// isNameStart reports whether a name without quotes may begin with a character.
func isNameStart(c rune) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= 0x80
}

// bracketed reads selectors up to the closing bracket.
func (p *parser) bracketed() (list []selector) {
	for {
		p.blanks()
		list = append(list, p.selector())
		p.blanks()
		if p.accept("]") {
			return list
		}
		if !p.accept(",") {
			p.fail("expected , or ]" + p.found() + p.operatorHint())
		}
	}
}

// selector reads one selector in brackets.
func (p *parser) selector() selector {
	switch c := p.peek(); {
	case c == '\'' || c == '"':
		return name(p.text())
	case p.accept("*"):
		return wildcard{}
	case p.accept("?"):
		p.blanks()
		return filter{p.disjunction()}
	case c == '-' || c == ':' || c >= '0' && c <= '9':
		return p.indexOrSlice()
	case isNameStart(rune(c)):
		p.fail("a name in brackets needs quotes, as in ['name']")
	}
	p.fail("expected a name in quotes, an index, a slice, * or ?" + p.found())
	return nil
}

// indexOrSlice reads an index such as -1, or a slice such as 1:5 or ::2.
func (p *parser) indexOrSlice() selector {
	start := p.optionalInteger()
	p.blanks()
	if !p.accept(":") {
		return index(*start)
	}
	p.blanks()
	s := slice{start: start, end: p.optionalInteger(), step: 1}
	p.blanks()
	if !p.accept(":") {
		return s
	}
	p.blanks()
	if step := p.optionalInteger(); step != nil {
		s.step = *step
	}
	return s
}
