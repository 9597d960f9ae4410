package admin

import (
	"context"
	"net/http"
	"sync"
	"time"

	"sluice/flow"
	"sluice/flow/library"
	"sluice/handlers/api"
)

// Store is the part of *db.Store that the routes use.
type Store interface {
	Usage(ctx context.Context, ws flow.WorkspaceID, from, to time.Time) ([]flow.UsageDay, error)
	library.FlowReader
	ListFlowHeads(ctx context.Context, ws flow.WorkspaceID) ([]flow.Flow, error)
	ListKeys(ctx context.Context, ws flow.WorkspaceID) ([]flow.Key, error)
	AuditStore
	CredentialStore
	KeyStore
	LimitStore
	PriceStore
	UserStore
	WebhookStore
	WorkspaceStore
}

// Config has what the routes need. All of it is required.
type Config struct {
	Store     Store
	IDs       flow.IDs
	Providers Providers
	Catalog   Catalog
	Prices    flow.PriceStore // of workspaces and of the price list
	PriceList PriceList
	Schema    func() any // returns the JSON Schema of flow documents; called at most once
}

// Server serves the routes for an API server.
type Server struct {
	Config
	store     Store
	now       func() time.Time
	ids       flow.IDs
	kinds     *flow.Registry
	schema    func() []byte // returns the encoded Config.Schema, computed on the first call
	providers Providers
}

// New adds the routes to an API server and to its OpenAPI document.
func New(a *api.Server, cfg Config) *Server {
	s := &Server{Config: cfg, store: cfg.Store, ids: cfg.IDs, now: a.Now, kinds: a.Kinds, providers: cfg.Providers,
		schema: sync.OnceValue(func() []byte { return flow.EncodeJSON(cfg.Schema()) })}
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
