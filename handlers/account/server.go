// Package account is how people come in and what is theirs: set-up, sign-in and
// sign-up, passwords, sessions, invitations, members and workspaces. It knows
// nothing of flows.
package account

import (
	"context"
	"slices"
	"sync/atomic"

	"sluice/handlers/web"
)

// Config is what the room needs beside the site.
type Config struct {
	// Welcome gives a workspace its first flows, unless it had some, and returns
	// the one to show first; "" when there is none.
	Welcome func(ctx context.Context, ws string) (flowID string, err error)
}

// Server is the room.
type Server struct {
	*web.Site
	Config
	owned atomic.Bool // somebody has an account
}

// New returns the room of a site. Its routes still have to be mounted.
func New(site *web.Site, cfg Config) *Server {
	return &Server{Site: site, Config: cfg}
}

// call is one request to this room.
type call struct {
	*web.Call
	s *Server
}

func (s *Server) newCall(c *web.Call) *call { return &call{c, s} }

// route is a line of the room's table of routes.
type route struct {
	method, path string
	access       web.Access
	handle       func(*call) error
}

// Routes returns the routes of the room.
func (s *Server) Routes() []web.Route {
	table := slices.Concat(
		s.setUpRoutes(),
		s.signInRoutes(),
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
