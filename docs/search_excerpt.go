package docs

import (
	"slices"
	"strings"
	"unicode"
)

// How long an excerpt is, and how much of it stands before the first word that
// was found, in bytes.
const (
	excerptLength = 180
	excerptBefore = 50
)

// excerpt is the part of a text that shows why it was found.
func excerpt(text string, words []string) []Mark {
	lower := strings.ToLower(text)
	if len(lower) != len(text) {
		lower = text // a letter whose small form is longer: the places would not fit
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

// firstOf is where the first of the words begins, or -1.
func firstOf(lower string, words []string) int {
	first := -1
	for _, w := range words {
		if at := findWord(lower, w); at >= 0 && (first < 0 || at < first) {
			first = at
		}
	}
	return first
}

// findWord is where a word begins as a word, or -1.
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

func wordByte(c byte) bool { return c >= 0x80 || unicode.IsLetter(rune(c)) || unicode.IsDigit(rune(c)) }

// mark cuts a text where words are found.
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
