// Package api is the HTTP API for programs, under /v1. It authenticates a key, checks
// its scope, flows and rate limit, reads the request strictly, and calls the store
// or the job runner. Rules about flows and runs are in package flow.
//
// Routes are declared in *_routes.go and in extensions (see Route); the router, the authorization
// and the OpenAPI document derive from the declarations. A request passes Server.serve,
// Call.authorize (auth.go, limits.go) and the handler of its route. A handler
// returns either a response it has written or an error; Server.fail turns every
// error into a problem (RFC 9457) with a code from problems.go.
//
//   - runs*.go start, show, list, cancel and rerun runs; events*.go stream them.
//   - files*.go upload and serve files; flows.go, steps.go, deliveries.go and
//     webhooks.go show the rest.
//   - openapi*.go describe the API. Types that are written as JSON carry their
//     descriptions in doc tags.
//
// Package mcp adds POST /mcp with what this package exports. Cookies are ignored.
package api
