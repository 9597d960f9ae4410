package console

import "sluice/flow"

// What the tests of the room need of its insides.
const (
	FlowsPage = flowsPerPage
	MaxCURL   = maxCURL
)

type Exported = exportedRun

var (
	ExportCut = truncationNote
)

func (s *Server) Curl(run *flow.Run) (string, error) { return s.curl(run) }
