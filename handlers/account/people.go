package account

import (
	"net/mail"
	"slices"
)

// peopleRoutes are those of people and what is theirs.
func (s *Server) peopleRoutes() []route {
	return slices.Concat(
		s.setUpRoutes(), s.signInRoutes(), s.signUpRoutes(), s.passwordRoutes(), s.inviteRoutes(),
		s.settingsRoutes(), s.memberRoutes(), s.sessionRoutes(), s.workspaceRoutes(),
	)
}

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
