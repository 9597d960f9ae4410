package builtin

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// wrapWidth is the length in bytes from which a line is assumed to be wrapped by an editor rather than ended by its author.
const wrapWidth = 50

// splitBlocks splits a text at boundaries that no sentence crosses: blank lines, list items and headings. A wrapped line
// is joined with the next one.
func splitBlocks(text string) []section {
	var blocks []section
	open := false // the last block may continue
	for _, line := range splitLines(text) {
		body := skipMarker(text, line)
		switch blank := strings.TrimSpace(body.in(text)) == ""; {
		case blank:
			open = false
			continue
		case open && body == line && continues(blocks[len(blocks)-1].in(text), line.in(text)):
			blocks[len(blocks)-1].end = line.end
		default:
			blocks = append(blocks, body)
		}
		open = true
	}
	return blocks
}

// splitLines returns the lines without their line ends.
func splitLines(text string) []section {
	var lines []section
	start := 0
	for i := 0; i < len(text); i++ {
		if text[i] == '\n' || text[i] == '\r' {
			lines = append(lines, section{start, i})
			if text[i] == '\r' && strings.HasPrefix(text[i+1:], "\n") {
				i++
			}
			start = i + 1
		}
	}
	return append(lines, section{start, len(text)})
}

// skipMarker removes the bullet, number or heading sign at the start of a line. A line without one is unchanged.
func skipMarker(text string, line section) section {
	s := strings.TrimLeftFunc(line.in(text), unicode.IsSpace)
	marker := markerLength(s)
	if marker == 0 {
		return line
	}
	if next, _ := utf8.DecodeRuneInString(s[marker:]); marker < len(s) && !unicode.IsSpace(next) {
		return line // -5, *emphasis*, 3.5, #tag
	}
	return section{line.end - len(s) + marker, line.end}
}

// markerLength returns the length of a list marker or heading sign such as "•", "12." or "3)" or "##".
func markerLength(s string) int {
	if r, size := utf8.DecodeRuneInString(s); strings.ContainsRune("-*+•‣◦–—·>", r) && size > 0 {
		return size
	}
	if n := len(s) - len(strings.TrimLeft(s, "#")); n > 0 {
		return n
	}
	digits := len(s) - len(strings.TrimLeft(s, "0123456789"))
	// More than three digits are a year or an amount that ends a wrapped sentence.
	if digits == 0 || digits > 3 || digits == len(s) || (s[digits] != '.' && s[digits] != ')') {
		return 0
	}
	return digits + 1
}

// continues reports whether line continues with the sentence that block ends with.
func continues(block, line string) bool {
	line = strings.TrimLeftFunc(line, isOpening)
	if next, _ := utf8.DecodeRuneInString(line); unicode.IsLower(next) {
		return true
	}
	last := block[strings.LastIndexAny(block, "\r\n")+1:]
	return len(strings.TrimSpace(last)) >= wrapWidth
}
