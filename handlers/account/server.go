// Package account serves the pages about users: set-up, sign-in and sign-up,
// passwords, sessions, invitations, members and workspaces. It does not depend on
// flows.
//
// Links for invitations, password resets and set-up contain a random token; only
// its hash is stored. Attempts to guess passwords, links or accounts
// are counted per account and per network, and slowed down; responses do not
// disclose which accounts exist. Sessions belong to package web.
package account

import (
	"context"
	"slices"
	"sync/atomic"

	"sluice/flow"
	"sluice/flow/people"
	"sluice/handlers/web"
	"sluice/outbound/oidc"
)

// Config has the dependencies of this package in addition to the site.
type Config struct {
	// Welcome adds the first flows to a workspace without flows, and returns the ID of
	// the flow to show first, or "". It may be nil.
	Welcome func(ctx context.Context, ws flow.WorkspaceID) (flowID flow.FlowID, err error)
	// Providers are the identity providers that people sign in with.
	Providers []*oidc.Provider
	// Connector ends the connections of members who leave; may be nil.
	Connector people.Connector
}

// Server serves users and workspaces.
type Server struct {
	*web.Site
	Config
	members     people.Members
	connections *people.Connections
	workspaces  people.Workspaces
	sessions    people.Sessions
	identities  people.Identities
	factors     people.Factors
	hasOwner    atomic.Bool // set once a user is known to exist
}

// New returns the account pages of a site. Mount its Routes to serve them.
func New(site *web.Site, cfg Config) *Server {
	connections := &people.Connections{Store: site.Store, Connector: cfg.Connector}
	return &Server{Site: site, Config: cfg, connections: connections, members: people.Members{Store: site.Store, Connections: connections}, workspaces: people.Workspaces{Store: site.Store}, sessions: people.Sessions{Store: site.Store},
		identities: people.Identities{Store: site.Store, Connections: connections}, factors: people.Factors{Store: site.Store}}
}

// call is one request to this package.
type call struct {
	*web.Call
	s *Server
}

// newCall wraps a request of the site.
func (s *Server) newCall(c *web.Call) *call { return &call{c, s} }

// route is an entry of the route table.
type route struct {
	method, path string
	access       web.Access
	handle       func(*call) error
}

// Routes returns the routes of this package.
func (s *Server) Routes() []web.Route {
	table := slices.Concat(
		s.setUpRoutes(),
		s.signInRoutes(),
		s.providerRoutes(),
		s.stepRoutes(),
		s.factorRoutes(),
		s.signUpRoutes(),
		s.passwordRoutes(),
		s.inviteRoutes(),
		s.settingsRoutes(),
		s.memberRoutes(),
		s.sessionRoutes(),
		s.workspaceRoutes(),
	)
	list := make([]web.Route, len(table))
	for i, r := range table {
		list[i] = web.Route{Method: r.method, Path: r.path, Access: r.access, Handle: func(c *web.Call) error { return r.handle(s.newCall(c)) }}
	}
	return list
}
