package console

import "sluice/flow"

// What the tests of the room need of its insides.
const (
	FlowsPage = flowsPage
	MaxCURL   = maxCURL
)

type Exported = exported

var (
	Advice    = advice
	ExportCut = exportCut
)

func (s *Server) Docs() (*shelf, error)              { return s.docs() }
func (s *Server) GeneratedDocs() map[string]string   { return s.docsInstead() }
func (s *Server) Curl(run *flow.Run) (string, error) { return s.curl(run) }
