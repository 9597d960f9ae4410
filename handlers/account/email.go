package account

import "net/mail"

// maxEmail is the length limit of an e-mail address in bytes (RFC 5321).
const maxEmail = 254

// checkEmail returns an error message if an address is not valid. Display names
// and comments are not accepted.
func checkEmail(email string) string {
	a, err := mail.ParseAddress(email)
	if err != nil || a.Address != email || len(email) > maxEmail {
		return "Enter a valid email address."
	}
	return ""
}
