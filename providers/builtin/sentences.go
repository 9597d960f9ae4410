package builtin

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxSentence is the length in bytes beyond which a sentence is split at a space, so that text without full stops does not
// become a single passage.
const maxSentence = 600

// section is a range of byte offsets in a text.
type section struct {
	start, end int
}

// in returns the part of a text that the section covers. The text must be the one that
// was split.
func (s section) in(text string) string { return text[s.start:s.end] }

// splitSentences returns the sentences of a text in order, without the white space and list markers between them. The
// bytes in a section are never changed.
func splitSentences(text string) []section {
	var out []section
	for _, block := range splitBlocks(text) {
		for block.start < block.end {
			end := block.start + sentenceEnd(block.in(text))
			out = appendTrimmed(out, text, section{block.start, end})
			block.start = end
		}
	}
	return out
}

// sentenceEnd returns the offset at which the first sentence of s ends, after its closing quotes and brackets.
func sentenceEnd(s string) int {
	for at := 0; at < len(s); {
		stop := strings.IndexFunc(s[at:], isStop)
		if stop < 0 {
			break
		}
		stop += at
		at = stop + stopLength(s[stop:])
		if r, _ := utf8.DecodeRuneInString(s[stop:]); endsSentence(s[:stop], r, s[at:]) {
			return at
		}
	}
	return len(s)
}

// isStop reports whether a character can end a sentence. Scripts without such
// characters, such as Thai, are not split by it.
func isStop(r rune) bool { return strings.ContainsRune(".!?…。！？｡", r) }

// isWideStop reports whether a character is a full stop of a script without spaces between sentences.
func isWideStop(r rune) bool { return strings.ContainsRune("。！？｡", r) }

// stopLength returns the length in bytes of a run of stops and the closing quotes and brackets after it.
func stopLength(s string) int {
	rest := strings.TrimLeftFunc(s, isStop)
	rest = strings.TrimLeft(rest, `"'”’»)]}」』`)
	return len(s) - len(rest)
}

// endsSentence reports whether a stop ends a sentence, given the text before and after it.
func endsSentence(before string, stop rune, after string) bool {
	if isWideStop(stop) {
		return true
	}
	next, _ := utf8.DecodeRuneInString(after)
	if !unicode.IsSpace(next) {
		return false // 3.14, example.com, file.txt
	}
	next, _ = utf8.DecodeRuneInString(strings.TrimLeftFunc(after, isOpening))
	if unicode.IsLower(next) {
		return false // "Really?" he asked; wait ... what
	}
	return stop != '.' || !isAbbreviation(lastWord(before), next)
}

// isOpening reports whether a character can precede the first letter of a sentence, such as a quote.
func isOpening(r rune) bool {
	return unicode.IsSpace(r) || strings.ContainsRune(`"'“‘«([{¿¡`, r)
}

// lastWord returns the word before a full stop, back to the last space or bracket.
func lastWord(s string) string {
	at := strings.LastIndexFunc(s, func(r rune) bool { return isOpening(r) || r == '-' || r == '/' })
	if at < 0 {
		return s
	}
	_, size := utf8.DecodeRuneInString(s[at:])
	return s[at+size:]
}

// appendTrimmed appends s without surrounding white space, in sections of at most maxSentence.
func appendTrimmed(out []section, text string, s section) []section {
	for {
		s.start = s.end - len(strings.TrimLeftFunc(s.in(text), unicode.IsSpace))
		s.end = s.start + len(strings.TrimRightFunc(s.in(text), unicode.IsSpace))
		switch {
		case s.start == s.end:
			return out
		case s.end-s.start <= maxSentence:
			return append(out, s)
		}
		cut := s.start + cutPlace(text[s.start:s.start+maxSentence+1])
		out = append(out, section{s.start, s.start + len(strings.TrimRightFunc(text[s.start:cut], unicode.IsSpace))})
		s.start = cut
	}
}

// cutPlace returns the offset at which to split s: the last space in its second half, else the last rune boundary.
func cutPlace(s string) int {
	if at := strings.LastIndexFunc(s, unicode.IsSpace); at > len(s)/2 {
		return at
	}
	at := len(s) - 1
	for at > len(s)-utf8.UTFMax && !utf8.RuneStart(s[at]) {
		at--
	}
	return at
}

// Sentences returns the ranges of the sentences of a text, as byte offsets, in order. No sentence is longer than 600 bytes.
func Sentences(text string) [][2]int {
	list := splitSentences(text)
	ranges := make([][2]int, len(list))
	for i, s := range list {
		ranges[i] = [2]int{s.start, s.end}
	}
	return ranges
}
