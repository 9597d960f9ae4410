package components

import "github.com/a-h/templ"

// Markdown shows the HTML that markdown.HTML made of an untrusted text.
func Markdown(html string) templ.Component { return templ.Raw(html) }
