package forms

import "sluice/flow"

// Seals returns what signs the addresses that visitors are given.
func (s *Server) Seals() *flow.FormSeals { return s.seals }
