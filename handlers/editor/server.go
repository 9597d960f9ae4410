// Package editor is the builder: the canvas and its edits, the inspector, runs of
// the draft, pins, publishing and versions, the pane for callers of the API, and
// the live events of everybody who has a flow open.
package editor

import (
	"context"
	"crypto/rand"
	"net/http"
	"slices"
	"time"

	"github.com/a-h/templ"

	"sluice/flow"
	"sluice/flow/library"
	"sluice/handlers/web"
)

// Store is what the room reads and changes. What is missing is an Error of
// CodeNotFound.
type Store interface {
	CountVersionRuns(ctx context.Context, ws, flowID string, since time.Time) (runs map[int64]int64, whole bool, err error)
	FindDocument(ctx context.Context, ws, hash string) ([]byte, error)
	FindFiles(ctx context.Context, ws string, ids []string) (map[string]*flow.File, error)
	FindFlow(ctx context.Context, ws, flowID string) (*flow.Flow, error)
	FindForm(ctx context.Context, flowID string) (*flow.Form, error)
	FindMember(ctx context.Context, ws, userID string) (*flow.Member, error)
	FindRun(ctx context.Context, ws, flowID, runID string) (*flow.Run, error)
	FindSteps(ctx context.Context, ws, runID string) ([]flow.Step, error)
	ListCallers(ctx context.Context, ws, flowID string, since time.Time) ([]flow.Caller, error)
	ListCredentials(ctx context.Context, ws string) ([]flow.Credential, error)
	ListKeys(ctx context.Context, ws string) ([]flow.Key, error)
	ListPins(ctx context.Context, ws, flowID string) ([]flow.Pin, error)
	ListRunRows(ctx context.Context, c flow.RunChoice) (flow.RunPage, error)
	ListRuns(ctx context.Context, f flow.RunFilter) ([]flow.Run, error)
	ListVersions(ctx context.Context, ws, flowID string) ([]flow.Version, error)
	RemovePin(ctx context.Context, ws, flowID, node string) error
	SaveForm(ctx context.Context, f *flow.Form) error
	SavePin(ctx context.Context, ws, flowID string, p flow.Pin) error
	Broadcast(ctx context.Context, topic, text string) error
}

// Runner starts, follows and ends runs.
type Runner interface {
	web.Runner
	// TrialInputs returns the inputs that a test run of the draft asks for;
	// problems of the draft are the Fields of an error.
	TrialInputs(ctx context.Context, ws, flowID, until string) ([]flow.Input, error)
}

// Config is what the room needs beside the site.
type Config struct {
	Store   Store
	Library *library.Library
	Runner  Runner
	Files   flow.FileStore
	MaxFile int64 // bytes of an uploaded file; zero means the store's own limit
	Models  web.Models
	// API answers a request to the HTTP API as if it bore the key, which need not
	// be in the store.
	API func(key *flow.Key, w http.ResponseWriter, r *http.Request)
	// KeysPanel renders the keys that may call a flow, out of all keys of the
	// workspace.
	KeysPanel func(c *web.Call, f *flow.Flow, keys []flow.Key) (templ.Component, error)
}

// Server is the room.
type Server struct {
	*web.Site
	Config
	editing editing
	name    string // of this instance, in messages to the others
}

// New returns the room of a site. Its routes still have to be mounted.
func New(site *web.Site, cfg Config) *Server {
	return &Server{Site: site, Config: cfg, name: rand.Text()}
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
		s.builderRoutes(),
		s.inspectorRoutes(),
		s.apiRoutes(),
		s.publishRoutes(),
		s.versionRoutes(),
		s.runningRoutes(),
		s.formSettingsRoutes(),
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
