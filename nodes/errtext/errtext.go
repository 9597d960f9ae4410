// Package errtext formats values for error messages that people read. It owns
// how much of a value a message quotes and what types are called, and knows no
// kind of node.
package errtext

import (
	"strings"
	"unicode/utf8"

	"sluice/flow"
)

// Truncate shortens a text to n characters; an ellipsis marks the cut.
func Truncate(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n]) + "…"
}

// OneLine replaces each run of white space, line breaks included, by a space.
func OneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// Type returns the type of a value for use in a sentence, such as "a list".
func Type(v any) string {
	switch name := flow.TypeOf(v); name {
	case "object":
		return "an object"
	case "text", "null":
		return name
	default:
		return "a " + name
	}
}
