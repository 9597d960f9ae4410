package catalog

import (
	"cmp"
	"context"
	"time"

	"sluice/cmd/sluice/upstream"
	"sluice/flow"
	"sluice/flow/people"
	"sluice/mcpclient"
)

var _ people.Connector = (*Credentials)(nil)

// serverOf returns the MCP server of a credential, without its secret.
func serverOf(c *flow.Credential) mcpclient.Server {
	return upstream.ToolServer(flow.Access{Name: c.Name, BaseURL: c.BaseURL, Trusted: c.Trusted})
}

// Discover implements people.Connector.
func (p *Credentials) Discover(ctx context.Context, c flow.Credential) (*people.SignIn, error) {
	a, err := p.upstreams.Servers.Discover(ctx, serverOf(&c))
	if err != nil {
		return nil, mcpclient.AsFlowError(err)
	}
	return &people.SignIn{Issuer: a.Issuer, Authorize: a.Authorize, Token: a.Token, Register: a.Register, Document: a.Document, Hosts: a.Hosts(), Digest: a.Digest(), Addresses: a}, nil
}

// Begin implements people.Connector.
func (p *Credentials) Begin(ctx context.Context, c flow.Credential, s *people.SignIn, b people.ConnectBegin) (change func(secret string) string, address string, err error) {
	a, _ := s.Addresses.(*mcpclient.Addresses)
	client := mcpclient.OAuthClient{ID: b.ClientID, Secret: b.ClientSecret}
	if client.ID == "" && a.Document {
		client.ID = b.Document
	}
	if client.ID == "" {
		if client, err = p.upstreams.Servers.Register(ctx, serverOf(&c), a, b.Redirect); err != nil {
			return nil, "", mcpclient.AsFlowError(err)
		}
	}
	pending, address := mcpclient.Begin(a, client, b.State, b.Session, b.Redirect, time.Now())
	return pending.Put, address, nil
}

// Take implements people.Connector.
func (p *Credentials) Take(c flow.Credential, secret string, a people.ConnectAnswer) (changed string, finish func(ctx context.Context) (string, error), err error) {
	changed, pending, err := mcpclient.Take(secret, a.State, a.Session, time.Now())
	if err != nil {
		return "", nil, mcpclient.AsFlowError(err)
	}
	return changed, func(ctx context.Context) (string, error) {
		if err := pending.CheckIssuer(a.Issuer); err != nil {
			return "", mcpclient.AsFlowError(err)
		}
		if a.Failed != "" || a.Code == "" {
			return "", flow.Errorf(flow.CodeProviderAuth, "%s was not connected: %s", c.Name, cmp.Or(a.Failed, "the answer has no code."))
		}
		connected, err := p.upstreams.Servers.Redeem(ctx, serverOf(&c), pending, a.Code, a.Redirect, a.PersonID)
		if err != nil {
			return "", mcpclient.AsFlowError(err)
		}
		return connected, nil
	}, nil
}

// Connected implements people.Connector.
func (p *Credentials) Connected(secret string) *people.Connected {
	n := mcpclient.ReadConnection(secret)
	if n == nil {
		return nil
	}
	return &people.Connected{Issuer: n.Issuer, By: n.By, At: n.At, Account: n.Account, Scope: n.Granted, Dead: n.Dead}
}

// Disconnect implements people.Connector.
func (p *Credentials) Disconnect(secret, why string) string { return mcpclient.Disconnect(secret, why) }
