package editor

import (
	"sluice/flow"
	"sluice/views/layout"
)

// MaxOps exposes maxOps.
const MaxOps = maxOps

// Others returns the other users who have a flow open.
func (s *Server) Others(flowID flow.FlowID, user string) []layout.Person {
	return s.editing.others(flowID, user)
}
