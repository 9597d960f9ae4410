package api

import (
	"fmt"

	"sluice/flow"
	"sluice/flow/document/aiflow"
)

// exportMember is the member of a document that has an export of AI-Flow in place of nodes
// and edges. Such an export is a list without a name, so name and slug stand beside it.
const exportMember = "ai_flow"

// importLoss is the JSON of a note about a converted export: something that the flow could not
// keep, or that is left to do before it runs.
type importLoss struct {
	Kind string `json:"kind" doc:"noted: a node is a note now. lost: an edge is missing. left: a setting was dropped. changed: a name or text is another. needed: a credential is missing. todo: what keeps the flow from running."`
	Node string `json:"node,omitempty" doc:"The node of the flow, if it is about one."`
	Text string `json:"text"`
}

// convertExports replaces the exports of AI-Flow in a list of documents by converted
// documents, in place. It returns the losses for each item; nil if it is no export.
func (c *Call) convertExports(list []any) ([][]importLoss, error) {
	losses := make([][]importLoss, len(list))
	var wrong problems
	for i, v := range list {
		members, _ := v.(map[string]any)
		export, ok := members[exportMember]
		if !ok {
			continue
		}
		d, report, err := aiflow.Convert(flow.EncodeJSON(export), c.s.Library.Kinds)
		if err != nil {
			wrong.add(flow.Pointer("documents", i, exportMember), "invalid", flow.AsError(err).Message)
			continue
		}
		document, err := flow.DecodeJSON(d.Canonical())
		if err != nil {
			return nil, fmt.Errorf("read a converted export: %w", err)
		}
		converted := document.(map[string]any)
		for name, value := range members { // slug, name and others win, and are checked later
			if name != exportMember {
				converted[name] = value
			}
		}
		list[i] = converted
		losses[i] = convert(aiflow.Losses(report), func(n *aiflow.Note) importLoss { return importLoss{string(n.Sort), n.Node, n.Text} })
	}
	return losses, wrong.err()
}
