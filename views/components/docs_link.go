package components

import "github.com/a-h/templ"

// docsError is where the documentation explains the code of an error.
func ErrorDocsURL(code string) templ.SafeURL { return templ.SafeURL("/docs/errors#" + code) }
