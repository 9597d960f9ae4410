// Package automation serves the pages of what starts runs without a caller: the triggers of a flow and of a workspace, the dialog of
// a schedule, the page of an incoming webhook, and batches. The rules are those of package library, which the API uses too.
package automation

import (
	"context"
	"io"
	"net/http"
	"slices"
	"time"

	"sluice/documents"
	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/hooks"
	"sluice/flow/library"
	"sluice/flow/schedule"
	"sluice/handlers/web"
)

// Runner starts runs and knows the inputs of drafts.
type Runner interface {
	web.Runner
	DraftInputs(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, until string) ([]contract.Input, error)
}

// Tables opens files that are tables.
type Tables interface {
	OpenRows(ctx context.Context, group, name, mime string, content io.ReadSeeker) (*documents.Rows, error)
}

// Config has the dependencies of this package in addition to the site.
type Config struct {
	Runner    Runner
	Providers library.Providers
	Tables    Tables
	MaxFile   int64                                                                                 // bytes of a table; zero means the store's own limit
	API       func(key *flow.Key, w http.ResponseWriter, r *http.Request)                           // serves a request to the API as if it had been sent with a key
	Inputs    func(ctx context.Context, ws flow.WorkspaceID, hash string) ([]contract.Input, error) // returns those of a stored document
	Library   *library.Library                                                                      // edits drafts
	Receive   func(w http.ResponseWriter, r *http.Request)                                          // serves a request to the URL of a webhook
	Scope     hooks.Scope                                                                           // evaluates the expressions of incoming webhooks
	Compile   func(source string, names ...string) error                                            // returns an error for a wrong expression
	Evaluate  func(ctx context.Context, source string, variables map[string]any) (any, error)       // evaluates an expression of an input of a schedule
}

// Server serves the pages.
type Server struct {
	*web.Site
	Config
	triggers    library.Triggers
	hooks       library.Hooks
	alarms      library.Alarms
	credentials library.Credentials
}

// New returns the pages of a site. Mount its Routes to serve them.
func New(site *web.Site, cfg Config) *Server {
	return &Server{
		Site: site, Config: cfg,
		triggers:    library.Triggers{Store: site.Store, IDs: site.IDs, Now: site.Now, Start: cfg.Runner.StartRun, CheckExpression: cfg.Compile, Evaluate: cfg.Evaluate, Tests: cfg.Library.Tests},
		alarms:      library.Alarms{Store: site.Store, IDs: site.IDs, Now: site.Now, Mails: site.Mail != nil},
		hooks:       library.Hooks{Store: site.Store, Now: site.Now, IDs: site.IDs, Compile: cfg.Compile},
		credentials: library.Credentials{Store: site.Store, Kinds: site.Kinds, Providers: cfg.Providers},
	}
}

// call is one request to this package.
type call struct {
	*web.Call
	s *Server
}

// route is an entry of the route table.
type route struct {
	method, path string
	access       web.Access
	handle       func(*call) error
}

// Routes returns the routes of this package.
func (s *Server) Routes() (list []web.Route) {
	for _, r := range slices.Concat(s.triggerRoutes(), s.hookRoutes(), s.batchRoutes(), s.alarmRoutes()) {
		list = append(list, web.Route{Method: r.method, Path: r.path, Access: r.access, Handle: func(c *web.Call) error { return r.handle(&call{c, s}) }})
	}
	return list
}

// readerZone returns the time zone of the reader, which a script reports with a cookie, or nil.
func (c *call) readerZone() *time.Location {
	cookie, err := c.Cookie("zone")
	if err != nil {
		return nil
	}
	zone, err := schedule.Zone(cookie.Value)
	if err != nil {
		return nil
	}
	return zone
}

// workspaceZone returns the time zone of the workspace, or "" if it is not set.
func (c *call) workspaceZone() (string, error) {
	w, err := c.s.Store.FindWorkspace(c.Ctx(), c.WorkspaceID())
	if err != nil {
		return "", err
	}
	return w.Timezone, nil
}
