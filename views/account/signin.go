package account

import (
	"net/url"

	"sluice/views/components"
)

// SetUpForm makes the first owner. The token comes with the link of the log.
type SetUpForm struct {
	Token, Workspace, Name, Email string
	Errors                        components.Errors
}

// SignInForm lets a person in.
type SignInForm struct {
	Email string
	// Next is the page that the person wanted; empty is the start.
	Next string
	// SignUp shows the way to an account of one's own.
	SignUp bool
	Errors components.Errors
}

// SignUpForm makes a person who owns a workspace of their own.
type SignUpForm struct {
	Workspace, Name, Email string
	Errors                 components.Errors
}

// NewPasswordForm sets the password of a person who got a link.
type NewPasswordForm struct {
	Token, Email string
	Errors       components.Errors
}

// PasswordForm changes the password of who is signed in.
type PasswordForm struct {
	// Email helps password managers to know whose password this is.
	Email  string
	Errors components.Errors
}

// InviteForm makes an account for an invited person.
type InviteForm struct {
	Token, Workspace, Role, InvitedBy string
	Name, Email                       string
	// Account is set if the address has an account, SignedIn if it is the account of
	// the viewer; otherwise Other is the viewer's address.
	Account, SignedIn bool
	Other             string
	Errors            components.Errors
}

// passwordHelp tells how to choose a password; the server checks it.
const passwordHelp = "At least 10 characters. Four or more unrelated words are easy to remember and hard to guess. Common passwords, keyboard patterns and your email are refused."

// newPassword is the field for a password that does not exist yet. Password
// managers offer one, and read its least length.
func newPassword(name, label string, errors components.Errors) components.Field {
	return components.Field{
		Name: name, Label: label, Type: "password", Autocomplete: "new-password", Size: "large",
		Help: passwordHelp, Error: errors[name], Attrs: map[string]any{"minlength": "10", "maxlength": "512"},
	}
}

// signInThen leads to sign-in and from there to a page with its token.
func signInThen(path, token string) string {
	next := path + "?" + url.Values{"token": {token}}.Encode()
	return "/sign-in?" + url.Values{"next": {next}}.Encode()
}
