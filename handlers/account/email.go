package account

import "net/mail"

// longestEmail is the longest e-mail address in bytes (RFC 5321).
const longestEmail = 254

// checkEmail returns an error message if an address is not valid. Display names
// and comments are not accepted.
func checkEmail(email string) string {
	a, err := mail.ParseAddress(email)
	if err != nil || a.Address != email || len(email) > longestEmail {
		return "Enter a valid email address."
	}
	return ""
}
