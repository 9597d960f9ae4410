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

// access says who may call a route. The zero value is invalid, so that a test finds routes that do
// not declare it.
type access struct {
	scopes   []flow.Scope // a key needs one of them
	open     bool         // without a key
	recent   bool         // the key may be cached, see authorize
	link     bool         // a signed link is enough
	operator bool         // only with the local token; without it the route does not exist
}

var (
	accessOpen      = access{open: true}
	accessRun       = needs(flow.ScopeRun)
	accessStart     = access{scopes: accessRun.scopes, recent: true}
	accessSee       = needs(flow.ScopeRead, flow.ScopeRun) // with run, what the key started
	accessRead      = needs(flow.ScopeRead)
	accessManage    = needs(flow.ScopeManage)
	accessFile      = access{scopes: accessSee.scopes, link: true} // with run, files that the key may use
	accessEdit      = needs(flow.ScopeEdit)
	accessDocument  = needs(flow.ScopeRead, flow.ScopeEdit, flow.ScopeManage) // with read, the live version only
	accessDraft     = needs(flow.ScopeEdit, flow.ScopeManage)
	accessApprovals = needs(flow.ScopeRead, flow.ScopeRun, flow.ScopeApprove) // with run, those of runs that the key started
	accessApprove   = needs(flow.ScopeApprove)
	accessErase     = needs(flow.ScopeManage, flow.ScopeRun)               // with run, files that the key uploaded
	accessTools     = needs(flow.ScopeRead, flow.ScopeRun, flow.ScopeEdit) // package mcp checks what a tool needs
	accessKey       = needs(flow.Scopes...)                                // routes about the key itself
	accessOperator  = access{scopes: flow.Scopes, operator: true}
)

// needs returns the access of keys with one of the scopes. Errors name the first.
func needs(scopes ...flow.Scope) access { return access{scopes: scopes} }

// forCallers reports whether a route is for programs that call flows, not only for authors and
// operators.
func (a *access) forCallers() bool {
	has := func(s flow.Scope) bool { return slices.Contains(a.scopes, s) }
	return !has(flow.ScopeEdit) && (!has(flow.ScopeAdmin) || has(flow.ScopeRead))
}

// route is one line of the table of routes.
type route struct {
	method, path string
	access       access
	handle       func(*Call) error
	doc          openapi.Operation
}

