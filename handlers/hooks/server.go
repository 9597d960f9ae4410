// Package hooks receives requests of other services at the URLs of triggers: it checks who sent them, records what happened as an
// event, starts runs, and answers.
//
// Senders learn no more than a code. Why a request was rejected is in the log of events, which members read.
package hooks

import (
	"net/http"

	"sluice/flow/cache"
	"sluice/flow/hooks"
	"sluice/handlers/web"
)

// Config has the dependencies of this package in addition to the site.
type Config struct {
	Runner  web.Runner
	Scope   hooks.Scope // evaluates expressions
	MaxFile int64       // bytes of a file of a form; zero means the store's own limit
}

// Server receives requests.
type Server struct {
	*web.Site
	Config
	rates    *web.RateLimiters             // by trigger
	outlines cache.Cache[string, *outline] // by workspace and hash of the document
	lookups  *lookups
}

// New returns the receiver of a site. Mount its Routes to serve them.
func New(site *web.Site, cfg Config) *Server {
	return &Server{Site: site, Config: cfg, rates: web.NewRateLimiters(), outlines: cache.New[string, *outline](cachedOutlines),
		lookups: &lookups{find: site.Store.FindHook, reads: map[string]*lookup{}}}
}

// Routes returns the routes of this package.
func (s *Server) Routes() []web.Route {
	handle := func(c *web.Call) error { return (&call{Call: c, s: s}).serve() }
	var routes []web.Route
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodGet, http.MethodDelete} {
		routes = append(routes, web.Route{Method: method, Path: "/h/:token", Access: web.Open, Handle: handle})
	}
	return routes
}
