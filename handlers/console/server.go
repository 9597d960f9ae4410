// Package console is the dashboard outside the builder: the lists of flows and
// runs, the page of a run, keys, credentials, webhooks and deliveries, usage,
// limits, the audit log, models and the documentation.
package console

import (
	"net/http"
	"slices"
	"sync"

	"sluice/flow"
	"sluice/flow/library"
	"sluice/handlers/web"
)

// Config is what the room needs beside the site.
type Config struct {
	Library   *library.Library
	Runner    web.Runner
	Models    web.Models
	Providers Providers
	Links     *flow.FileLinks
	Starters  []Starter
	// API answers a request to the HTTP API as if it bore the key, which need not
	// be in the store.
	API func(key *flow.Key, w http.ResponseWriter, r *http.Request)
}

// Server is the room.
type Server struct {
	*web.Site
	Config
	docs func() (*shelf, error) // read on first use
}

// New returns the room of a site. Its routes still have to be mounted.
func New(site *web.Site, cfg Config) *Server {
	s := &Server{Site: site, Config: cfg}
	s.docs = sync.OnceValues(s.newShelf)
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
		s.flowRoutes(),
		s.runRoutes(),
		s.runListRoutes(),
		s.usageRoutes(),
		s.limitRoutes(),
		s.credentialRoutes(),
		s.deliveryRoutes(),
		s.webhookRoutes(),
		s.keyRoutes(),
		s.modelRoutes(),
		s.auditRoutes(),
		s.docsRoutes(),
	)
	list := make([]web.Route, len(table))
	for i, r := range table {
		list[i] = web.Route{Method: r.method, Path: r.path, Access: r.access, Handle: func(c *web.Call) error { return r.handle(s.newCall(c)) }}
	}
	return list
}

// streaming wraps a handler that sends an event stream.
func streaming(handle func(*call) error) func(*call) error {
	return func(c *call) error { return c.CountStream(c.Member.UserID, func() error { return handle(c) }) }
}

// onRun wraps a handler that needs the run of the path.
func onRun(handle func(*call, *flow.Run) error) func(*call) error {
	return web.With((*call).findRun, handle)
}
