package views

import (
	"net/url"

	"github.com/a-h/templ"
)

// opens are the attributes of a button that opens a dialog.
func opens(dialog string) templ.Attributes {
	return templ.Attributes{"commandfor": dialog, "command": "show-modal"}
}

// signInThen leads to sign-in and from there to a page with its token.
func signInThen(path, token string) string {
	next := path + "?" + url.Values{"token": {token}}.Encode()
	return "/sign-in?" + url.Values{"next": {next}}.Encode()
}
