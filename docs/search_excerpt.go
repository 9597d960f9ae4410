package docs

import (
	"slices"
	"strings"
	"unicode"
)

// Length of an excerpt, and of its part before the first match, in bytes.
const (
	excerptLength = 180
	excerptBefore = 50
)

// excerpt returns the part of a text around the first match.
func excerpt(text string, words []string) []Mark {
	lower := strings.ToLower(text)
	if len(lower) != len(text) {
		lower = text // the lowercase form has another length, so offsets would differ
	}
	from := 0
	if at := firstOf(lower, words); at > excerptBefore {
		from = at - excerptBefore
		from += strings.IndexByte(text[from:], ' ') + 1
	}
	to := min(len(text), from+excerptLength)
	if to < len(text) {
		if cut := strings.LastIndexByte(text[from:to], ' '); cut > 0 {
			to = from + cut
		}
	}
	marks := mark(text[from:to], lower[from:to], words)
	if from > 0 {
		marks = slices.Insert(marks, 0, Mark{Text: "… "})
	}
	if to < len(text) {
		marks = append(marks, Mark{Text: " …"})
	}
	return marks
}

// firstOf returns the index of the first occurrence of any of the words, or -1.
func firstOf(lower string, words []string) int {
	first := -1
	for _, w := range words {
		if at := findWord(lower, w); at >= 0 && (first < 0 || at < first) {
			first = at
		}
	}
	return first
}

// findWord returns the index at which a word of the text starts with word, or -1.
func findWord(lower, word string) int {
	for from := 0; ; {
		at := strings.Index(lower[from:], word)
		if at < 0 {
			return -1
		}
		if at += from; at == 0 || !wordByte(lower[at-1]) {
			return at
		}
		from = at + len(word)
	}
}

// wordByte reports whether a byte belongs to a word. Bytes of non-ASCII characters do;
// the underscore does not, so that parts of identifiers are highlighted.
func wordByte(c byte) bool { return c >= 0x80 || unicode.IsLetter(rune(c)) || unicode.IsDigit(rune(c)) }

// mark splits a text into marks at the matches.
func mark(text, lower string, words []string) []Mark {
	var marks []Mark
	if len(lower) != len(text) {
		lower = text
	}
	for len(text) > 0 {
		at, length := -1, 0
		for _, w := range words {
			if i := findWord(lower, w); i >= 0 && (at < 0 || i < at || i == at && len(w) > length) {
				at, length = i, len(w)
			}
		}
		if at < 0 {
			return append(marks, Mark{Text: text})
		}
		if at > 0 {
			marks = append(marks, Mark{Text: text[:at]})
		}
		marks = append(marks, Mark{Text: text[at : at+length], Found: true})
		text, lower = text[at+length:], lower[at+length:]
	}
	return marks
}
