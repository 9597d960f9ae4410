package jsonpath

import "regexp"

// holds reports whether the text matches. It does not if either argument is not a text, or the
// pattern is invalid.
func (c matchCall) holds(e *evaluation, current any) bool {
	v, _ := c.text.value(e, current)
	text, isText := v.(string)
	v, _ = c.pattern.value(e, current)
	source, isPattern := v.(string)
	if !e.spend(visitCost+tokenCost*len(source)) || !isText || !isPattern {
		return false
	}
	pattern, valid := translate(source, c.whole)
	if !valid {
		return false
	}
	found, err := e.host.Match(pattern, text)
	if err != nil {
		e.err = err
	}
	return found && err == nil
}

// token matches a part of a regular expression: an escape, a character class, which may begin with a
// closing bracket and have named classes such as [:alpha:], or any other character.
var token = regexp.MustCompile(`(?s)\\.|\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\]|.`)

// tokenCost is what translating a byte of a pattern costs, in units of Host.Spend.
const tokenCost = 20

// translate converts a regular expression of RFC 9485 (I-Regexp) to RE2. valid is false if it cannot
// be used. The languages differ in one point: a dot matches neither a line feed nor a carriage
// return. Everything else that RE2 knows, such as \d, ^ and (?i), is accepted too, except quotations
// with \Q. A whole pattern must fit the whole text.
func translate(source string, whole bool) (re2 string, valid bool) {
	depth, valid := 0, true
	re2 = token.ReplaceAllStringFunc(source, func(part string) string {
		switch part {
		case ".":
			return "[^\n\r]"
		case "(":
			depth++
		case ")":
			depth--
			valid = valid && depth >= 0 // otherwise a)|(b would leave the group that is added below
		case `\Q`:
			valid = false
		}
		return part
	})
	if whole {
		re2 = `\A(?:` + re2 + `)\z`
	}
	return re2, valid
}
