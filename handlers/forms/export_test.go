package forms

import (
	"sluice/flow/forms"
)

// Seals returns the signer of tickets.
func (s *Server) Seals() *forms.Seals { return s.seals }
