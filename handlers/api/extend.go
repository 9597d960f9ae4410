package api

import (
	"reflect"

	"sluice/flow"
	"sluice/handlers/api/openapi"
)

// Extension is what another package adds to the API: routes, and the parts of the OpenAPI document
// to which these refer by name.
type Extension struct {
	Routes  []Route
	Params  map[string]map[string]any // OpenAPI parameters, by their name in Route.Params or in paths
	Schemas map[string]map[string]any // of request bodies
	Names   map[reflect.Type]string   // Go types of answers that get a named schema
}

// Route is one route of an Extension.
type Route struct {
	Method, Path           string
	Scopes                 []flow.Scope // the key needs one of them; none for a route without a key
	Operator               bool         // exists only for the command line on the same machine, and not in the OpenAPI document
	ID, Tag, Summary, Text string       // of the operation in the OpenAPI document
	Params                 []string     // query and header parameters
	Body                   string       // name of the schema of the request body; "" for none
	OptionalBody           bool
	Status                 int    // of success
	Answer                 string // description of the response
	JSON                   any    // a value of the type of the response body; nil for none
	Schema                 string // name of the schema of the response body, instead of JSON
	Headers                []string
	Problems               []flow.Code // in addition to those of keys and paths
	Handle                 func(*Call) error
}

// RouteAccess is a route and the scopes that open it: a key needs one of them. A route
// without scopes needs no key.
type RouteAccess struct {
	Method, Path string
	Scopes       []flow.Scope
}

// RouteTable returns all routes, those of extensions too, except those for the operator only.
func (s *Server) RouteTable() (list []RouteAccess) {
	for i := range s.routes {
		if r := &s.routes[i]; !r.access.operator {
			list = append(list, RouteAccess{r.method, r.path, r.access.scopes})
		}
	}
	return list
}

// Extend adds routes. Call it before serving.
func (s *Server) Extend(e Extension) {
	s.extensions = append(s.extensions, e)
	for i := range e.Routes {
		r := e.Routes[i].route()
		s.routes = append(s.routes, *r)
		s.echo.Add(r.method, r.path, s.serve(r))
	}
}

// route returns the route in the form of the table.
func (r *Route) route() *route {
	success := openapi.Answer{Status: r.Status, Text: r.Answer, Schema: r.Schema, Headers: r.Headers}
	if r.JSON != nil {
		success.JSON = reflect.TypeOf(r.JSON)
	}
	need := access{open: len(r.Scopes) == 0, scopes: r.Scopes}
	if r.Operator {
		need = accessOperator
	}
	return &route{method: r.Method, path: r.Path, access: need, handle: r.Handle, doc: openapi.Operation{
		ID: r.ID, Tag: r.Tag, Summary: r.Summary, Text: r.Text, Params: r.Params, Body: r.Body, OptionalBody: r.OptionalBody,
		Answers: []openapi.Answer{success}, Problems: r.Problems,
	}}
}

// QueryTexts returns the named query parameters, with "" for a missing one. It is an error if one
// occurs more than once.
func (c *Call) QueryTexts(names ...string) (map[string]string, error) {
	q, texts := newQuery(c.Request().URL), map[string]string{}
	for _, name := range names {
		texts[name], _ = q.single(name)
	}
	return texts, q.err()
}

// QueryPage returns the query parameters limit and cursor of a list whose elements have IDs
// with a prefix.
func (c *Call) QueryPage(prefix string) (beforeID string, limit int, err error) {
	q := newQuery(c.Request().URL)
	beforeID, limit = q.cursor(prefix), q.limit()
	return beforeID, limit, q.err()
}

// Time is written in RFC 3339, UTC, with milliseconds; its zero value is null.
type Time = stampOrNull

// Cost is the cost of runs.
type Cost = costObject

// CostOf returns the cost in a usage.
func CostOf(u flow.Usage) Cost { return costOf(u) }
