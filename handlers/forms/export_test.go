package forms

import (
	"sluice/flow/forms"
)

// Seals returns what signs the addresses that visitors are given.
func (s *Server) Seals() *forms.Seals { return s.seals }
