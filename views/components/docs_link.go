package components

import "github.com/a-h/templ"

// ErrorDocsURL returns the URL of the documentation of an error code.
func ErrorDocsURL(code string) templ.SafeURL { return templ.SafeURL("/docs/errors#" + code) }
