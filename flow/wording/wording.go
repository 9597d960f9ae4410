// Package wording puts texts into the forms in which people read them: one line, a sentence, a
// beginning of bounded length. It knows nothing about flows, so that every package may use it.
package wording

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ellipsis marks that the end of a text is missing.
const ellipsis = "…"

// OneLine replaces each run of white space, line breaks included, by one space, and removes it from
// both ends.
func OneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// Visible replaces control characters, except for line breaks and tabs, by U+FFFD: a terminal that prints the text must not follow them.
func Visible(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unicode.IsControl(r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// Truncate returns the first n characters of a text, followed by an ellipsis if it is longer.
func Truncate(s string, n int) string {
	if cut, more := Cut(s, n); more {
		return cut + ellipsis
	}
	return s
}

// Fit returns a text of at most n characters. If it is longer, its last character is an ellipsis.
func Fit(s string, n int) string {
	if _, more := Cut(s, n); !more {
		return s
	}
	cut, _ := Cut(s, n-1)
	return strings.TrimRightFunc(cut, unicode.IsSpace) + ellipsis
}

// Cut returns the first n characters of a text and reports whether it has more.
func Cut(s string, n int) (cut string, more bool) {
	for i := range s {
		if n--; n < 0 {
			return s[:i], true
		}
	}
	return s, false
}

// CutBytes returns the beginning of a text that fits into n bytes, without a part of a character.
func CutBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	end := n
	for end > max(0, n-utf8.UTFMax) && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end]
}

// List returns the first names with commas, and how many more there are.
func List(names []string, most int) string {
	text := strings.Join(names[:min(len(names), most)], ", ")
	if more := len(names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// Sentence returns a text with an upper-case letter at its start and a period at its end.
func Sentence(s string) string { return Period(Capitalize(strings.TrimSpace(s))) }

// Capitalize returns a text with its first letter in upper case.
func Capitalize(s string) string {
	r, size := utf8.DecodeRuneInString(s)
	if size == 0 || r == utf8.RuneError {
		return s
	}
	return string(unicode.ToUpper(r)) + s[size:]
}

// Period appends a period to a text that does not end a sentence already, with quotation marks or a
// parenthesis after the mark or without.
func Period(s string) string {
	switch last, _ := utf8.DecodeLastRuneInString(strings.TrimRight(s, `"”’')`)); {
	case s == "", strings.ContainsRune(".!?…。！？", last):
		return s
	}
	return s + "."
}

// maxDistance bounds the work of Distance: of longer texts, it compares the first bytes.
const maxDistance = 64

// Distance returns the Levenshtein distance of two names: how many bytes have to be inserted,
// removed or replaced to turn one into the other.
func Distance(a, b string) int {
	a, b = a[:min(len(a), maxDistance)], b[:min(len(b), maxDistance)]
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal, row[j+1] = row[j+1], min(replace, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}

// Signed returns a number with its sign and a unit after a space, such as "+9 %" or "−0.3 s", or "" if it rounds to nothing.
func Signed(v float64, decimals int, unit string) string {
	text := strconv.FormatFloat(math.Abs(v), 'f', decimals, 64)
	if strings.Trim(text, "0.") == "" {
		return ""
	}
	if v < 0 {
		return "−" + text + " " + unit
	}
	return "+" + text + " " + unit
}
