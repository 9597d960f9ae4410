package api

import (
	"encoding/base64"
	"reflect"
	"strconv"
	"time"

	"sluice/flow"
)

// Extension is what another package adds to the API: routes, and the parts of the OpenAPI document
// to which these refer by name.
type Extension struct {
	Routes []Route
	Params map[string]map[string]any // OpenAPI parameters, by their name in Route.Params or in paths
	Names  map[reflect.Type]string   // Go types of answers that get a named schema
}

// Routes returns all routes, those of extensions too.
func (s *Server) Routes() []*Route { return s.routes }

// Extend adds routes. Call it before serving.
func (s *Server) Extend(e Extension) {
	s.extensions = append(s.extensions, e)
	for i := range e.Routes {
		s.add(&e.Routes[i])
	}
}

// add adds a route to the router. It panics if the route does not declare who may call it.
func (s *Server) add(r *Route) {
	if r.Operator {
		r.Scopes = flow.Scopes // the key of the command line has all
	}
	if r.Open == (len(r.Scopes) > 0) {
		panic(r.Method + " " + r.Path + " does not declare who may call it")
	}
	if r.Errors != nil {
		s.foreign[r.Path] = r.Errors
	}
	s.routes = append(s.routes, r)
	s.echo.Add(r.Method, r.Path, s.serve(r))
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

// QueryBool returns a query parameter that is true or false; false without it.
func QueryBool(c *Call, name string) (bool, error) {
	q := newQuery(c.Request().URL)
	v := q.boolean(name)
	return v, q.err()
}

// QueryPage returns the query parameters limit and cursor of a list whose elements have IDs
// with a prefix.
func (c *Call) QueryPage(prefix string) (beforeID string, limit int, err error) {
	q := newQuery(c.Request().URL)
	beforeID, limit = q.cursor(prefix), q.limit()
	return beforeID, limit, q.err()
}

// QueryAfter returns the text in the cursor of a list that Page made, and the size of a page.
func QueryAfter(c *Call) (after string, limit int, err error) {
	q := newQuery(c.Request().URL)
	limit = q.limit()
	return q.after(), limit, q.err()
}

// QueryAfterUpTo is QueryAfter with the largest size of a page and the one without a limit.
func QueryAfterUpTo(c *Call, most, usual int) (after string, limit int, err error) {
	q := newQuery(c.Request().URL)
	limit = q.integer("limit", 1, most, usual)
	return q.after(), limit, q.err()
}

// after returns the text in the cursor parameter.
func (q *query) after() (text string) {
	if s, has := q.single("cursor"); has {
		data, err := base64.RawURLEncoding.DecodeString(s)
		if text = string(data); err != nil || text == "" {
			q.add("/cursor", "invalid", "wanted the next_cursor of an earlier answer")
		}
	}
	return text
}

// IdempotencyKey returns the Idempotency-Key of the request, or "".
func IdempotencyKey(c *Call) (string, error) { return idempotencyKey(c.Request().Header) }

// PreferWait returns how long the response may wait by the header Prefer, or 0.
func PreferWait(c *Call) (time.Duration, error) { return preferWait(c.Request().Header) }

// Waited tells the client that its header Prefer was applied.
func Waited(c *Call, wait time.Duration) {
	if wait > 0 {
		c.Response().Header().Set("Preference-Applied", "wait="+strconv.Itoa(int(wait/time.Second)))
	}
}

// Time is written in RFC 3339, UTC, with milliseconds; its zero value is null.
type Time = stampOrNull

// Cost is the cost of runs.
type Cost = costObject

// CostOf returns the cost in a usage.
func CostOf(u flow.Usage) Cost { return costOf(u) }
