// Package handlers assembles the packages beneath it into one HTTP server: the
// API for programs (api, admin, mcp, openai) and the dashboard for people (account, automation, console,
// editor, forms). The API accepts keys and no cookies; the dashboard accepts
// session cookies and no keys, so that a stolen one is useless for the other.
//
// New wires them together and splits requests by path: /v1, /mcp, /livez and
// /readyz go to the API, all others to the dashboard. Package web holds what the
// dashboard packages share. Rules about flows and runs are in package flow.
package handlers

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"sluice/db"
	"sluice/flow"
	testcases "sluice/flow/cases"
	"sluice/flow/filelinks"
	"sluice/flow/hooks"
	"sluice/flow/inflight"
	"sluice/flow/library"
	"sluice/flow/people"
	"sluice/handlers/account"
	"sluice/handlers/admin"
	"sluice/handlers/api"
	"sluice/handlers/automation"
	"sluice/handlers/bases"
	"sluice/handlers/cases"
	"sluice/handlers/console"
	"sluice/handlers/docs"
	"sluice/handlers/editor"
	"sluice/handlers/forms"
	receiver "sluice/handlers/hooks"
	"sluice/handlers/mcp"
	"sluice/handlers/openai"
	"sluice/handlers/web"
	"sluice/outbound/oidc"
)

// Runner starts, follows and ends runs.
type Runner interface {
	api.Runner
	editor.Runner
}

// Config configures the server. Store, Links, Runner, Kinds, Library, Models, Providers and
// Catalog are required.
type Config struct {
	Store  *db.Store
	Links  *filelinks.Signer // signs download links, which need no key
	Runner Runner
	Kinds  *flow.Registry
	// DescribeKinds is for the API.
	DescribeKinds func() any
	FlowSchema    func() any // returns the JSON Schema of flow documents; default accepts everything
	Library       *library.Library
	Models        web.Models
	Providers     console.Providers
	Catalog       admin.Catalog
	Starters      []console.Starter
	Scope         hooks.Scope // evaluates the expressions of incoming webhooks; required for those, like Compile
	Compile       func(source string, names ...string) error
	// Embed embeds a text with the built-in model, and Filter compiles the filter of a search in a knowledge base.
	Embed    func(ctx context.Context, ws flow.WorkspaceID, text string) ([]float32, error)
	Filter   func(ctx context.Context, where string) (func(source string, metadata *flow.Object) (bool, error), error)
	Evaluate func(ctx context.Context, source string, variables map[string]any) (any, error) // evaluates an expression of an input of a schedule

	PublicURL string // scheme and host that clients reach; never taken from the Host header
	Version   string // of Sluice; "" hides it
	// LocalToken authenticates the command line on the same machine. It acts as a
	// key of the default workspace with every scope.
	LocalToken string
	// LocalInfo is the response of GET /v1/local, by which the command line recognizes the server.
	LocalInfo any

	// Exposed reports that other machines can reach the server. Then only the
	// setup page is served until there is an owner.
	Exposed bool
	SignUp  bool // whether anyone may create an account with a workspace

	// SignIn are the identity providers that people sign in with. PasswordsOff lets only the first owner sign in with a
	// password. RequireFactor is the least role that needs a second factor besides a password; "" requires none.
	SignIn        []*oidc.Provider
	PasswordsOff  bool
	RequireFactor flow.MemberRole

	Mail web.Mailer // nil if the operator set no mail server

	// How long a session lasts without use and in total; default 7 and 30 days.
	SessionIdle, SessionMax time.Duration

	// Past finds what a run that has ended gives to a test case.
	Past func(ctx context.Context, run *flow.Run) (*testcases.Past, error)

	// Welcome adds sample flows to a workspace that never had a flow, and returns
	// the one to show first, or "".
	Welcome func(ctx context.Context, ws flow.WorkspaceID) (flowID flow.FlowID, err error)

	// Prices are those of models; default Store, without a price list.
	Prices    flow.PriceStore
	PriceList admin.PriceList // the list behind Prices; default is empty

	MaxInFlight int        // API requests handled at once; default 4096
	MaxHeld     int        // API requests that wait or stream at once; default 8192
	Tables      api.Tables // reads the tables of batches
	MaxFile     int64      // bytes of an uploaded file; 0 means the default of each package

	Memory *inflight.Budget // of large bodies; nil is unlimited

	Log *slog.Logger     // default discards
	Now func() time.Time // default time.Now
}

// Server is the handler of the HTTP server. Call Drain to end requests that wait or
// stream, and Close at the end.
type Server struct {
	*web.Edge
	Site    *web.Site
	API     *api.Server
	MCP     *mcp.Server
	Account *account.Server
	Console *console.Server
	Docs    *docs.Server
	Editor  *editor.Server
	Forms   *forms.Server
	Hooks   *receiver.Server

	Automation *automation.Server
	Bases      *bases.Server
	Cases      *cases.Server
}

