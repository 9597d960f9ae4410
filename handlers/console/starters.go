package console

import (
	"sluice/flow"
	consoleview "sluice/views/console"
)

// Starter is a flow that people may begin with.
type Starter struct {
	ID, Icon string
	// Needs is what has to be there for it to run, such as "Replicate"; empty
	// when it runs as it is.
	Needs string
	// First tells that it is offered where no flow is yet.
	First    bool
	Document *flow.Document
}

// starters are the flows to begin with; first are those for newcomers alone.
func (s *Server) starters(first bool) []consoleview.Starter {
	var list []consoleview.Starter
	for i := range s.Starters {
		st := &s.Starters[i]
		if first && !st.First {
			continue
		}
		list = append(list, consoleview.Starter{
			ID: st.ID, Icon: st.Icon, Name: st.Document.Name, Text: st.Document.Description, Needs: st.Needs, Graph: graphOf(st.Document, s.Kinds),
		})
	}
	return list
}

func (s *Server) findStarter(id string) *Starter {
	for i := range s.Starters {
		if s.Starters[i].ID == id {
			return &s.Starters[i]
		}
	}
	return nil
}
