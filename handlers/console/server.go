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
//   - An invalid form is rendered again with status 422, the submitted values, and a
//     message per field.
//   - A form that succeeds redirects. Secrets that are shown once are the
//     exception: they are in the response itself.
//   - Lists read their filter from the query and ignore unknown values.
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

// Config has the dependencies of this package in addition to the site.
type Config struct {
	Library   *library.Library
	Runner    web.Runner
	Models    web.Models
	Providers Providers
	Links     *filelinks.Signer
	Starters  []Starter
	Prices    flow.PriceStore // prices of the workspace and of the price list
	// FindDocs returns at most n sections of the documentation that match a query, best
	// match first.
	FindDocs func(query string, n int) []docs.Hit
}

// Server serves the dashboard outside the editor.
type Server struct {
	*web.Site
	Config
	credentials library.Credentials
	deliveries  library.Deliveries
	limits      library.Limits
	runs        library.Runs
	secrets     library.WebhookSecrets
}

// New returns the console of a site. Mount its Routes to serve them.
func New(site *web.Site, cfg Config) *Server {
	return &Server{
		Site: site, Config: cfg,
		credentials: library.Credentials{Store: site.Store, Kinds: site.Kinds, Providers: cfg.Providers},
		deliveries:  library.Deliveries{Store: site.Store}, limits: library.Limits{Store: site.Store},
		runs: library.Runs{Store: site.Store, Runner: cfg.Runner}, secrets: library.WebhookSecrets{Store: site.Store},
	}
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

// streaming wraps a handler that keeps its response open. It limits the number of
// such responses per user.
func streaming(handle func(*call) error) func(*call) error {
	return func(c *call) error { return c.CountStream(c.Member.UserID, func() error { return handle(c) }) }
}

// onRun wraps a handler that needs the run of the path.
func onRun(handle func(*call, *flow.Run) error) func(*call) error {
	return web.With((*call).findRun, handle)
}
