package components

import (
	"context"
	"io"

	"github.com/a-h/templ"
)

// Markdown shows the HTML that markdown.HTML made of an untrusted text.
func Markdown(html string) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		_, err := io.WriteString(w, html)
		return err
	})
}
