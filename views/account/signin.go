package account

import (
	"time"

	"net/url"

	"sluice/views/components"
)

// SetUpForm creates the first owner. The token is part of the setup link in the log.
type SetUpForm struct {
	Token, Workspace, Name, Email string
	Errors                        components.Errors
}

// SignInForm asks for email and password.
type SignInForm struct {
	Email string
	// Next is the page to go to after signing in; "" is the start page.
	Next string
	// SignUp links to the sign-up page, Mail to the page that mails a reset link.
	SignUp, Mail bool
	// Providers are identity providers to sign in with. PasswordsOff moves the form for a password below them.
	Providers    []ProviderLink
	PasswordsOff bool
	Errors       components.Errors
}

// look returns the look of the button. Those of providers come first.
func (f SignInForm) look() components.ButtonLook {
	if len(f.Providers) > 0 {
		return components.LookPlain
	}
	return components.LookPrimary
}

// ProviderLink is an identity provider, and the URL that leads to it.
type ProviderLink struct{ Name, Href string }

// ConfirmForm asks an owner for the password, because an account of a provider has their email address.
type ConfirmForm struct {
	Provider, Email string
	Errors          components.Errors
}

// ForgotForm asks for a password reset link by mail. Sent is set once it was asked for.
type ForgotForm struct {
	Email  string
	Sent   bool
	Life   time.Duration // how long the link works
	Errors components.Errors
}

// SignUpForm creates a user with a workspace of their own.
type SignUpForm struct {
	Workspace, Name, Email string
	Errors                 components.Errors
}

// NewPasswordForm sets a new password with a reset link.
type NewPasswordForm struct {
	Token, Email string
	Errors       components.Errors
}

// PasswordForm changes the password of the signed-in user.
type PasswordForm struct {
	// Email is a hidden field with which password managers find the right entry.
	Email  string
	Errors components.Errors
}

// InviteForm accepts an invitation, and creates an account if needed.
type InviteForm struct {
	Token, Workspace, Role, InvitedBy string
	Name, Email                       string
	// Account is set if the invited address has an account, SignedIn if that account is signed
	// in. Otherwise Other is the address of the signed-in account, if any.
	Account, SignedIn bool
	// Providers are identity providers to sign in with. PasswordsOff means that new people must use one.
	Providers    []ProviderLink
	PasswordsOff bool
	Other        string
	Errors       components.Errors
}

// passwordHelp matches the rules that the server checks.
const passwordHelp = "At least 10 characters. Four or more unrelated words are easy to remember and hard to guess. Common passwords, keyboard patterns and your email are refused."

// newPassword returns the field for a new password. Password managers suggest one that fits its
// minimum length.
func newPassword(name, label string, errors components.Errors) components.Field {
	return components.Field{
		Name: name, Label: label, Type: "password", Autocomplete: "new-password", Size: "large",
		Help: passwordHelp, Error: errors[name], Attrs: map[string]any{"minlength": "10", "maxlength": "512"},
	}
}

// signInThen returns the URL of the sign-in page that continues with path and its token.
func signInThen(path, token string) string {
	next := path + "?" + url.Values{"token": {token}}.Encode()
	return "/sign-in?" + url.Values{"next": {next}}.Encode()
}
