package console

import "sluice/flow"

// Unexported identifiers for tests.
const (
	FlowsPage = flowsPerPage
	MaxCURL   = maxCURL
)

type Exported = exportedRun

var (
	ExportCut = truncationNote
)

func (s *Server) Curl(run *flow.Run) (string, error) { return s.curl(run) }
