// Package forms serves the public forms of flows and the pages of their results
// to visitors without an account. Visitors see the inputs and outputs of a flow,
// and nothing else about it or its workspace.
//
//   - forms.go finds the form of a request, forms_show.go shows and submits it.
//   - forms_inputs.go checks inputs and rate limits, forms_text.go has the
//     messages for visitors.
//   - chat.go serves flows with a conversation as a chat.
//   - forms_password.go protects a form with a password.
//   - forms_result.go and forms_events.go show the run that a visitor started.
//   - approvals.go serves the questions of waiting runs, by a link or for members.
//
// A ticket, which is a signed value in the URL of the result, proves that a visitor
// started the run. No session is needed.
package forms

import (
	"slices"

	"sluice/flow/filelinks"
	"sluice/flow/forms"
	"sluice/flow/library"
	"sluice/handlers/web"
)

// Config has the dependencies of this package in addition to the site.
type Config struct {
	Runner  web.Runner
	Library *library.Library // records answers to approvals
	Links   *filelinks.Signer
	MaxFile int64 // bytes of an uploaded file; zero means the store's own limit
}

// Server serves the public forms.
type Server struct {
	*web.Site
	Config
	seals        *forms.Seals      // signs tickets and password cookies
	rateLimiters *web.RateLimiters // by form and address
}

// New returns the forms of a site. Mount its Routes to serve them.
func New(site *web.Site, cfg Config) *Server {
	s := &Server{Site: site, Config: cfg, rateLimiters: web.NewRateLimiters()}
	s.seals = s.newSeals()
	return s
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
		s.formRoutes(),
		s.approvalRoutes(),
	)
	list := make([]web.Route, len(table))
	for i, r := range table {
		list[i] = web.Route{Method: r.method, Path: r.path, Access: r.access, Handle: func(c *web.Call) error { return r.handle(s.newCall(c)) }}
	}
	return list
}
