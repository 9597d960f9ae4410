package editor

import (
	"sluice/flow"
	"sluice/flow/document"
	"sluice/flow/library"
	"sluice/flow/sorting"
	"sluice/handlers/web"
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

// widenedCallers returns the tools of other flows that can do more once a document of f is live.
func widenedCallers(c *call, f *flow.Flow, d *flow.Document) (list []editorview.WidenedTool, err error) {
	found, err := library.WidenedCallers(c.Ctx(), c.s.Library, f, d)
	for _, t := range found {
		list = append(list, editorview.WidenedTool{FlowID: string(t.FlowID), Name: t.Name, Tool: t.Node, More: t.More})
	}
	return list, err
}

// widenedTools returns the tools of the live version of f that can do more than when it was published.
func widenedTools(c *call, f *flow.Flow) (list []editorview.WidenedTool, err error) {
	found, err := library.WidenedTools(c.Ctx(), c.s.Library, f.WorkspaceID, f.ID, f.LiveVersion)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	d, _ := document.ParseDocument(f.Draft)
	for _, node := range sorting.Keys(found) {
		t := editorview.WidenedTool{Tool: node, More: found[node]}
		if d != nil {
			t.Tool = web.NodeTitle(d, c.s.Kinds, node)
		}
		list = append(list, t)
	}
	return list, nil
}
