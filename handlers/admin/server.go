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
	"sluice/handlers/api"
)

// Store is the part of *db.Store that the routes use.
type Store interface {
	Usage(ctx context.Context, ws flow.WorkspaceID, from, to time.Time) ([]flow.UsageDay, error)
	ListFlowHeads(ctx context.Context, ws flow.WorkspaceID) ([]flow.Flow, error)
	ListKeys(ctx context.Context, ws flow.WorkspaceID) ([]flow.Key, error)
	CredentialStore
	KeyStore
	UserStore
}

// Server serves the routes for an API server.
type Server struct {
	store  Store
	now    func() time.Time
	ids    flow.IDs
	schema func() []byte // JSON Schema of documents

	providers Providers
}

// New adds the routes to the API. schema returns the JSON Schema of flow documents; it is
// called once, at the first request for it.
func New(a *api.Server, store Store, ids flow.IDs, providers Providers, schema func() any) *Server {
	s := &Server{store: store, ids: ids, now: a.Now, providers: providers, schema: sync.OnceValue(func() []byte { return flow.EncodeJSON(schema()) })}
	e := api.Extension{Routes: slices.Concat(s.usageRoutes(), s.schemaRoutes(), s.keyRoutes(), s.credentialRoutes(), s.userRoutes()), Schemas: map[string]map[string]any{}, Params: map[string]map[string]any{}, Names: map[reflect.Type]string{}}
	for _, schemas := range []map[string]map[string]any{credentialSchemas, keySchemas} {
		maps.Copy(e.Schemas, schemas)
	}
	for _, params := range []map[string]map[string]any{usageParams, credentialParams, keyParams} {
		maps.Copy(e.Params, params)
	}
	for _, names := range []map[reflect.Type]string{usageNames, credentialNames, keyNames, userNames} {
		maps.Copy(e.Names, names)
	}
	a.Extend(e)
	return s
}

// queryParam describes a query parameter in OpenAPI's form.
func queryParam(name, text string, schema map[string]any) map[string]any {
	return map[string]any{"name": name, "in": "query", "description": text, "schema": schema}
}

// get is the method of routes that read.
const get = http.MethodGet
