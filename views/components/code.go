package components

import (
	"context"
	"html"
	"io"

	"github.com/a-h/templ"
)

// CodePiece is a token of highlighted code with its CSS class.
type CodePiece struct{ Class, Text string }

// CodePieces converts the tokens of a highlighter.
func CodePieces[T ~struct{ Class, Text string }](tokens []T) []CodePiece {
	list := make([]CodePiece, len(tokens))
	for i, t := range tokens {
		list[i] = CodePiece(t)
	}
	return list
}

// Highlighted renders code with syntax highlighting. It adds no whitespace between tokens.
func Highlighted(code []CodePiece) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		for _, t := range code {
			text := html.EscapeString(t.Text)
			if t.Class != "" {
				text = `<span class="` + html.EscapeString(t.Class) + `">` + text + `</span>`
			}
			if _, err := io.WriteString(w, text); err != nil {
				return err
			}
		}
		return nil
	})
}
