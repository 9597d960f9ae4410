// Package textdiff compares texts word by word. It knows nothing of how differences are shown.
package textdiff

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sergi/go-diff/diffmatchpatch"
)

// Change says what happened to a piece of a text.
type Change int

// The changes of pieces.
const (
	Equal   Change = 0
	Added   Change = Change(diffmatchpatch.DiffInsert)
	Removed Change = Change(diffmatchpatch.DiffDelete)
)

// Piece is a part of two compared texts.
type Piece struct {
	Change Change
	Text   string
}

// maxWordDiff is the total size, in bytes, up to which two texts are compared word
// by word. Larger ones are compared line by line: by words it would take seconds.
const maxWordDiff = 64 << 10

// Words compares two texts. The diff library compares runes, so each distinct word is encoded as one
// rune. It takes at most 200 ms; the rest of longer texts is one removed and one added piece.
func Words(before, after string) (pieces []Piece) {
	d := diffmatchpatch.New()
	d.DiffTimeout = 200 * time.Millisecond
	split := splitWords
	if len(before)+len(after) > maxWordDiff {
		split = func(s string) []string { return strings.SplitAfter(s, "\n") }
	}
	a, b, parts := encodeParts(split(before), split(after))
	for _, piece := range d.DiffMainRunes(a, b, false) {
		var text strings.Builder
		for _, r := range piece.Text {
			text.WriteString(parts[decodeIndex(r)])
		}
		pieces = append(pieces, Piece{Change(piece.Type), text.String()})
	}
	return pieces
}

// splitWords splits a text into words, spaces and punctuation.
func splitWords(s string) (list []string) {
	begin := 0
	for i, r := range s {
		_, size := utf8.DecodeRuneInString(s[i:])
		if !isWordRune(r) {
			if begin < i {
				list = append(list, s[begin:i])
			}
			list = append(list, s[i:i+size])
			begin = i + size
		}
	}
	if begin < len(s) {
		list = append(list, s[begin:])
	}
	return list
}

// isWordRune reports whether a character belongs to a word. Every character outside ASCII
// does, so text without spaces, such as Chinese, is compared as one word.
func isWordRune(r rune) bool {
	return r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r > 0x7f
}

// encodeParts encodes each distinct part as a rune, so that a diff of the runes is
// a diff of the parts.
func encodeParts(before, after []string) (a, b []rune, parts []string) {
	index := map[string]rune{}
	encode := func(list []string) []rune {
		runes := make([]rune, len(list))
		for i, part := range list {
			n, ok := index[part]
			if !ok {
				n = rune(len(parts))
				index[part] = n
				parts = append(parts, part)
			}
			runes[i] = encodeIndex(n)
		}
		return runes
	}
	a, b = encode(before), encode(after)
	return a, b, parts
}

// surrogates and surrogateCount are the range of UTF-16 surrogates. They are not
// valid runes, so a string would lose them.
const surrogates, surrogateCount = 0xd800, 0x800

// encodeIndex returns the rune for an index. It skips the surrogates.
func encodeIndex(n rune) rune {
	if n >= surrogates {
		return n + surrogateCount
	}
	return n
}

// decodeIndex is the inverse of encodeIndex.
func decodeIndex(r rune) int {
	if r >= surrogates+surrogateCount {
		return int(r - surrogateCount)
	}
	return int(r)
}