// New returns the server and starts recording the use of keys.
func New(cfg Config) *Server {
	s := &Server{}
	if cfg.Prices == nil {
		cfg.Prices = cfg.Store
	}
	if cfg.PriceList == nil {
		cfg.PriceList = noPrices{}
	}
	if cfg.FlowSchema == nil {
		cfg.FlowSchema = func() any { return map[string]any{} }
	}
	s.Site = web.New(web.Config{
		Store: cfg.Store, Kinds: cfg.Kinds, Version: cfg.Version, PublicURL: cfg.PublicURL, Exposed: cfg.Exposed, SignUp: cfg.SignUp, Mail: cfg.Mail,
		PasswordsOff: cfg.PasswordsOff, RequireFactor: cfg.RequireFactor,
		SessionIdle: cfg.SessionIdle, SessionMax: cfg.SessionMax, Memory: cfg.Memory, Log: cfg.Log, Now: cfg.Now,
	})
	connector, _ := cfg.Providers.(people.Connector)
	s.Account = account.New(s.Site, account.Config{Welcome: cfg.Welcome, Providers: cfg.SignIn, Connector: connector})
	apiConfig := api.Config{
		Store: cfg.Store, Files: cfg.Store, Links: cfg.Links, Runner: cfg.Runner, Kinds: cfg.Kinds, DescribeKinds: cfg.DescribeKinds, Library: cfg.Library, PublicURL: cfg.PublicURL, Version: cfg.Version,
		LocalToken: cfg.LocalToken, LocalInfo: cfg.LocalInfo, MaxInFlight: cfg.MaxInFlight, MaxHeld: cfg.MaxHeld, MaxFile: cfg.MaxFile, Tables: cfg.Tables, Memory: cfg.Memory, Log: cfg.Log, Now: cfg.Now,
	}
	if cfg.Exposed {
		apiConfig.AwaitsOwner = s.Account.AwaitsOwner
	}
	s.API = api.New(apiConfig)
	s.MCP = mcp.New(s.API)
	openai.New(s.API)
	admin.New(s.API, admin.Config{
		Store: cfg.Store, IDs: s.Site.IDs, Mails: cfg.Mail != nil, Providers: cfg.Providers, Catalog: cfg.Catalog, Prices: cfg.Prices, PriceList: cfg.PriceList, Schema: cfg.FlowSchema, Compile: cfg.Compile, Evaluate: cfg.Evaluate, Scope: cfg.Scope, Embed: cfg.Embed, Filter: cfg.Filter, Past: cfg.Past,
	})
	s.Docs = docs.New(s.Site, s.API.ServeAs)
	s.Console = console.New(s.Site, console.Config{
		Library: cfg.Library, Runner: cfg.Runner, Models: cfg.Models, Providers: cfg.Providers, Links: cfg.Links,
		Starters: cfg.Starters, FindDocs: s.Docs.Find, Prices: cfg.Prices,
	})
	s.Editor = editor.New(s.Site, editor.Config{
		Library: cfg.Library, Runner: cfg.Runner, MaxFile: cfg.MaxFile, Models: cfg.Models, Servers: cfg.Providers,
		API: s.API.ServeAs, KeysPanel: s.Console.KeysPanel, Connection: s.Console.Connection,
	})
	s.Forms = forms.New(s.Site, forms.Config{Runner: cfg.Runner, Library: cfg.Library, Links: cfg.Links, MaxFile: cfg.MaxFile})
	s.Hooks = receiver.New(s.Site, receiver.Config{Runner: cfg.Runner, Scope: cfg.Scope, MaxFile: cfg.MaxFile})
	var pages http.Handler
	s.Automation = automation.New(s.Site, automation.Config{Runner: cfg.Runner, Providers: cfg.Providers, Tables: cfg.Tables, MaxFile: cfg.MaxFile, API: s.API.ServeAs, Scope: cfg.Scope, Compile: cfg.Compile, Evaluate: cfg.Evaluate, Library: cfg.Library,
		Inputs: s.API.Outlines.Inputs, Receive: func(w http.ResponseWriter, r *http.Request) { pages.ServeHTTP(w, r) }})
	s.Bases = bases.New(s.Site, bases.Config{Runner: cfg.Runner, MaxFile: cfg.MaxFile, Embed: cfg.Embed, Filter: cfg.Filter, API: s.API.ServeAs, Prices: cfg.Prices})
	s.Cases = cases.New(s.Site, cases.Config{Library: cfg.Library, Runner: cfg.Runner, Prices: cfg.Prices, MaxFile: cfg.MaxFile, API: s.API.ServeAs})
	for _, room := range []interface{ Routes() []web.Route }{s.Account, s.Automation, s.Bases, s.Cases, s.Console, s.Docs, s.Editor, s.Forms, s.Hooks} {
		s.Site.Mount(room.Routes())
	}
	pages = s.Site.Handler(s.Account.Guard)
	s.Edge = web.NewEdge(web.SplitAPI(s.API, pages), cfg.PublicURL)
	if cfg.Links != nil {
		s.CallerKey = cfg.Links.Key
	}
	return s
}

// noPrices is an empty price list, the default of Config.PriceList.
type noPrices struct{}

func (noPrices) About() (source, date string)          { return "", "" }
func (noPrices) Search(string, time.Time) []flow.Price { return nil }

// Leave makes /readyz report that this process is shutting down, so that load
// balancers stop sending requests. All other requests are still served.
func (s *Server) Leave() { s.API.Leave() }

// Drain ends event streams and answers requests that wait for a run with the run
// as it is. It may be called more than once.
func (s *Server) Drain() {
	s.Site.Drain()
	s.API.Drain()
}

// Close drains and records the last use of keys.
func (s *Server) Close() error {
	s.Site.Drain()
	return s.API.Close()
}

// RunEnded returns the type and the data of the webhook message for a run that
// has ended.
func (s *Server) RunEnded(run *flow.Run) (typ string, data []byte) { return s.API.RunEnded(run) }

// FlowEdited notifies open editors of a flow that its draft has a new revision. The
// store calls it after each commit, by this process or another.
func (s *Server) FlowEdited(ws flow.WorkspaceID, flowID flow.FlowID, rev int64) {
	s.Editor.FlowEdited(string(ws), flowID, rev)
}

// OnBroadcast handles a message that another instance broadcast. It returns
// immediately.
func (s *Server) OnBroadcast(topic, text string) {
	s.MCP.OnBroadcast(topic, text)
	s.Editor.HandleBroadcast(topic, text)
}
