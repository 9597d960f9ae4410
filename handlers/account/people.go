package account

import "net/mail"

// longestEmail is the longest e-mail address in bytes (RFC 5321).
const longestEmail = 254

// checkEmail tells in a sentence what is wrong with an address, or nothing.
func checkEmail(email string) string {
	a, err := mail.ParseAddress(email)
	if err != nil || a.Address != email || len(email) > longestEmail {
		return "This is not an e-mail address."
	}
	return ""
}
