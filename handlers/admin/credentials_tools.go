package admin

import (
	"net/http"

	"sluice/flow"
	"sluice/handlers/api"
)

// ToolCheck is the response to POST credentials/name/tools/check.
type ToolCheck struct {
	Server string          `json:"server" doc:"Name by which the server introduces itself."`
	Tools  []ServerTool    `json:"tools" doc:"The tools that the server lists, each as a node stores it in tools."`
	Uses   []ServerToolUse `json:"uses" doc:"The nodes that store tools of the server."`
}

// ServerTool is the JSON of a tool of a server.
type ServerTool struct {
	Name        string      `json:"name"`
	Description string      `json:"description"`
	Schema      any         `json:"schema" doc:"JSON Schema of the arguments."`
	Effect      flow.Effect `json:"effect" doc:"read or write, as the hints of the server propose."`
	SHA256      string      `json:"sha256" doc:"Of name, description and schema."`
}

// ServerToolUse is the JSON of a node with tools of a server.
type ServerToolUse struct {
	CredentialUse
	Tools []ComparedTool `json:"tools"`
}

// ComparedTool is the JSON of a tool that a node stores.
type ComparedTool struct {
	Name  string         `json:"name"`
	State flow.ToolState `json:"state" doc:"same, changed, or missing at the server."`
	Was   *ServerTool    `json:"was,omitempty" doc:"As the node stores it, if it differs."`
}

// newServerTool returns the JSON of a tool.
func newServerTool(t *flow.ServerTool) ServerTool {
	return ServerTool{Name: t.Name, Description: t.Description, Schema: t.Schema, Effect: t.Effect, SHA256: t.SHA256}
}

// checkTools is POST credentials/name/tools/check.
func (s *Server) checkTools(c *api.Call) error {
	k, err := s.findCredential(c)
	if err != nil {
		return err
	}
	release, err := c.Hold()
	if err != nil {
		return err
	}
	defer release()
	check, err := s.credentials.CheckTools(c.Request().Context(), c.Actor(), k)
	if err != nil {
		return serverFailed(err)
	}
	out := ToolCheck{Server: check.Title, Tools: []ServerTool{}, Uses: []ServerToolUse{}}
	for i := range check.Tools {
		out.Tools = append(out.Tools, newServerTool(&check.Tools[i]))
	}
	for _, u := range check.Uses {
		use := ServerToolUse{CredentialUse: CredentialUse{u.FlowID, u.FlowName, u.Node, u.Live}, Tools: []ComparedTool{}}
		for _, t := range u.Tools {
			compared := ComparedTool{Name: t.Was.Name, State: t.State}
			if t.State != flow.ToolSame {
				was := newServerTool(t.Was)
				compared.Was = &was
			}
			use.Tools = append(use.Tools, compared)
		}
		out.Uses = append(out.Uses, use)
	}
	return c.WriteJSON(http.StatusOK, out)
}

// serverFailed returns the error of a request for that of a server. Its code may be one that only runs have.
func serverFailed(err error) error {
	switch e := flow.AsError(err); e.Code {
	case flow.CodeProviderAuth, flow.CodeProviderRejected, flow.CodeProviderUnavailable, flow.CodeProviderRateLimited, flow.CodeDestinationBlocked, flow.CodeOutputInvalid:
		return flow.Errorf(flow.CodeInputInvalid, "%s", e.Message)
	}
	return err
}
