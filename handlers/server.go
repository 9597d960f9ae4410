// Package handlers assembles the rooms of the HTTP edge into one server: the
// API for programs and the dashboard for people. The API knows no sessions and
// the dashboard no keys, so that neither can stand in for the other. It decides
// nothing about flows and runs.
package handlers

import (
	"context"
	"log/slog"
	"time"

	"sluice/db"
	"sluice/flow"
	"sluice/flow/library"
	"sluice/handlers/account"
	"sluice/handlers/api"
	"sluice/handlers/console"
	"sluice/handlers/editor"
	"sluice/handlers/forms"
	"sluice/handlers/web"
)

// Runner starts, follows and ends runs.
type Runner interface {
	api.Runner
	editor.Runner
}

// Config configures the server. Store, Links, Runner, Kinds, Library, Models and
// Providers are required.
type Config struct {
	Store     *db.Store
	Links     *flow.FileLinks // signs links to files for clients without a key
	Runner    Runner
	Kinds     *flow.Registry
	Library   *library.Library
	Models    web.Models
	Providers console.Providers
	Starters  []console.Starter

	PublicURL string // scheme and host that clients reach; never taken from the Host header
	Version   string // of the program; "" hides it
	// LocalToken lets the command line on the same machine in: a request
	// bearing it acts as a key of the default workspace with every scope.
	LocalToken string

	// Exposed tells that other machines reach the server: then nothing but set-up
	// is served before there is an owner.
	Exposed bool
	SignUp  bool // anybody may create an account with a workspace of their own

	// How long a session lasts without use and in total; default 7 and 30 days.
	SessionIdle, SessionMax time.Duration

	// Welcome gives a workspace its first flows, unless it had some, and returns
	// the one to show first; "" when there is none.
	Welcome func(ctx context.Context, ws string) (flowID string, err error)

	MaxInFlight int   // API requests worked on at once; default 4096
	MaxHeld     int   // API requests that wait or stream at once; default 8192
	MaxFile     int64 // bytes of an uploaded file; zero means the rooms' defaults

	Log *slog.Logger     // default discards
	Now func() time.Time // default time.Now
}

// Server is the HTTP server's handler. Drain ends what waits, Close ends it.
type Server struct {
	*web.Edge
	Site    *web.Site
	API     *api.Server
	Account *account.Server
	Console *console.Server
	Editor  *editor.Server
	Forms   *forms.Server
}

// New returns the server and starts recording the use of keys.
func New(cfg Config) *Server {
	s := &Server{}
	s.Site = web.New(web.Config{
		Store: cfg.Store, Kinds: cfg.Kinds, Version: cfg.Version, PublicURL: cfg.PublicURL, Exposed: cfg.Exposed, SignUp: cfg.SignUp,
		SessionIdle: cfg.SessionIdle, SessionMax: cfg.SessionMax, Log: cfg.Log, Now: cfg.Now,
	})
	s.Account = account.New(s.Site, account.Config{Welcome: cfg.Welcome})
	apiConfig := api.Config{
		Store: cfg.Store, Files: cfg.Store, Links: cfg.Links, Runner: cfg.Runner, Kinds: cfg.Kinds, PublicURL: cfg.PublicURL, Version: cfg.Version,
		LocalToken: cfg.LocalToken, MaxInFlight: cfg.MaxInFlight, MaxHeld: cfg.MaxHeld, MaxFile: cfg.MaxFile, Log: cfg.Log, Now: cfg.Now,
	}
	if cfg.Exposed {
		apiConfig.AwaitsOwner = s.Account.AwaitsOwner
	}
	s.API = api.New(apiConfig)
	s.Console = console.New(s.Site, console.Config{
		Library: cfg.Library, Runner: cfg.Runner, Models: cfg.Models, Providers: cfg.Providers, Links: cfg.Links,
		Starters: cfg.Starters, API: s.API.ServeAs,
	})
	s.Editor = editor.New(s.Site, editor.Config{
		Library: cfg.Library, Runner: cfg.Runner, MaxFile: cfg.MaxFile, Models: cfg.Models,
		API: s.API.ServeAs, KeysPanel: s.Console.KeysPanel,
	})
	s.Forms = forms.New(s.Site, forms.Config{Runner: cfg.Runner, Links: cfg.Links, MaxFile: cfg.MaxFile})
	for _, room := range []interface{ Routes() []web.Route }{s.Account, s.Console, s.Editor, s.Forms} {
		s.Site.Mount(room.Routes())
	}
	s.Edge = web.NewEdge(web.SplitAPI(s.API, s.Site.Handler(s.Account.Guard)), cfg.PublicURL)
	return s
}

// Leave makes /readyz report that this process shuts down. Everything else is
// served as before.
func (s *Server) Leave() { s.API.Leave() }

// Drain ends event streams and answers held requests with what there is. It may
// be called more than once.
func (s *Server) Drain() {
	s.Site.Drain()
	s.API.Drain()
}

// Close drains and records the last use of keys.
func (s *Server) Close() error {
	s.Site.Drain()
	return s.API.Close()
}

// RunEnded returns the type and the data of the webhook message about a run
// that has ended.
func (s *Server) RunEnded(run *flow.Run) (typ string, data []byte) { return s.API.RunEnded(run) }

// FlowEdited notifies the pages that show a flow that its draft has changed. The
// store calls it after each commit, of this process or another's.
func (s *Server) FlowEdited(ws, flowID string, rev int64) { s.Editor.FlowEdited(ws, flowID, rev) }

// Hear receives what other instances broadcast.
func (s *Server) Hear(topic, text string) {
	s.API.Hear(topic, text)
	s.Editor.Hear(topic, text)
}
