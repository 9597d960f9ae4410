package hooks

import (
	"context"
	"fmt"

	"sluice/flow/contract"
	"sluice/flow/document"
	"sluice/flow/triggers"
)

// cachedOutlines is how many versions of flows are kept in memory, so that not every event reads and parses a document.
const cachedOutlines = 512

// outline is what requests need of the live version of a flow. It is shared and never changed.
type outline struct {
	inputs  []contract.Input
	outputs []contract.Output
}

// findOutline returns the outline of the live version of the flow of a trigger. Documents never change under their hash.
func (s *Server) findOutline(ctx context.Context, t *triggers.Trigger, hash string) (*outline, error) {
	key := string(t.WorkspaceID) + "/" + hash
	if o, ok := s.outlines.Get(key); ok {
		return o, nil
	}
	data, err := s.Store.FindDocument(ctx, t.WorkspaceID, hash)
	if err != nil {
		return nil, fmt.Errorf("find the live version of %s: %w", t.FlowID, err)
	}
	doc, _ := document.ParseDocument(data)
	if doc == nil {
		return nil, fmt.Errorf("the live version of %s cannot be read", t.FlowID)
	}
	o := &outline{contract.Inputs(doc, s.Kinds), contract.Outputs(doc, s.Kinds)}
	s.outlines.Add(key, o)
	return o, nil
}
