// Package passages cuts the text of documents into passages for search. It knows nothing about databases and models.
package passages

import (
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"sluice/providers/builtin"
)

// Sizes of passages in words.
const (
	DefaultSize    = 200
	DefaultOverlap = 40
	MinSize        = 20
	MaxSize        = 1000
)

// Passage is a part of a document.
type Passage struct {
	Text     string
	Headings []string // from the outermost to the innermost
	Page     int      // counted from 1; 0 if the document has no pages
	From, To int      // of the text, in bytes
	// Row holds the names and cells of the row that the passage is, for tables; otherwise nil.
	Row [][2]string
}

// Rules say how texts are cut.
type Rules struct {
	Size    int  // words in a passage at most, except for code blocks and long sentences
	Overlap int  // words that a passage repeats of the one before it in the same section
	Plain   bool // the text is no Markdown: lines with # are no headings
}

// unit is what a passage is made of: a sentence, a line of a table or a code block.
type unit struct {
	start, end, words int
	header            string // of the table that the unit is a line of
	apart             bool   // is never repeated
}

// Cut cuts a text. pages has the offset of each page; nil for a text without pages. A passage has sentences of
// one page, so that a citation names the page on which its sentence begins.
func Cut(text string, pages []int, r Rules) (list []Passage) {
	var headings []string
	var levels []int
	var units []unit
	flush := func() {
		for len(units) > 0 {
			page, end := pageOf(pages, units[0].start), 1
			for end < len(units) && pageOf(pages, units[end].start) == page {
				end++
			}
			for _, p := range pack(text, units[:end], r) {
				p.Headings, p.Page = append([]string(nil), headings...), page
				list = append(list, p)
			}
			units = units[end:]
		}
	}
	for _, b := range blocks(text, r.Plain) {
		if b.level == 0 {
			units = append(units, b.units(text, r.Size)...)
			continue
		}
		flush()
		for len(levels) > 0 && levels[len(levels)-1] >= b.level {
			levels, headings = levels[:len(levels)-1], headings[:len(headings)-1]
		}
		levels, headings = append(levels, b.level), append(headings, b.title)
	}
	flush()
	return list
}

// pageOf returns the page of an offset, counted from 1.
func pageOf(pages []int, at int) (page int) { return sort.SearchInts(pages, at+1) }

// pack makes passages of the units of one section.
func pack(text string, units []unit, r Rules) (list []Passage) {
	for first, fresh := 0, 0; fresh < len(units); {
		words, end := 0, first
		for end < len(units) && (end <= fresh || words+units[end].words <= r.Size) {
			words += units[end].words
			end++
		}
		p := Passage{Text: strings.TrimSpace(text[units[first].start:units[end-1].end]), From: units[fresh].start, To: units[end-1].end}
		if header := units[first].header; header != "" && !strings.HasPrefix(p.Text, header) {
			p.Text = header + "\n" + p.Text
		}
		list = append(list, p)
		fresh = end
		for first = end; first > 0 && end < len(units); first-- { // what the next one repeats
			u := &units[first-1]
			if u.apart || end-first > 0 && span(units[first-1:end]) > r.Overlap || u.words > r.Overlap {
				break
			}
		}
	}
	return list
}

// span returns the number of words of units.
func span(units []unit) (words int) {
	for i := range units {
		words += units[i].words
	}
	return words
}

// block is a heading, a paragraph, a table or a code block.
type block struct {
	start, end int
	level      int // of a heading
	title      string
	code, rows bool
}

// blocks splits a text at headings, blank lines, tables and code blocks.
func blocks(text string, plain bool) (list []block) {
	var open *block
	fence := ""
	for start := 0; start < len(text); {
		end := start + len(text[start:])
		if n := strings.IndexByte(text[start:], '\n'); n >= 0 {
			end = start + n + 1
		}
		line := strings.TrimSpace(text[start:end])
		switch {
		case fence != "":
			open.end = end
			if strings.HasPrefix(line, fence) && strings.Trim(line, fence[:1]) == "" {
				open, fence = nil, ""
			}
		case !plain && (strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~")):
			fence = line[:3]
			list = append(list, block{start: start, end: end, code: true})
			open = &list[len(list)-1]
		case line == "":
			open = nil
		case !plain && headingLevel(line) > 0 && len(line) <= maxHeading:
			open = nil
			n := headingLevel(line)
			list = append(list, block{start: start, end: end, level: n, title: strings.TrimSpace(strings.TrimRight(strings.TrimSpace(line[n:]), "#"))})
		default:
			rows := strings.HasPrefix(line, "|") || strings.Count(line, "\t") > 0
			if open == nil || open.rows != rows {
				list = append(list, block{start: start, end: end, rows: rows})
				open = &list[len(list)-1]
			}
			open.end = end
		}
		start = end
	}
	return list
}

// maxHeading is the longest line in bytes that is a heading. Each passage below a heading repeats it.
const maxHeading = 500

// headingLevel returns the level of a heading of Markdown, or 0.
func headingLevel(line string) int {
	n := 0
	for n < len(line) && line[n] == '#' {
		n++
	}
	if n == 0 || n > 6 || n == len(line) || line[n] != ' ' {
		return 0
	}
	return n
}

// units splits a block into what passages are made of.
func (b *block) units(text string, size int) (list []unit) {
	whole := text[b.start:b.end]
	switch {
	case b.code && Words(whole) <= 2*size:
		return []unit{{start: b.start, end: b.end, words: Words(whole), apart: true}}
	case b.code, b.rows:
		header := ""
		for at := b.start; at < b.end; {
			end := b.end
			if n := strings.IndexByte(text[at:b.end], '\n'); n >= 0 {
				end = at + n + 1
			}
			if b.rows && at == b.start && Words(text[at:end]) <= size/2 { // a longer one would leave no room for rows
				header = strings.TrimSpace(text[at:end])
			}
			line := []unit{{start: at, end: end, words: Words(text[at:end])}}
			if line[0].words > 2*size {
				line = split(text, at, end, size)
			}
			for _, u := range line {
				u.header, u.apart = header, true
				list = append(list, u)
			}
			at = end
		}
		return list
	}
	for _, s := range builtin.Sentences(whole) {
		list = append(list, split(text, b.start+s[0], b.start+s[1], size)...)
	}
	return list
}

// split splits a sentence that has more words than a passage.
func split(text string, start, end, size int) (list []unit) {
	for start < end {
		at, words := start, 0
		for at < end && words < size {
			r, n := utf8.DecodeRuneInString(text[at:end])
			at += n
			if unicode.IsSpace(r) {
				words++
			}
			if at-start > 16*size { // a script without spaces, or data
				break
			}
		}
		list = append(list, unit{start: start, end: at, words: max(1, Words(text[start:at]))})
		start = at
	}
	return list
}

// longWord is from how many characters on a word counts as several, one for each longWord/2: it is no word but data, such as an image
// in base64, and models for vectors read only some thousand characters.
const longWord = 32

// Words estimates the number of words of a text. In scripts without spaces, two characters count as a word.
func Words(text string) (n int) {
	length, dense := 0, 0 // length is of the word so far
	for _, r := range text {
		switch {
		case unicode.IsSpace(r):
			length = 0
		case r >= 0xE00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar):
			dense++
			length = 0
		default:
			if length++; length == 1 || length >= longWord && length%(longWord/2) == 0 {
				n++
			}
		}
	}
	return n + (dense+1)/2
}
