package api

import (
	"net/http"
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"sluice/flow"
	"sluice/flow/inflight"
	"sluice/handlers/api/openapi"
	"sluice/handlers/web"
)

// Route declares a route of the API. The router, the authorization, the OpenAPI document and the
// table of rights in docs/keys.md derive from it. Who may call it must be declared: by scopes, or
// as Open or Operator.
type Route struct {
	Method, Path string
	Scopes       []flow.Scope // a key needs one of them; errors name the first
	Open         bool         // without a key
	Recent       bool         // the key may be cached, see authorize
	Link         bool         // a signed link is enough
	Operator     bool         // exists only for the command line on the same machine, and not in the OpenAPI document
	Handle       func(*Call) error
	Doc          openapi.Operation
	Errors       ErrorFormat // of a route of another API; nil for problems

	// The other doors to the same act, for the table of rights.
	Role     flow.MemberRole // that a member needs for it in the dashboard; "" if the dashboard does not offer it
	Audit    []string        // actions that it writes to the audit log
	Commands []string        // commands that call it
	Tool     string          // of the Model Context Protocol, for authors
	Limited  string          // what a key with limits may not do; "" for no difference
}

// Scopes of several routes.
var (
	scopesRun      = []flow.Scope{flow.ScopeRun}
	scopesSee      = []flow.Scope{flow.ScopeRead, flow.ScopeRun} // with run, what the key started, and files that it may use
	scopesRead     = []flow.Scope{flow.ScopeRead}
	scopesManage   = []flow.Scope{flow.ScopeManage}
	scopesEdit     = []flow.Scope{flow.ScopeEdit}
	scopesDocument = []flow.Scope{flow.ScopeRead, flow.ScopeEdit, flow.ScopeManage} // with read, the live version only
)

// forCallers reports whether a route is for programs that call flows, not only for authors and
// operators.
func (r *Route) forCallers() bool {
	has := func(s flow.Scope) bool { return slices.Contains(r.Scopes, s) }
	return !has(flow.ScopeEdit) && (!has(flow.ScopeAdmin) || has(flow.ScopeRead)) && !r.Operator
}

// Call is one request.
type Call struct {
	web.Exchange
	s     *Server
	route *Route
	Key   *flow.Key // the authenticated key; nil on public routes and for signed links

	flow flow.FlowID // ID of the flow in the path, which may have its slug; see resolveFlow

	accepted string // media type of the response; "" if the route offers no choice

	arrived time.Time // when a start arrived

	// deferred is the rest of a long response. It runs after the handler has
	// returned, because the stack that the handler needed would otherwise stay
	// allocated: 8 KiB for each stream.
	deferred func() error

	memory *inflight.Hold // of the request; nil without a key, or if memory is unlimited

	linkedFile  *flow.File // of a signed link
	linkExpires time.Time
}

// table lists the routes of this package. Other packages add theirs with Extend.
func (s *Server) table() []Route {
	return slices.Concat(s.serverRoutes(), s.flowRoutes(), s.runRoutes(), s.webhookRoutes(), s.fileRoutes(), batchServer{s}.batchRoutes())
}

