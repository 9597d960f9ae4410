// Package console serves the dashboard outside the editor: the lists of flows
// and runs, the page of a run, keys, credentials, webhooks and deliveries,
// usage, limits, the audit log and models.
//
// Each noun has a file with its routes, handlers and conversions: flows.go,
// runs_list.go, run.go, keys.go, credentials.go, webhooks.go, deliveries.go and
// so on, with suffixes for parts (keys_form.go, run_steps.go). A handler reads
// the request, calls the store or the library of the domain, converts the result
// to the struct of its page in views/console, and renders it.
//
//   - A form that is refused is rendered again with status 422, what was typed,
//     and a message per field.
//   - A form that succeeds redirects. Secrets that are shown once are the
//     exception: they are in the response itself.
//   - Lists read their filter from the query and ignore values they do not know.
//
// Rules about flows, runs and keys belong to package flow and its packages; SQL
// belongs to db.
package console

import (
	"slices"

	"sluice/docs"
	"sluice/flow"
	"sluice/flow/filelinks"
	"sluice/flow/library"
	"sluice/handlers/web"
)

// Config is what this package needs in addition to the site.
type Config struct {
	Library   *library.Library
	Runner    web.Runner
	Models    web.Models
	Providers Providers
	Links     *filelinks.Signer
	Starters  []Starter
	Prices    flow.PriceStore // of workspaces and of the price list
	// FindDocs returns at most n sections of the documentation that match a query, the best
	// first, for the command palette.
	FindDocs func(query string, n int) []docs.Hit
}

// Server serves the dashboard outside the editor.
type Server struct {
	*web.Site
	Config
}

// New returns the console of a site. Mount its Routes to serve them.
func New(site *web.Site, cfg Config) *Server {
	return &Server{Site: site, Config: cfg}
}

// call is one request to this package.
type call struct {
	*web.Call
	s *Server
}

// newCall gives the handlers, which are methods of call, access to this server.
func (s *Server) newCall(c *web.Call) *call { return &call{c, s} }

// route is a line of the table of routes.
type route struct {
	method, path string
	access       web.Access
	handle       func(*call) error
}

// Routes returns the routes of this package.
func (s *Server) Routes() []web.Route {
	table := slices.Concat(
		s.flowRoutes(),
		s.runRoutes(),
		s.runListRoutes(),
		s.usageRoutes(),
		s.limitRoutes(),
		s.findRoutes(),
		s.credentialRoutes(),
		s.deliveryRoutes(),
		s.webhookRoutes(),
		s.keyRoutes(),
		s.modelRoutes(),
		s.auditRoutes(),
	)
	list := make([]web.Route, len(table))
	for i, r := range table {
		list[i] = web.Route{Method: r.method, Path: r.path, Access: r.access, Handle: func(c *web.Call) error { return r.handle(s.newCall(c)) }}
	}
	return list
}

// streaming wraps a handler that holds its response open. It limits how many of
// them a user may have.
func streaming(handle func(*call) error) func(*call) error {
	return func(c *call) error { return c.CountStream(c.Member.UserID, func() error { return handle(c) }) }
}

// onRun wraps a handler that needs the run of the path.
func onRun(handle func(*call, *flow.Run) error) func(*call) error {
	return web.With((*call).findRun, handle)
}
