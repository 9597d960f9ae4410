package components

import (
	"context"
	"html"
	"io"

	"sluice/snippets"

	"github.com/a-h/templ"
)

// Highlighted is code in colours. Nothing stands between the pieces that is not
// in the code.
func Highlighted(code []snippets.Token) templ.Component {
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
