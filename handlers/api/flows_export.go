package api

import (
	"fmt"

	"sluice/flow"
	"sluice/flow/document/aiflow"
)

// exportMember is the member of a document that contains an AI-Flow export in place of nodes and
// edges. The export has no name, so the document also has a name and a slug.
const exportMember = "ai_flow"

// importLoss is the JSON of a note about a converted export: something that was lost or changed, or
// that must be done before the flow can run.
type importLoss struct {
	Kind string `json:"kind" doc:"noted: a node is a note now. lost: an edge is missing. left: a setting was dropped. changed: a name or text is another. needed: a credential is missing. todo: what keeps the flow from running."`
	Node string `json:"node,omitempty" doc:"The node of the flow, if it is about one."`
	Text string `json:"text"`
}

// convertExports converts the AI-Flow exports in a list of documents in place. It returns the
// losses for each item of the list, nil for one that is not an export.
func (c *Call) convertExports(list []any) ([][]importLoss, error) {
	losses := make([][]importLoss, len(list))
	var wrong problems
	for i, v := range list {
		members, _ := flow.AsObject(v)
		export, ok := members.Lookup(exportMember)
		if !ok {
			continue
		}
		d, report, err := aiflow.Convert(flow.EncodeJSON(export), c.s.Library.Kinds)
		if err != nil {
			wrong.add(flow.Pointer("documents", i, exportMember), "invalid", flow.AsError(err).Message)
			continue
		}
		document, err := flow.DecodeJSON(d.Compact())
		if err != nil {
			return nil, fmt.Errorf("read a converted export: %w", err)
		}
		converted, _ := flow.AsObject(document)
		for name, value := range members.All() { // slug, name and others win, and are checked later
			if name != exportMember {
				converted.Set(name, value)
			}
		}
		list[i] = converted
		losses[i] = convert(aiflow.Losses(report), func(n *aiflow.Note) importLoss { return importLoss{string(n.Sort), n.Node, n.Text} })
	}
	return losses, wrong.err()
}
