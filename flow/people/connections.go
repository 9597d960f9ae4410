package people

import (
	"context"
	"fmt"

	"sluice/flow"
	"sluice/flow/audit"
)

// ConnectionStore stores the credentials whose secrets are connections.
type ConnectionStore interface {
	audit.Recorder
	ListCredentials(ctx context.Context, ws flow.WorkspaceID) ([]flow.Credential, error)
	OpenCredential(ctx context.Context, ws flow.WorkspaceID, name string) (flow.Credential, string, error)
	UpdateSecret(ctx context.Context, ws flow.WorkspaceID, name string, change func(secret string) (string, error)) error
}

// Connections are the sign-ins of people to MCP servers. All flows of a workspace act as these people there.
type Connections struct {
	Store     ConnectionStore
	Connector Connector // nil: connections cannot be made
}

// OwnConnection is the connection of a credential.
type OwnConnection struct {
	Credential string
	Connected
}

// Of returns the connections that members of a workspace have made and that work, by the ID of the member. A secret that cannot
// be read is left out: audit.Nothing can be done with its connection either.
func (s *Connections) Of(ctx context.Context, ws flow.WorkspaceID) (map[string][]OwnConnection, error) {
	if s == nil || s.Connector == nil {
		return nil, nil
	}
	list, err := s.Store.ListCredentials(ctx, ws)
	if err != nil {
		return nil, fmt.Errorf("list the connections of %s: %w", ws, err)
	}
	byMember := map[string][]OwnConnection{}
	for i := range list {
		k := &list[i]
		if k.Provider != flow.ProviderMCP {
			continue
		}
		_, secret, err := s.Store.OpenCredential(ctx, ws, k.Name)
		if err != nil {
			continue
		}
		if n := s.Connector.Connected(secret); n != nil && n.Dead == "" {
			byMember[n.By] = append(byMember[n.By], OwnConnection{k.Name, *n})
		}
	}
	return byMember, nil
}

// Why a connection has ended, after "The connection has ended: ".
const (
	endedByMember = "somebody has disconnected it."
	endedByLeave  = "the person who connected it has left the workspace."
	endedByRole   = "the person who connected it may not edit flows any more."
)

// End disconnects a credential, and erases its tokens. What runs with it fails until somebody connects it again. A credential without
// a working connection stays as it is.
func (s *Connections) End(ctx context.Context, by flow.Actor, ws flow.WorkspaceID, name string) error {
	_, secret, err := s.Store.OpenCredential(ctx, ws, name)
	if err != nil {
		return err
	}
	if n := s.Connector.Connected(secret); n == nil || n.Dead != "" {
		return nil
	}
	return s.end(ctx, by, ws, name, endedByMember)
}

func (s *Connections) end(ctx context.Context, by flow.Actor, ws flow.WorkspaceID, name, why string) error {
	return audit.Record(ctx, s.Store, by, audit.Entry(ws, "credential.disconnect", name, ""), func(ctx context.Context) error {
		return s.Store.UpdateSecret(ctx, ws, name, func(secret string) (string, error) { return s.Connector.Disconnect(secret, why), nil })
	})
}

// leaving returns a function that ends the connections of a member, for the transaction in which the member leaves or loses the right
// to connect.
func (s *Connections) leaving(ctx context.Context, ws flow.WorkspaceID, userID, why string, handover flow.KeyHandover) (end func(ctx context.Context) error, err error) {
	if handover.KeepConnections {
		return audit.Nothing, nil
	}
	all, err := s.Of(ctx, ws)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		for _, n := range all[userID] {
			if err := s.end(ctx, handover.By, ws, n.Credential, why); err != nil {
				return err
			}
		}
		return nil
	}, nil
}
