package admin

import (
	"context"
	"maps"
	"net/http"
	"reflect"
	"slices"
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
	e := api.Extension{Schemas: bodySchemas(), Params: map[string]map[string]any{}, Names: map[reflect.Type]string{}, Routes: slices.Concat(
		s.usageRoutes(), s.schemaRoutes(), s.keyRoutes(), s.credentialRoutes(), s.userRoutes(),
		s.priceRoutes(), s.limitRoutes(), s.workspaceRoutes(), s.modelRoutes(), s.auditRoutes(), s.webhookRoutes(),
	)}
	for _, params := range []map[string]map[string]any{usageParams, credentialParams, keyParams, priceParams, workspaceParams, modelParams, webhookParams} {
		maps.Copy(e.Params, params)
	}
	for _, names := range []map[reflect.Type]string{usageNames, credentialNames, keyNames, userNames, priceNames, limitNames, workspaceNames, modelNames, auditNames, webhookNames} {
		maps.Copy(e.Names, names)
	}
	a.Extend(e)
	return s
}

// bodySchemas returns the schemas of request bodies. The bodies of routes for the operator only have
// none.
func bodySchemas() map[string]map[string]any {
	return map[string]map[string]any{
		"SetCredential": credentialBody.Schema(), "LimitCredential": credentialLimitBody.Schema(),
		"CreateKey": createKeyBody.Schema(), "ChangeKey": changeKeyBody.Schema(), "RotateKey": rotateKeyBody.Schema(),
		"SetPrice": priceBody.Schema(), "LimitFlow": limitBody.Schema(), "LimitWorkspace": workspaceBody.Schema(), "RotateWebhookSecret": rotateSecretBody.Schema(),
	}
}

// queryParam returns the OpenAPI description of an optional query parameter.
func queryParam(name, text string, schema map[string]any) map[string]any {
	return map[string]any{"name": name, "in": "query", "description": text, "schema": schema}
}

// get is the method of routes that read.
const get = http.MethodGet
