package flow

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// CheckName tells in a sentence why a text cannot be the name of something that
// lists show; nothing when it can. That it is empty is for the caller to judge.
func CheckName(name string, most int) string {
	switch {
	case !utf8.ValidString(name):
		return "This is not text in UTF-8. Type it again."
	case utf8.RuneCountInString(name) > most:
		return fmt.Sprintf("%d characters at most.", most)
	case strings.ContainsFunc(name, unicode.IsControl):
		return "One line, without control characters."
	case HiddenRune(name) != 0:
		return fmt.Sprintf("There is a character in it that does not show (%U). Type it again without.", HiddenRune(name))
	case name != "" && !strings.ContainsFunc(name, shows):
		return "Nothing of it shows. Use a letter or a number."
	}
	return ""
}

// unseen are characters that show nothing but turn, split or stand in for what
// does, so that a name could be read as another. The joiners U+200C and U+200D
// and the marks of direction are not among them: scripts and emoji need those.
var unseen = &unicode.RangeTable{LatinOffset: 1, R16: []unicode.Range16{
	{Lo: 0x00AD, Hi: 0x00AD, Stride: 1}, // soft hyphen
	{Lo: 0x115F, Hi: 0x1160, Stride: 1}, // fillers of Hangul
	{Lo: 0x180E, Hi: 0x180E, Stride: 1}, // separator of Mongolian
	{Lo: 0x200B, Hi: 0x200B, Stride: 1}, // space of no width
	{Lo: 0x2028, Hi: 0x202E, Stride: 1}, // ends of line and paragraph; turns of direction
	{Lo: 0x2060, Hi: 0x206F, Stride: 1}, // more of both, and operators that do not show
	{Lo: 0x2800, Hi: 0x2800, Stride: 1}, // blank of Braille
	{Lo: 0x3164, Hi: 0x3164, Stride: 1},
	{Lo: 0xFEFF, Hi: 0xFEFF, Stride: 1}, // mark of byte order
	{Lo: 0xFFA0, Hi: 0xFFA0, Stride: 1},
	{Lo: 0xFFF9, Hi: 0xFFFB, Stride: 1}, // annotations
}}

// HiddenRune is the first unseen character of a text; 0 when it has none.
func HiddenRune(text string) rune {
	for _, r := range text {
		if unicode.Is(unseen, r) {
			return r
		}
	}
	return 0
}

// shows reports whether a character is visible. A name needs one, or else it could not be
// distinguished from another.
func shows(r rune) bool { return unicode.In(r, unicode.L, unicode.N, unicode.P, unicode.S) }

// SortedNames returns the keys of a map in ascending order. Use it for everything that is
// shown or hashed, because Go iterates over maps in random order.
func SortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// Closest returns `; did you mean "x"?` for the known name nearest to name, or
// nothing when none is near.
func Closest[V any](name string, known map[string]V) string {
	best, least := "", 3
	for _, k := range SortedNames(known) {
		if d := editDistance(name, k); d < least && d < max(len(name), len(k))/2+1 {
			best, least = k, d
		}
	}
	if best == "" {
		return ""
	}
	return `; did you mean "` + best + `"?`
}

// editDistance is Levenshtein's, over bytes; long names are cut, since a name
// that long is not a slip of the finger.
func editDistance(a, b string) int {
	a, b = a[:min(len(a), 64)], b[:min(len(b), 64)]
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