// Call is one request.
type Call struct {
	web.Exchange
	s   *Server
	Key *flow.Key // the authenticated key; nil on public routes and for signed links

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

// table is the only list of routes. The router, the authorization and the OpenAPI
// document are generated from it.
func (s *Server) table() []route {
	return []route{
		{"GET", "/livez", accessOpen, s.live, docLive},
		{"GET", "/readyz", accessOpen, s.ready, docReady},
		{"GET", "/v1/openapi.json", accessOpen, s.showAPI, docAPI},
		{"GET", "/v1/local", accessOperator, func(c *Call) error { return c.WriteJSON(http.StatusOK, s.LocalInfo) }, openapi.Operation{}},
		{"GET", "/v1/flow", accessRead, s.listFlows, docListFlows},
		{"POST", "/v1/flow", accessEdit, s.createFlow, docCreateFlow},
		{"POST", "/v1/flow/import", accessEdit, s.importFlows, docImportFlows},
		{"POST", "/v1/flow/validate", accessDocument, s.validateFlow, docValidateFlow},
		{"POST", "/v1/apply", accessEdit, s.apply, docApply},
		{"GET", "/v1/runs", accessSee, s.listAllRuns, docListAllRuns},
		{"GET", "/v1/kinds", accessKey, s.listKinds, docListKinds},
		{"PUT", "/v1/flow/:flow_id", accessEdit, s.replaceDraft, docReplaceDraft},
		{"GET", "/v1/flow/:flow_id/document", accessDocument, s.showDocument, docShowDocument},
		{"GET", "/v1/flow/:flow_id/diff", accessDraft, s.showDiff, docShowDiff},
		{"GET", "/v1/flow/:flow_id/versions", accessDocument, s.listVersions, docListVersions},
		{"POST", "/v1/flow/:flow_id/publish", accessEdit, s.publishFlow, docPublishFlow},
		{"POST", "/v1/flow/:flow_id/archive", accessEdit, s.archiveFlow, docArchiveFlow},
		{"POST", "/v1/flow/:flow_id/restore", accessEdit, s.restoreFlow, docRestoreFlow},
		{"GET", "/v1/flow/:flow_id", accessRead, s.showFlow, docShowFlow},
		{"GET", "/v1/flow/:flow_id/openapi.json", accessRead, s.showFlowAPI, docFlowAPI},
		{"POST", "/v1/flow/:flow_id/run", accessStart, s.startRun, docStartRun},
		{"GET", "/v1/flow/:flow_id/runs", accessSee, s.listRuns, docListRuns},
		{"GET", "/v1/flow/:flow_id/run/:run_id", accessSee, s.showRun, docShowRun},
		{"DELETE", "/v1/flow/:flow_id/run/:run_id", accessManage, s.eraseRun, docEraseRun},
		{"GET", "/v1/flow/:flow_id/run/:run_id/result", accessSee, s.showResult, docShowResult},
		{"GET", "/v1/flow/:flow_id/run/:run_id/steps", accessSee, s.listSteps, docListSteps},
		{"GET", "/v1/flow/:flow_id/run/:run_id/events", accessSee, s.streamEvents, docStreamEvents},
		{"GET", "/v1/flow/:flow_id/run/:run_id/approvals", accessApprovals, s.listApprovals, docListApprovals},
		{"POST", "/v1/flow/:flow_id/run/:run_id/approvals/:path", accessApprove, s.decideApproval, docDecideApproval},
		{"GET", "/v1/flow/:flow_id/run/:run_id/children", accessSee, s.listChildren, docListChildren},
		{"POST", "/v1/flow/:flow_id/run/:run_id/cancel", accessRun, s.cancelRun, docCancelRun},
		{"POST", "/v1/flow/:flow_id/run/:run_id/rerun", accessRun, s.rerun, docRerun},
		{"GET", "/v1/flow/:flow_id/deliveries", accessRead, s.listDeliveries, docListDeliveries},
		{"GET", "/v1/flow/:flow_id/webhooks", accessManage, s.listWebhooks, docListWebhooks},
		{"GET", "/v1/webhook-secret", accessKey, s.showKeySecret, docKeySecret},
		{"POST", "/v1/deliveries/:delivery_id/redeliver", accessManage, s.redeliver, docRedeliver},
		{"POST", "/v1/files", accessRun, s.createFile, docCreateFile},
		{"GET", "/v1/files/:file_id", accessFile, s.showFile, docShowFile},
		{"HEAD", "/v1/files/:file_id", accessFile, s.showFile, docProbeFile},
		{"DELETE", "/v1/files/:file_id", accessErase, s.eraseFile, docEraseFile},
		{"POST", "/mcp", accessTools, func(c *Call) error { return s.MCP(c) }, docMCP},
	}
}

// serve handles every request: it checks capacity, key and Accept header and calls the
// handler of the route.
func (s *Server) serve(r *route) echo.HandlerFunc {
	return func(ec echo.Context) (err error) {
		defer web.RecoverPanic(r.method+" "+r.path, &err)
		c := &Call{Exchange: ec, s: s}
		defer func() { c.memory.Close() }()
		if r.access.operator && !c.Operator() {
			return errNotFound
		}
		if err := s.admit(ec.Request(), r); err != nil {
			return err
		}
		if r.access.open {
			return r.handle(c)
		}
		if !s.gate.enter() {
			return &flow.Error{Code: flow.CodeOverloaded, Message: "Too many requests are being processed. Try again in a moment."}
		}
		defer s.gate.leave()
		if err := c.authorize(r.access); err != nil {
			return err
		}
		if s.Memory != nil && c.Key != nil {
			c.memory = s.Memory.Open(string(c.Key.WorkspaceID))
			c.SetRequest(c.Request().WithContext(web.LeaseFor(c.Request().Context(), c.memory)))
		}
		if err := c.negotiate(r.doc.Offers()); err != nil {
			return err
		}
		if err := r.handle(c); err != nil || c.deferred == nil {
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
func (s *Server) admit(req *http.Request, r *route) error {
	if s.AwaitsOwner == nil || r.path == "/livez" || r.path == "/readyz" || s.isLocal(req) {
		return nil
	}
	awaits, err := s.AwaitsOwner(req.Context())
	if err != nil || !awaits {
		return err
	}
	return flow.Errorf(flow.CodeSetupRequired, "This Sluice has no owner yet. Open the setup link that it printed to its terminal.")
}
