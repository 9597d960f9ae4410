package editor

import "sluice/views/layout"

// MaxOps exposes maxOps.
const MaxOps = maxOps

// Others returns the other users who have a flow open.
func (s *Server) Others(flowID, user string) []layout.Person { return s.editing.others(flowID, user) }
