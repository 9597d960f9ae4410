package pages

import "slices"

// peopleStore keeps who may come in, and what they did.
type peopleStore interface {
	accountStore
	memberStore
	auditStore
}

// peopleRoutes are those of people and what is theirs.
func (s *Server) peopleRoutes() []route {
	return slices.Concat(
		s.signInRoutes(),
	)
}
