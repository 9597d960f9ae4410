package editor

import (
	"encoding/json"
	"net/http"
	"slices"

	"sluice/flow"
	"sluice/flow/document"
	"sluice/flow/value"
	"sluice/handlers/web"
	"sluice/views/components"
	editorview "sluice/views/editor"
	"sluice/views/layout"
)

// serverOf returns the credential of the server whose tools a node calls.
func (c *call) serverOf(t *draftNode) (flow.Credential, error) {
	if t.node.Kind != flow.KindMCP {
		return flow.Credential{}, web.ErrNotFound
	}
	name, isRef := flow.SecretRef(t.node.Config["credential"])
	if !isRef {
		return flow.Credential{}, flow.Errorf(flow.CodeInputInvalid, "Choose the server of the node first.")
	}
	k, err := c.s.Store.FindCredential(c.Ctx(), c.WorkspaceID(), name)
	if flow.IsNotFound(err) {
		return k, flow.Errorf(flow.CodeInputInvalid, "There is no credential %q. Choose another server, or add it under Credentials.", name)
	}
	return k, err
}

// showServerTools is GET /flows/{id}/node/{node}/tools: the tools of the node's server. It asks the server.
func showServerTools(c *call, t *draftNode) error {
	k, err := c.serverOf(t)
	if e := flow.AsError(err); err != nil && e.Code == flow.CodeInputInvalid {
		c.Toast(components.ToneBad, e.Message)
		return c.Redirect("/flows/" + string(t.flow.ID) + "?node=" + t.node.ID)
	}
	if err != nil {
		return err
	}
	page := editorview.ServerToolsPage{FlowID: string(t.flow.ID), Flow: t.flow.Name, Node: t.node.ID, NodeName: document.NodeTitle(t.node, t.kind), Server: k.Name, Connection: c.s.Connection(c.Call, &k), Now: c.s.Now()}
	title, listed, err := c.s.Servers.ListTools(c.Ctx(), c.WorkspaceID(), k.Name)
	if e := flow.AsError(err); err != nil && e.Code == flow.CodeInternal {
		return err
	} else if err != nil {
		page.Error, page.SignedOut = e.Message, e.Code == flow.CodeProviderAuth
	}
	page.Title = title
	stored, _ := flow.ServerTools(t.node.Config["tools"])
	page.Tools = serverToolRows(stored, listed, page.Error == "")
	status := http.StatusOK
	if page.Error != "" {
		status = http.StatusBadGateway
	}
	return c.Render(status, editorview.ServerTools(c.Page("Tools of "+k.Name, layout.SectionFlows), page))
}

// serverToolRows returns the stored tools, then the others of the server.
func serverToolRows(stored, listed []flow.ServerTool, asked bool) (rows []editorview.ServerToolRow) {
	seen := map[string]bool{}
	for _, t := range flow.CompareTools(stored, listed) {
		row := editorview.ServerToolRow{ServerTool: *t.Was, Now: t.Now, State: t.State, Allowed: true}
		if !asked {
			row.State = flow.ToolSame
		}
		if row.State == flow.ToolChanged {
			row.DescriptionDiff = changedText(t.Was.Description, t.Now.Description)
			row.SchemaDiff = changedText(schemaText(t.Was.Schema), schemaText(t.Now.Schema))
		}
		seen[t.Was.Name] = true
		rows = append(rows, row)
	}
	for i := range listed {
		if !seen[listed[i].Name] {
			rows = append(rows, editorview.ServerToolRow{ServerTool: listed[i], Now: &listed[i]})
		}
	}
	return rows
}

// changedText returns the differences of two texts with their invisible characters, or nil.
func changedText(before, after string) []editorview.Piece {
	if before == after {
		return nil
	}
	return textDiff(flow.ShowInvisible(before), flow.ShowInvisible(after))
}

// schemaText returns a schema for people.
func schemaText(schema *flow.Object) string {
	text, err := json.MarshalIndent(value.Plain(schema), "", "  ")
	if err != nil {
		return string(flow.EncodeJSON(schema))
	}
	return string(text)
}

// saveServerTools is POST /flows/{id}/node/{node}/tools. It asks the server again: what is stored is what the
// server says, and never what the form says.
func saveServerTools(c *call, t *draftNode) error {
	k, err := c.serverOf(t)
	if err != nil {
		return err
	}
	_, listed, err := c.s.Servers.ListTools(c.Ctx(), c.WorkspaceID(), k.Name)
	if err != nil {
		return flow.Errorf(flow.CodeInputInvalid, "The tools were not saved: %s", flow.AsError(err).Message)
	}
	form := c.Request().Form
	stored, _ := flow.ServerTools(t.node.Config["tools"])
	tools := []any{}
	for _, row := range serverToolRows(stored, listed, true) {
		tool, allowed := row.ServerTool, slices.Contains(form["tool"], row.Name)
		if row.State == flow.ToolChanged || row.State == flow.ToolMissing {
			choice := form.Get("change." + row.Name)
			allowed = choice != "off"
			if choice == "accept" && row.Now != nil {
				tool = *row.Now
			}
		}
		if !allowed {
			continue
		}
		if seen := form.Get("sha256." + tool.Name); tool.SHA256 != row.SHA256 || row.State == "" {
			if seen != tool.SHA256 {
				c.Toast(components.ToneBad, "The server has changed the tool "+tool.Name+" in the meantime. Nothing was saved: look at it again.")
				return c.Redirect("/flows/" + string(t.flow.ID) + "/node/" + t.node.ID + "/tools")
			}
		}
		if effect := flow.Effect(form.Get("effect." + tool.Name)); effect == flow.EffectRead || effect == flow.EffectWrite {
			tool.Effect = effect
		}
		tools = append(tools, tool.Value())
	}
	if _, problems := flow.ServerTools(tools); len(problems) > 0 {
		return flow.Errorf(flow.CodeInputInvalid, "The tools were not saved: %s.", problems[0].Detail)
	}
	edit := document.Edit{Op: document.OpSet, Node: t.node.ID, Field: "tools", Value: tools}
	if err := c.edit(t.flow.ID, []document.Edit{edit}); err != nil {
		return err
	}
	c.Toast(components.ToneOK, flow.Count(len(tools), "tool")+" allowed.")
	return c.Redirect("/flows/" + string(t.flow.ID) + "?node=" + t.node.ID)
}
