package docs

import (
	"context"
	"io"
	"strings"

	"sluice/docs"

	"github.com/a-h/templ"
)

// Spaces are significant within a line and within a sample. Templates add their own, so these
// components write HTML directly.

// docSpans renders the text of a paragraph, heading or cell.
func docSpans(spans []docs.Span) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		var b strings.Builder
		writeSpans(&b, spans)
		_, err := io.WriteString(w, b.String())
		return err
	})
}

// writeSpans writes text with its formatting. Everything is escaped here: the text
// comes from files, but also from the OpenAPI document with names that users chose.
func writeSpans(b *strings.Builder, spans []docs.Span) {
	for _, s := range spans {
		switch s.Type {
		case docs.Plain:
			b.WriteString(templ.EscapeString(s.Text))
		case docs.Mono:
			b.WriteString("<code>" + templ.EscapeString(s.Text) + "</code>")
		case docs.Strong:
			writeAround(b, "strong", "", s.Spans)
		case docs.Emphasis:
			writeAround(b, "em", "", s.Spans)
		case docs.Link:
			id := ""
			if s.ID != "" {
				id = ` id="` + templ.EscapeString(s.ID) + `" data-moved`
			}
			writeAround(b, "a", id+` class="link" href="`+templ.EscapeString(string(templ.URL(s.Href)))+`"`, s.Spans)
		}
	}
}

// writeAround writes spans within an element. attributes start with a space and must be
// escaped already.
func writeAround(b *strings.Builder, element, attributes string, spans []docs.Span) {
	b.WriteString("<" + element + attributes + ">")
	writeSpans(b, spans)
	b.WriteString("</" + element + ">")
}

// docTokens renders a code sample with syntax highlighting.
func docTokens(sample docs.Block) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		var b strings.Builder
		if len(sample.Tokens) == 0 {
			b.WriteString(templ.EscapeString(sample.Code))
		}
		for _, t := range sample.Tokens {
			if t.Class == "" {
				b.WriteString(templ.EscapeString(t.Text))
				continue
			}
			b.WriteString(`<span class="` + templ.EscapeString(t.Class) + `">` + templ.EscapeString(t.Text) + "</span>")
		}
		_, err := io.WriteString(w, b.String())
		return err
	})
}

// docMarks renders a text with the search terms highlighted.
func docMarks(marks []docs.Mark) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		var b strings.Builder
		for _, m := range marks {
			if text := templ.EscapeString(m.Text); m.Found {
				b.WriteString("<mark>" + text + "</mark>")
			} else {
				b.WriteString(text)
			}
		}
		_, err := io.WriteString(w, b.String())
		return err
	})
}
