// Package editor serves the editor of a flow: the canvas and its edits, the
// inspector, test runs and pins, publishing and versions, the API pane, the
// settings of the public form, and the live events of all pages that have the
// flow open.
//
//   - builder.go renders the page, ops.go applies the edits of the canvas.
//   - builder_events.go streams edits and events to open pages,
//     builder_presence.go exchanges them with other instances.
//   - inspector.go shows one node; inspector_form.go and inspector_members.go
//     read its form when there is no script.
//   - running.go starts test runs, run_events.go streams their progress, data.go
//     shows the values of a node, pins.go replaces them.
//   - publish.go, versions.go and compare.go publish, list and compare versions.
//   - api.go and its parts show how programs call the flow.
//
// A draft has a revision that increases with each transaction of edits. Package
// library validates and logs every edit; this package only converts between it and
// the page. Everything except drawing works without scripts.
package editor

import (
	"context"
	"crypto/rand"
	"net/http"
	"slices"

	"github.com/a-h/templ"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/library"
	"sluice/handlers/web"
	"sluice/views/components"
)

// Runner starts, follows and cancels runs.
type Runner interface {
	web.Runner
	// DraftInputs returns the inputs that a test run of the draft needs. until
	// limits the run to the nodes that this node depends on, unless it is empty.
	// Problems of the draft are the Fields of a flow.Error.
	DraftInputs(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, until string) ([]contract.Input, error)
}

// Config has the dependencies of this package in addition to the site.
type Config struct {
	Library *library.Library
	Runner  Runner
	MaxFile int64 // bytes of an uploaded file; zero means the store's own limit
	Models  web.Models
	// Servers lists the tools of an MCP server and the name by which it introduces itself.
	Servers interface {
		ListTools(ctx context.Context, ws flow.WorkspaceID, credential string) (title string, tools []flow.ServerTool, err error)
	}
	// API serves a request to the HTTP API as if it were authenticated with the
	// given key, which need not be in the store.
	API func(key *flow.Key, w http.ResponseWriter, r *http.Request)
	// Connection describes how the MCP server of a credential is connected; nil if it has no sign-in.
	Connection func(c *web.Call, k *flow.Credential) *components.Connection
	// KeysPanel renders the keys that may call a flow. keys are all keys of the
	// workspace.
	KeysPanel func(c *web.Call, f *flow.Flow, keys []flow.Key) (templ.Component, error)
}

// Server serves the editor.
type Server struct {
	*web.Site
	Config
	editing editing
	name    string // of this instance, in broadcasts
}

// New returns the editor of a site. Mount its Routes to serve them.
func New(site *web.Site, cfg Config) *Server {
	return &Server{Site: site, Config: cfg, name: rand.Text()}
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
		s.builderRoutes(),
		s.inspectorRoutes(),
		s.apiRoutes(),
		s.publishRoutes(),
		s.versionRoutes(),
		s.replacedRoutes(),
		s.runningRoutes(),
		s.formSettingsRoutes(),
	)
	list := make([]web.Route, len(table))
	for i, r := range table {
		list[i] = web.Route{Method: r.method, Path: r.path, Access: r.access, Handle: func(c *web.Call) error { return r.handle(s.newCall(c)) }}
	}
	return list
}

// streaming wraps a handler that sends an event stream. It limits the number of open
// streams per user.
func streaming(handle func(*call) error) func(*call) error {
	return func(c *call) error { return c.CountStream(c.Member.UserID, func() error { return handle(c) }) }
}

// onDraft wraps a handler that needs the draft of the flow in the path.
func onDraft(handle func(*call, *draft) error) func(*call) error {
	return web.With((*call).findDraft, handle)
}
