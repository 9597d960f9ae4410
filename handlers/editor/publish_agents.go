package editor

import (
	"sluice/flow"
	"sluice/flow/library"
	editorview "sluice/views/editor"
)

// maxWritingNodes is how many nodes of a tool the dialogs name.
const maxWritingNodes = 10

// agentWrites returns what the agents of a document can change.
func agentWrites(c *call, d *flow.Document) (list []editorview.AgentWrites, err error) {
	agents, err := library.AgentWrites(c.Ctx(), c.s.Library, c.WorkspaceID(), d)
	for _, a := range agents {
		v := editorview.AgentWrites{Title: a.Title}
		for _, t := range a.Tools {
			tool := editorview.ToolWrites{Title: t.Title, Approval: t.Approval, ClaimsRead: t.ClaimsRead, More: max(0, len(t.Writes)-maxWritingNodes)}
			for _, n := range t.Writes[:min(len(t.Writes), maxWritingNodes)] {
				tool.Nodes = append(tool.Nodes, editorview.WritingNode{Flow: string(n.Flow), FlowName: n.Name, Title: n.Title})
			}
			v.Tools = append(v.Tools, tool)
		}
		list = append(list, v)
	}
	return list, err
}
