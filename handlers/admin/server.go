package admin

import (
	"context"
	"net/http"
	"sync"
	"time"

	"sluice/db"
	"sluice/flow"
	"sluice/flow/cases"
	"sluice/flow/hooks"
	"sluice/flow/library"
	"sluice/flow/people"
	"sluice/handlers/api"
	"sluice/handlers/api/openapi"
)

// Config has what the routes need. All of it is required.
type Config struct {
	Store     *db.Store
	IDs       flow.IDs
	Providers library.Providers
	Catalog   Catalog
	Prices    flow.PriceStore // of workspaces and of the price list
	PriceList PriceList
	Mails     bool                                       // the operator set a mail server
	Schema    func() any                                 // returns the JSON Schema of flow documents; called at most once
	Compile   func(source string, names ...string) error // returns an error for a wrong expression of a webhook
	// Embed embeds a text with the built-in model, and Filter compiles the filter of a search.
	Embed    func(ctx context.Context, ws flow.WorkspaceID, text string) ([]float32, error)
	Filter   func(ctx context.Context, where string) (func(source string, metadata *flow.Object) (bool, error), error)
	Evaluate func(ctx context.Context, source string, variables map[string]any) (any, error) // evaluates an expression of an input of a schedule
	Scope    hooks.Scope                                                                     // evaluates the expressions of incoming webhooks
	// Past finds what a run that has ended gives to a test case.
	Past func(ctx context.Context, run *flow.Run) (*cases.Past, error)
}

// Server serves the routes for an API server.
type Server struct {
	Config
	now         func() time.Time
	kinds       *flow.Registry
	schema      func() []byte // returns the encoded Config.Schema, computed on the first call
	credentials library.Credentials
	limits      library.Limits
	members     people.Members
	prices      library.Prices
	secrets     library.WebhookSecrets
	hooks       library.Hooks
	publicURL   string
	triggers    library.Triggers
	knowledge   library.Knowledge
	serveAs     func(key *flow.Key, w http.ResponseWriter, r *http.Request)
}

// New adds the routes to an API server and to its OpenAPI document.
func New(a *api.Server, cfg Config) *Server {
	s := &Server{Config: cfg, now: a.Now, kinds: a.Kinds, serveAs: a.ServeAs,
		schema:      sync.OnceValue(func() []byte { return flow.EncodeJSON(cfg.Schema()) }),
		credentials: library.Credentials{Store: cfg.Store, Kinds: a.Kinds, Providers: cfg.Providers},
		limits:      library.Limits{Store: cfg.Store}, members: people.Members{Store: cfg.Store, Connections: connectionsOf(cfg)},
		prices: library.Prices{Store: cfg.Store}, secrets: library.WebhookSecrets{Store: cfg.Store},
		publicURL: a.PublicURL, hooks: library.Hooks{Store: cfg.Store, Now: a.Now, IDs: cfg.IDs, Compile: cfg.Compile},
		knowledge: library.Knowledge{Store: cfg.Store, Start: a.Runner.StartRun, Embed: cfg.Embed, Filter: cfg.Filter, Charge: a.Kinds.Find("embed").Charge, Prices: cfg.Prices},
		triggers:  library.Triggers{Store: cfg.Store, IDs: cfg.IDs, Now: a.Now, Start: a.Runner.StartRun, CheckExpression: cfg.Compile, Evaluate: cfg.Evaluate},
	}
	beside := companionServer{&library.Companions{Store: cfg.Store, IDs: cfg.IDs, Now: a.Now, CheckExpression: cfg.Compile, Mails: cfg.Mails, Library: a.Library}}
	told := alarmServer{s, library.Alarms{Store: cfg.Store, IDs: cfg.IDs, Now: a.Now, Mails: cfg.Mails}}
	a.Library.Tests = &library.Tests{Store: cfg.Store, IDs: cfg.IDs, Now: a.Now, Library: a.Library, Start: a.Runner.StartRun, Rerun: a.Runner.Rerun, Past: cfg.Past, CheckExpression: cfg.Compile}
	s.triggers.Tests = a.Library.Tests
	a.Library.Companions = beside.Companions // so that an apply can have files beside flows
	for _, e := range []api.Extension{
		s.usageRoutes(), s.schemaRoutes(), s.keyRoutes(), s.credentialRoutes(), s.userRoutes(),
		s.priceRoutes(), s.limitRoutes(), s.workspaceRoutes(), s.modelRoutes(), s.auditRoutes(), s.webhookRoutes(), s.hookRoutes(), s.triggerRoutes(), knowledgeServer{s}.routes(), triggerRuns{s}.routes(), testServer{s, a.Runner.CancelRun, a.Runner.AwaitRun, a.Library.Tests}.routes(), beside.routes(), told.routes(),
	} {
		a.Extend(e)
	}
	return s
}

// Bodies returns the bodies that commands have flags for.
func Bodies() []openapi.Body {
	return []openapi.Body{
		alarmBody.Doc(), createKeyBody.Doc(), credentialBody.Doc(), credentialLimitBody.Doc(), limitBody.Doc(), priceBody.Doc(), backfillBody.Doc(),
		createKnowledgeBody.Doc(), addDocumentBody.Doc(), searchBody.Doc(), testBody.Doc(), fromRunsBody.Doc(),
	}
}

// queryParam returns the OpenAPI description of an optional query parameter.
func queryParam(name, text string, schema map[string]any) map[string]any {
	return map[string]any{"name": name, "in": "query", "description": text, "schema": schema}
}

// get is the method of routes that read.
const get = http.MethodGet

// connectionsOf returns the sign-ins of people to MCP servers.
func connectionsOf(cfg Config) *people.Connections {
	connector, _ := cfg.Providers.(people.Connector)
	return &people.Connections{Store: cfg.Store, Connector: connector}
}
