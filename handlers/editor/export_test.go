package editor

import "sluice/views/layout"

// MaxOps is what the tests of the room need of its insides.
const MaxOps = maxOps

// Others returns who else has a flow open.
func (s *Server) Others(flowID, user string) []layout.Person { return s.editing.others(flowID, user) }
