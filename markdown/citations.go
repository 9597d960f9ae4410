package markdown

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// Citation is a number in brackets in a text, such as [1], that refers to a source.
type Citation struct {
	Number     string
	Start, End int // in characters
}

var (
	code    = regexp.MustCompile("(?s)```.*?(?:```|$)|`[^`\n]+`")
	special = regexp.MustCompile(`[\\*_\[\]<>!()#|~` + "`]")
)

// Citations returns the numbers of a text that have a source, in the order of the text. Code has none.
func Citations(text string, sources map[string]Source) (list []Citation) {
	blocks := code.FindAllStringIndex(text, -1)
	at, characters := 0, 0
	for _, m := range citation.FindAllStringSubmatchIndex(text, maxFootnotes) {
		for len(blocks) > 0 && blocks[0][1] <= m[0] {
			blocks = blocks[1:]
		}
		number := text[m[2]:m[3]]
		if _, known := sources[number]; !known || len(blocks) > 0 && blocks[0][0] <= m[0] {
			continue
		}
		start := characters + utf8.RuneCountInString(text[at:m[0]])
		at, characters = m[1], start+m[1]-m[0]
		list = append(list, Citation{number, start, characters})
	}
	return list
}

// SourceList returns the sources that a text cites as a list in Markdown, to append to the text, or "". Titles are texts of others, so they cannot have links or pictures.
func SourceList(text string, sources map[string]Source) string {
	var b strings.Builder
	listed := map[string]bool{}
	for _, c := range Citations(text, sources) {
		if listed[c.Number] {
			continue
		}
		if len(listed) == 0 {
			b.WriteString("\n\nSources:\n\n")
		}
		listed[c.Number] = true
		s := sources[c.Number]
		b.WriteString("- [" + c.Number + "] " + special.ReplaceAllString(strings.Join(strings.Fields(s.Place()), " "), `\$0`))
		if s.HasAddress() && !strings.ContainsAny(s.Link, "<> \n") {
			b.WriteString(" <" + s.Link + ">")
		}
		b.WriteByte('\n')
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// HasAddress reports whether the link of a source is an address on the web.
func (s Source) HasAddress() bool { return webAddress.MatchString(s.Link) }
