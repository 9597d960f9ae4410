package handlers

import (
	"time"

	"sluice/flow"
)

// linksHold is at most how long the links of an answer hold, and half of it at
// least: they end on the hour, so that equal answers stay equal for a while.
const linksHold = 2 * time.Hour

func (s *Server) linksUntil() time.Time {
	return s.Now().Truncate(linksHold / 2).Add(linksHold)
}

// linked is values by name with links to the files in them.
func (s *Server) linked(ws string, values map[string]any) map[string]any {
	return s.Links.Values(ws, values, s.linksUntil())
}

func (s *Server) linkedOutput(ws string, o *flow.OutputEvent) flow.OutputEvent {
	named := map[string]any{o.Name: o.Value}
	return flow.OutputEvent{Name: o.Name, Value: s.linked(ws, named)[o.Name]}
}
