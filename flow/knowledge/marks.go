package knowledge

import (
	"strings"
	"unicode/utf8"
)

// Span is a stretch of a text. Match reports that it is a word of a query.
type Span struct {
	Text  string
	Match bool
}

// excerptBefore is how many bytes an excerpt has before the first match, about.
const excerptBefore = 80

// Excerpt returns about size bytes of a text around the first word that it has in common with a query, with such words marked. An ellipsis stands for what
// is left out.
func Excerpt(text, query string, size int) (spans []Span) {
	words := map[string]bool{}
	for _, w := range QueryWords(query) {
		words[w] = true
	}
	matches := matchesOf(text, words)
	from := 0
	if len(matches) > 0 && len(text) > size {
		from = wordStart(text, min(max(0, matches[0][0]-excerptBefore), max(0, len(text)-size)))
	}
	end := len(text)
	if end-from > size+40 {
		end = wordStart(text, from+size)
	}
	if from > 0 {
		spans = append(spans, Span{Text: "… "})
	}
	at := from
	for _, m := range matches {
		if m[0] < at || m[1] > end {
			continue
		}
		if m[0] > at {
			spans = append(spans, Span{Text: text[at:m[0]]})
		}
		spans = append(spans, Span{Text: text[m[0]:m[1]], Match: true})
		at = m[1]
	}
	if at < end {
		spans = append(spans, Span{Text: text[at:end]})
	}
	if end < len(text) {
		spans = append(spans, Span{Text: " …"})
	}
	return spans
}

// wordStart returns where the word at a position begins, at most 40 bytes before it.
func wordStart(text string, at int) int {
	if i := strings.LastIndexAny(text[max(0, at-40):at], " \n"); i >= 0 {
		return max(0, at-40) + i + 1
	}
	for at > 0 && !utf8.RuneStart(text[at]) {
		at--
	}
	return at
}

// matchesOf returns where words occur in a text: a word, or a pair of characters of scripts without spaces. Overlapping pairs are joined.
func matchesOf(text string, words map[string]bool) (list [][2]int) {
	add := func(from, to int) {
		if n := len(list); n > 0 && list[n-1][1] >= from && list[n-1][1] > list[n-1][0] && from > list[n-1][0] {
			list[n-1][1] = max(list[n-1][1], to)
			return
		}
		list = append(list, [2]int{from, to})
	}
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case isDense(r):
			next, width := utf8.DecodeRuneInString(text[i+size:])
			if end := i + size + width; isDense(next) && words[fold(text[i:end])] {
				add(i, end)
			} else if words[fold(text[i:i+size])] {
				add(i, i+size)
			}
			i += size
		case isTextWord(r):
			end := i + size
			for end < len(text) {
				r, size := utf8.DecodeRuneInString(text[end:])
				if !isTextWord(r) || isDense(r) {
					break
				}
				end += size
			}
			for _, w := range WordList(text[i:end]) {
				if words[w] {
					list = append(list, [2]int{i, end})
					break
				}
			}
			i = end
		default:
			i += size
		}
	}
	return list
}

// isTextWord reports whether a character of a text that is not normalized belongs to a word.
func isTextWord(r rune) bool { return isWordRune(r) || r >= 'A' && r <= 'Z' }
