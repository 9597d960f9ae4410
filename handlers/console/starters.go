package console

import (
	"sluice/flow"
	"sluice/handlers/web"
	consoleview "sluice/views/console"
)

// Starter is a flow that users can start with.
type Starter struct {
	ID, Icon string
	// Needs is the provider that the flow needs, such as "Replicate", or "".
	Needs string
	// First marks starters that are offered on an empty list of flows.
	First    bool
	Document *flow.Document
	// Subflows are the flows that nodes of Document run, by slug; SubflowIDs are their IDs.
	SubflowIDs []string
	Subflows   []*flow.Document
}

// starters converts the starters. With first, it returns only those with First.
func (s *Server) starters(first bool) []consoleview.Starter {
	var list []consoleview.Starter
	for i := range s.Starters {
		st := &s.Starters[i]
		if first && !st.First {
			continue
		}
		list = append(list, consoleview.Starter{
			ID: st.ID, Icon: st.Icon, Name: st.Document.Name, Text: st.Document.Description, Needs: st.Needs, Graph: web.Thumbnail(st.Document, s.Kinds),
		})
	}
	return list
}

// findStarter returns the starter with an ID, or nil.
func (s *Server) findStarter(id string) *Starter {
	for i := range s.Starters {
		if s.Starters[i].ID == id {
			return &s.Starters[i]
		}
	}
	return nil
}
