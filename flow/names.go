package flow

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"sluice/flow/sorting"
	"sluice/flow/wording"
)

// CheckName returns why a text is invalid as a name in lists, as a sentence, or "". An empty
// name is valid here; the caller decides. most is the maximum number of characters.
func CheckName(name string, most int) string {
	switch {
	case !utf8.ValidString(name):
		return "This is not text in UTF-8. Type it again."
	case utf8.RuneCountInString(name) > most:
		return fmt.Sprintf("Use at most %d characters.", most)
	case strings.ContainsFunc(name, unicode.IsControl):
		return "Use one line without control characters."
	case HiddenRune(name) != 0:
		return fmt.Sprintf("It contains an invisible character (%U). Type it again without.", HiddenRune(name))
	case name != "" && !strings.ContainsFunc(name, isVisible):
		return "It has no visible characters. Use a letter or a number."
	}
	return ""
}

// invisibleRunes are characters that are invisible but reorder, split or replace visible ones,
// so that a name could be mistaken for another. They do not include the joiners U+200C and
// U+200D and the direction marks, which scripts and emoji need.
var invisibleRunes = &unicode.RangeTable{LatinOffset: 1, R16: []unicode.Range16{
	{Lo: 0x00AD, Hi: 0x00AD, Stride: 1}, // soft hyphen
	{Lo: 0x115F, Hi: 0x1160, Stride: 1}, // Hangul fillers
	{Lo: 0x180E, Hi: 0x180E, Stride: 1}, // Mongolian vowel separator
	{Lo: 0x200B, Hi: 0x200B, Stride: 1}, // zero-width space
	{Lo: 0x2028, Hi: 0x202E, Stride: 1}, // line and paragraph separators; bidirectional overrides
	{Lo: 0x2060, Hi: 0x206F, Stride: 1}, // word joiner, invisible operators, bidirectional isolates
	{Lo: 0x2800, Hi: 0x2800, Stride: 1}, // Braille blank
	{Lo: 0x3164, Hi: 0x3164, Stride: 1}, // Hangul filler
	{Lo: 0xFEFF, Hi: 0xFEFF, Stride: 1}, // byte order mark
	{Lo: 0xFFA0, Hi: 0xFFA0, Stride: 1},
	{Lo: 0xFFF9, Hi: 0xFFFB, Stride: 1}, // annotations
}}

// HiddenRune returns the first invisible character of a text, or 0.
func HiddenRune(text string) rune {
	for _, r := range text {
		if unicode.Is(invisibleRunes, r) {
			return r
		}
	}
	return 0
}

// isVisible reports whether a character is visible. A name needs at least one.
func isVisible(r rune) bool { return unicode.In(r, unicode.L, unicode.N, unicode.P, unicode.S) }

// Closest returns `; did you mean "x"?` with the most similar known name, or "" if none is
// similar.
func Closest[V any](name string, known map[string]V) string {
	best, least := "", 3
	for _, k := range sorting.Keys(known) {
		if d := wording.Distance(name, k); d < least && d < max(len(name), len(k))/2+1 {
			best, least = k, d
		}
	}
	if best == "" {
		return ""
	}
	return `; did you mean "` + best + `"?`
}
