package admin

import (
	"net/http"
	"sync"
	"time"

	"sluice/db"
	"sluice/flow"
	"sluice/flow/library"
	"sluice/handlers/api"
)

// Config has what the routes need. All of it is required.
type Config struct {
	Store     *db.Store
	IDs       flow.IDs
	Providers library.Providers
	Catalog   Catalog
	Prices    flow.PriceStore // of workspaces and of the price list
	PriceList PriceList
	Schema    func() any // returns the JSON Schema of flow documents; called at most once
}

// Server serves the routes for an API server.
type Server struct {
	Config
	now         func() time.Time
	kinds       *flow.Registry
	schema      func() []byte // returns the encoded Config.Schema, computed on the first call
	credentials library.Credentials
	limits      library.Limits
	members     library.Members
	prices      library.Prices
	secrets     library.WebhookSecrets
}

// New adds the routes to an API server and to its OpenAPI document.
func New(a *api.Server, cfg Config) *Server {
	s := &Server{Config: cfg, now: a.Now, kinds: a.Kinds,
		schema:      sync.OnceValue(func() []byte { return flow.EncodeJSON(cfg.Schema()) }),
		credentials: library.Credentials{Store: cfg.Store, Kinds: a.Kinds, Providers: cfg.Providers},
		limits:      library.Limits{Store: cfg.Store}, members: library.Members{Store: cfg.Store},
		prices: library.Prices{Store: cfg.Store}, secrets: library.WebhookSecrets{Store: cfg.Store},
	}
	for _, e := range []api.Extension{
		s.usageRoutes(), s.schemaRoutes(), s.keyRoutes(), s.credentialRoutes(), s.userRoutes(),
		s.priceRoutes(), s.limitRoutes(), s.workspaceRoutes(), s.modelRoutes(), s.auditRoutes(), s.webhookRoutes(),
	} {
		a.Extend(e)
	}
	return s
}

// queryParam returns the OpenAPI description of an optional query parameter.
func queryParam(name, text string, schema map[string]any) map[string]any {
	return map[string]any{"name": name, "in": "query", "description": text, "schema": schema}
}

// get is the method of routes that read.
const get = http.MethodGet
