package pages

import (
	"net/mail"
	"slices"
	"strings"

	"sluice/flow"
	"sluice/views"
)

// peopleStore keeps who may come in, and what they did.
type peopleStore interface {
	accountStore
	setUpStore
	memberStore
	inviteStore
	workspaceStore
	auditStore
}

// peopleRoutes are those of people and what is theirs.
func (s *Server) peopleRoutes() []route {
	return slices.Concat(
		s.setUpRoutes(), s.signInRoutes(), s.signUpRoutes(), s.passwordRoutes(), s.inviteRoutes(),
		s.settingsRoutes(), s.memberRoutes(), s.sessionRoutes(), s.auditRoutes(), s.workspaceRoutes(),
	)
}

// Lengths of what people write about themselves. An e-mail address is at most
// 254 bytes (RFC 5321).
const (
	longestName  = 80
	longestEmail = 254
)

// checkEmail tells in a sentence what is wrong with an address, or nothing.
func checkEmail(email string) string {
	a, err := mail.ParseAddress(email)
	if err != nil || a.Address != email || len(email) > longestEmail {
		return "This is not an e-mail address."
	}
	return ""
}

// checkName tells in a sentence what is wrong with a name of something.
func checkName(name, what string) string {
	if name == "" {
		return "Give " + what + " a name."
	}
	return flow.CheckName(name, longestName)
}

// trimmed is a field of the form without the spaces around it.
func (c *call) trimmed(name string) string { return strings.TrimSpace(c.FormValue(name)) }

// wrong gathers what is wrong with a form, by field.
func wrong(sentences map[string]string) views.Errors {
	errors := views.Errors{}
	for field, sentence := range sentences {
		if sentence != "" {
			errors[field] = sentence
		}
	}
	return errors
}
