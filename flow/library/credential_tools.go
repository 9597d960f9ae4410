package library

import (
	"context"
	"slices"
	"strings"

	"sluice/flow"
	"sluice/flow/credentialuse"
)

// ToolCheck is what a server offers, and how the nodes that use it differ from that.
type ToolCheck struct {
	Title string // by which the server introduces itself
	Tools []flow.ServerTool
	Uses  []ToolUse
}

// ToolUse is a node with tools of a server.
type ToolUse struct {
	credentialuse.Use
	Tools []flow.ToolComparison
}

// CheckTools lists the tools of the MCP server of a credential and compares them with those that nodes store. The
// entry is written first: the request to the server cannot be undone.
func (s *Credentials) CheckTools(ctx context.Context, by flow.Actor, c flow.Credential) (*ToolCheck, error) {
	if c.Provider != flow.ProviderMCP {
		return nil, flow.Errorf(flow.CodeInputInvalid, "The credential %q is not for an MCP server, so it has no tools.", c.Name)
	}
	if err := record(ctx, s.Store, by, entry(c.WorkspaceID, "credential.test", c.Name, c.Provider), nothing); err != nil {
		return nil, err
	}
	return CompareTools(ctx, s.Store, s.Providers, c)
}

// ToolLister lists the tools of the MCP server of a credential; see Providers.
type ToolLister interface {
	ListTools(ctx context.Context, ws flow.WorkspaceID, name string) (title string, tools []flow.ServerTool, err error)
}

// CompareTools is CheckTools without an entry of the audit log.
func CompareTools(ctx context.Context, store credentialuse.FlowReader, servers ToolLister, c flow.Credential) (*ToolCheck, error) {
	check := &ToolCheck{}
	var err error
	if check.Title, check.Tools, err = servers.ListTools(ctx, c.WorkspaceID, c.Name); err != nil {
		return nil, err
	}
	err = credentialuse.EachDocument(ctx, store, c.WorkspaceID, func(f *flow.Flow, d *flow.Document, live bool) {
		for i := range d.Nodes {
			n := &d.Nodes[i]
			if name, _ := flow.SecretRef(n.Config["credential"]); n.Kind != flow.KindMCP || name != c.Name {
				continue
			}
			stored, _ := flow.ServerTools(n.Config["tools"])
			use := credentialuse.Use{FlowID: f.ID, FlowName: f.Name, Node: n.ID, Live: live}
			check.Uses = append(check.Uses, ToolUse{use, flow.CompareTools(stored, check.Tools)})
		}
	})
	return check, err
}

// Changed lists the flows with a tool that differs from the server's, and those tools: "Flow: tool, tool".
func (c *ToolCheck) Changed() (list []string) {
	for _, u := range c.Uses {
		var tools []string
		for _, t := range u.Tools {
			if t.State != flow.ToolSame {
				tools = append(tools, t.Was.Name)
			}
		}
		text := u.FlowName + ": " + strings.Join(tools, ", ")
		if len(tools) > 0 && !slices.Contains(list, text) { // in the draft and the live version
			list = append(list, text)
		}
	}
	return list
}
