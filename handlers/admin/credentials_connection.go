package admin

import (
	"net/url"

	"sluice/flow"
	"sluice/flow/wording"
	"sluice/handlers/api"
)

// States of a connection.
const (
	stateConnected    = "connected"
	stateReconnect    = "reconnect"
	stateNotConnected = "not_connected"
)

// Connection is the JSON of a person's sign-in to an MCP server. It has no token.
type Connection struct {
	State       string    `json:"state" doc:"connected; reconnect if it has ended, for the reason; not_connected if nobody signed in, such as for a server that takes a token or needs none."`
	Reason      string    `json:"reason" doc:"Why it has ended, for people. Empty unless the state is reconnect."`
	Issuer      string    `json:"issuer" doc:"Where the person signed in; empty if nobody did."`
	ConnectedBy string    `json:"connected_by" doc:"ID of the person. All flows of the workspace act as that person on the server."`
	ConnectedAt *api.Time `json:"connected_at"`
	URL         string    `json:"url" doc:"The page of the dashboard on which a person connects, or connects again."`
}

// connectionOf describes the connection of a credential, or returns nil for a credential of another provider.
func connectionOf(s *Server, k *flow.Credential, secret string) *Connection {
	if k.Provider != flow.ProviderMCP || s.members.Connections.Connector == nil {
		return nil
	}
	o := &Connection{State: stateNotConnected, URL: s.publicURL + "/credentials/" + url.PathEscape(k.Name)}
	if n := s.members.Connections.Connector.Connected(secret); n != nil {
		at := api.Time(n.At)
		o.State, o.Issuer, o.ConnectedBy, o.ConnectedAt = stateConnected, n.Issuer, n.By, &at
		if n.Dead != "" {
			o.State, o.Reason = stateReconnect, wording.Sentence(n.Dead)
		}
	}
	return o
}

// disconnect is DELETE credentials/name/connection.
func (s *Server) disconnect(c *api.Call) error {
	k, err := s.findCredential(c)
	if err != nil {
		return err
	}
	if k.Provider != flow.ProviderMCP || s.members.Connections.Connector == nil {
		return flow.Errorf(flow.CodeInputInvalid, "Only MCP servers are connected by signing in. %s is something else.", k.Name)
	}
	if err := s.members.Connections.End(c.Request().Context(), c.Actor(), k.WorkspaceID, k.Name); err != nil {
		return err
	}
	return s.showCredential(c)
}
