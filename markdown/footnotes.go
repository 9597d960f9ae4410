package markdown

import (
	"html"
	"regexp"
	"strconv"
	"strings"
)

// Source is what a number in a text refers to.
type Source struct {
	Title, Link string
	Page        int // 0: none
}

// Place is the title with the page.
func (s Source) Place() string {
	if s.Page > 0 {
		return s.Title + ", page " + strconv.Itoa(s.Page)
	}
	return s.Title
}

// maxFootnotes bounds the numbers of a text that become footnotes.
const maxFootnotes = 500

var (
	citation = regexp.MustCompile(`\[([0-9]{1,3})\]`)
	tag      = regexp.MustCompile(`<(/?)([a-z0-9]+)[^>]*>`)
)

// Cites reports whether a text has a number such as [1].
func Cites(text string) bool { return citation.MatchString(text) }

// WithFootnotes renders a text as HTML like HTML does. Numbers in brackets, such as [1], become links to the sources that they refer to, and the sources that the text
// cites are listed below it. A number without a source is shown as unknown.
func WithFootnotes(text string, sources map[string]Source) string {
	rendered := HTML(text)
	var b strings.Builder
	var cited []string
	known, left, verbatim := map[string]bool{}, maxFootnotes, 0
	write := func(part string) {
		if verbatim > 0 {
			b.WriteString(part)
			return
		}
		at := 0
		for _, m := range citation.FindAllStringSubmatchIndex(part, left) {
			left--
			b.WriteString(part[at:m[0]])
			number := part[m[2]:m[3]]
			b.WriteString(reference(number, sources))
			if _, ok := sources[number]; ok && !known[number] {
				known[number] = true
				cited = append(cited, number)
			}
			at = m[1]
		}
		b.WriteString(part[at:])
	}
	at := 0
	for _, m := range tag.FindAllStringSubmatchIndex(rendered, -1) {
		write(rendered[at:m[0]])
		if name := rendered[m[4]:m[5]]; name == "code" || name == "pre" || name == "a" {
			if m[3] > m[2] {
				verbatim--
			} else {
				verbatim++
			}
		}
		b.WriteString(rendered[m[0]:m[1]])
		at = m[1]
	}
	write(rendered[at:])
	if len(cited) == 0 {
		return b.String()
	}
	b.WriteString(`<ol class="footnotes">`)
	for _, number := range cited {
		s := sources[number]
		b.WriteString(`<li value="` + number + `">`)
		if s.HasAddress() {
			b.WriteString(anchor(s.Link, "", html.EscapeString(s.Title)))
		} else {
			b.WriteString(html.EscapeString(s.Title))
		}
		if s.Page > 0 {
			b.WriteString(", page " + strconv.Itoa(s.Page))
		}
		b.WriteString("</li>")
	}
	b.WriteString("</ol>\n")
	return b.String()
}

// reference renders a number in a text.
func reference(number string, sources map[string]Source) string {
	s, ok := sources[number]
	switch {
	case !ok:
		return `<sup class="cite unknown" title="There is no source with this number">[` + number + `?]</sup>`
	case s.HasAddress():
		return `<sup class="cite">` + anchor(s.Link, s.Place(), "["+number+"]") + `</sup>`
	}
	return `<sup class="cite" title="` + html.EscapeString(s.Place()) + `">[` + number + `]</sup>`
}

// anchor renders an external link.
func anchor(to, title, content string) string {
	if title != "" {
		title = ` title="` + html.EscapeString(title) + `"`
	}
	return `<a href="` + html.EscapeString(to) + `"` + title + ` target="_blank" rel="noopener noreferrer nofollow">` + content + `</a>`
}