// serverRoutes returns the routes of the server itself, and that of the Model Context Protocol.
func (s *Server) serverRoutes() []Route {
	return []Route{{
		Method: http.MethodGet, Path: "/livez", Open: true, Handle: s.live,
		Commands: []string{"doctor"},
		Doc:      openapi.Operation{ID: "live", Tag: "Server", Summary: "Check that the process responds", Answers: []openapi.Answer{{Status: 200, Text: "OK.", Schema: "Health"}}},
	}, {
		Method: http.MethodGet, Path: "/readyz", Open: true, Handle: s.ready,
		Commands: []string{"doctor"},
		Doc: openapi.Operation{ID: "ready", Tag: "Server", Summary: "Check that this instance accepts requests",
			Answers:  []openapi.Answer{{Status: 200, Text: "OK.", Schema: "Health"}},
			Problems: []flow.Code{flow.CodeDraining, flow.CodeUnavailable}},
	}, {
		Method: http.MethodGet, Path: "/v1/openapi.json", Open: true, Handle: s.showAPI,
		Doc: openapi.Operation{ID: "showAPI", Tag: "Server", Summary: "This document", Answers: []openapi.Answer{{Status: 200, Text: "An OpenAPI document.", Schema: "OpenAPI"}}},
	}, {
		Method: http.MethodGet, Path: "/v1/local", Operator: true, Handle: func(c *Call) error { return c.WriteJSON(http.StatusOK, s.LocalInfo) },
	}, {
		Method: http.MethodPost, Path: "/mcp", Scopes: []flow.Scope{flow.ScopeRead, flow.ScopeRun, flow.ScopeEdit}, // package mcp checks what a tool needs
		Handle: func(c *Call) error { return s.MCP(c) },
		Doc: openapi.Operation{ID: "mcp", Tag: "MCP", Summary: "Use the Model Context Protocol",
			Text:   "Stateless streamable HTTP: one JSON-RPC message per request. Each published flow that the key may call is a tool. Calling a tool needs the scope run. With ?tools=authoring and the scope edit, the tools write flows instead: list kinds, validate, create, edit, compare, publish, run.",
			Params: []string{"tools"},
			Body:   openapi.Body{Name: "RPCMessage"}, Problems: []flow.Code{flow.CodeInvalidHeader, flow.CodeInputInvalid, flow.CodeOriginNotAllowed},
			Answers: []openapi.Answer{
				{Status: 200, Text: "The response to a request; in an event stream, after progress notifications.", Schema: "RPCMessage", Stream: true,
					Example: "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"It will arrive tomorrow.\"}]}}\n\n", Headers: []string{"Mcp-Session-Id"}},
				{Status: 202, Text: "The notification was accepted."},
				{Status: 400, Text: "A protocol error.", Schema: "RPCMessage"},
				{Status: 404, Text: "An unknown method, as a protocol error.", Schema: "RPCMessage"},
			}},
	}}
}

// serve handles every request: it checks capacity, key and Accept header and calls the
// handler of the route.
func (s *Server) serve(r *Route) echo.HandlerFunc {
	return func(ec echo.Context) (err error) {
		defer web.RecoverPanic(r.Method+" "+r.Path, &err)
		c := &Call{Exchange: ec, s: s, route: r}
		web.NoteCall(ec.Request().Context(), r.Path, "")
		defer func() { c.memory.Close() }()
		if r.Operator && !c.Operator() {
			return errNotFound
		}
		if err := s.admit(ec.Request(), r); err != nil {
			return err
		}
		if r.Open {
			return r.Handle(c)
		}
		if !s.gate.enter() {
			return &flow.Error{Code: flow.CodeOverloaded, Message: "Too many requests are being processed. Try again in a moment."}
		}
		defer s.gate.leave()
		if err := c.authorize(); err != nil {
			return err
		}
		if s.Memory != nil && c.Key != nil {
			c.memory = s.Memory.Open(string(c.Key.WorkspaceID))
			c.SetRequest(c.Request().WithContext(web.LeaseFor(c.Request().Context(), c.memory)))
		}
		if err := c.negotiate(r.Doc.Offers()); err != nil {
			return err
		}
		if err := r.Handle(c); err != nil || c.deferred == nil {
			return err
		}
		return c.deferred()
	}
}

// Hold counts a request that waits, streams or transfers a file apart from busy ones,
// until release is called.
func (c *Call) Hold() (release func(), err error) { return c.s.gate.hold() }

// Parameters of the path; "" if the route does not have them.

func (c *Call) flowID() flow.FlowID { return c.flow }
func (c *Call) runID() flow.RunID   { return flow.RunID(c.Param("run_id")) }
func (c *Call) deliveryID() string  { return c.Param("delivery_id") }
func (c *Call) fileID() string      { return c.Param("file_id") }

// admit rejects requests other than health checks and those of the operator while an exposed
// server has no owner.
func (s *Server) admit(req *http.Request, r *Route) error {
	if s.AwaitsOwner == nil || r.Path == "/livez" || r.Path == "/readyz" || s.isLocal(req) {
		return nil
	}
	awaits, err := s.AwaitsOwner(req.Context())
	if err != nil || !awaits {
		return err
	}
	return flow.Errorf(flow.CodeSetupRequired, "This Sluice has no owner yet. Open the setup link that it printed to its terminal.")
}
