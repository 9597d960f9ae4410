// Package forms is the public forms of flows and the pages of their results, for
// visitors without an account. It shows nothing of a flow but its inputs and
// outputs.
package forms

import (
	"slices"

	"sluice/flow"
	"sluice/handlers/web"
)

// Config is what the room needs beside the site.
type Config struct {
	Runner  web.Runner
	Links   *flow.FileLinks
	MaxFile int64 // bytes of an uploaded file; zero means the store's own limit
}

// Server is the room.
type Server struct {
	*web.Site
	Config
	seals   *flow.FormSeals // signs what visitors are given
	senders *senders        // how often each visitor sent a form of late
}

// New returns the room of a site. Its routes still have to be mounted.
func New(site *web.Site, cfg Config) *Server {
	s := &Server{Site: site, Config: cfg, senders: newSenders()}
	s.seals = s.newSeals()
	return s
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
		s.formRoutes(),
	)
	list := make([]web.Route, len(table))
	for i, r := range table {
		list[i] = web.Route{Method: r.method, Path: r.path, Access: r.access, Handle: func(c *web.Call) error { return r.handle(s.newCall(c)) }}
	}
	return list
}
