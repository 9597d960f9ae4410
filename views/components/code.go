package components

import (
	"context"
	"html"
	"io"

	"github.com/a-h/templ"
)

// CodePiece is a piece of code with the class that colors it.
type CodePiece struct{ Class, Text string }

// CodePieces are the tokens of a highlighter as pieces of a page.
func CodePieces[T ~struct{ Class, Text string }](tokens []T) []CodePiece {
	list := make([]CodePiece, len(tokens))
	for i, t := range tokens {
		list[i] = CodePiece(t)
	}
	return list
}

// Highlighted is code in colors. Nothing stands between the pieces that is not
// in the code.
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
