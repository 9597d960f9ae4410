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
}

// Server serves the routes for an API server.
type Server struct {
	store  Store
	now    func() time.Time
	schema func() []byte // JSON Schema of documents

	providers Providers
}

// New adds the routes to the API. schema returns the JSON Schema of flow documents; it is
// called once, at the first request for it.
func New(a *api.Server, store Store, providers Providers, schema func() any) *Server {
	s := &Server{store: store, now: a.Now, providers: providers, schema: sync.OnceValue(func() []byte { return flow.EncodeJSON(schema()) })}
	e := api.Extension{Routes: slices.Concat(s.usageRoutes(), s.schemaRoutes(), s.credentialRoutes()), Schemas: credentialSchemas, Params: map[string]map[string]any{}, Names: map[reflect.Type]string{}}
	maps.Copy(e.Params, usageParams)
	maps.Copy(e.Params, credentialParams)
	maps.Copy(e.Names, usageNames)
	maps.Copy(e.Names, credentialNames)
	a.Extend(e)
	return s
}

// queryParam describes a query parameter in OpenAPI's form.
func queryParam(name, text string, schema map[string]any) map[string]any {
	return map[string]any{"name": name, "in": "query", "description": text, "schema": schema}
}

// get is the method of routes that read.
const get = http.MethodGet
