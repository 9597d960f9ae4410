package api

import (
	"cmp"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"sluice/flow"
	"sluice/flow/codes"
	"sluice/flow/library"
	"sluice/handlers/web"
)

// errNotFound is the error for everything unknown, malformed or of another workspace,
// so that a response does not reveal which of them it is.
var errNotFound = flow.Errorf(flow.CodeNotFound, "Not found, or this key has no access to it.")

// runError is the error for the result of a run that did not succeed. The problem
// includes the error of the run.
type runError struct {
	public *flow.Error
	run    *errorObject
}

// Error returns the message of the problem.
func (e runError) Error() string { return e.public.Message }

// Unwrap exposes the error that becomes the problem.
func (e runError) Unwrap() error { return e.public }

// fail responds to every error of a handler or the router, with a problem. Errors that
// are not a flow.Error are logged and become internal errors without details.
func (s *Server) fail(err error, c echo.Context) {
	e := s.PublicError(err, c)
	if c.Response().Committed {
		return // part of the response was sent; the connection is cut
	}
	if web.IsClientGone(err, c.Request()) {
		_ = c.NoContent(web.StatusClientGone)
		return
	}
	if format := s.foreign[c.Path()]; format != nil {
		problemHeaders(c.Response().Header(), e)
		status, body := format(codes.Of(e.Code).Status, e)
		if err := writeBody(c, status, TypeJSON, flow.EncodeJSON(body)); err != nil {
			s.Log.Debug("response not sent", "request_id", requestID(c), "error", err)
		}
		return
	}
	p := problem{
		Type: s.PublicURL + "/docs/errors#" + string(e.Code), Title: codes.Of(e.Code).Title,
		Status: codes.Of(e.Code).Status, Detail: e.Message, Instance: instance(c.Request()),
		Code: e.Code, RequestID: requestID(c), Errors: convert(e.Fields, func(p *flow.Problem) problemField { return problemField{p.Pointer, p.Code, p.Detail} }), Budget: newBudgetObject(e.Budget, s.Now()), Quota: newQuotaObject(e.Quota),
	}
	if r, ok := errors.AsType[runError](err); ok {
		p.Error = r.run
	}
	if b, ok := errors.AsType[*library.BreakingError](err); ok {
		p.Diffs = convert(b.Reviews, func(r *library.Review) diffObject { return newDiffObject("live", "", r) })
	}
	problemHeaders(c.Response().Header(), e)
	if err := writeBody(c, p.Status, typeProblem, flow.EncodeJSON(p)); err != nil {
		s.Log.Debug("response not sent", "request_id", requestID(c), "error", err)
	}
}

// keyID returns the ID of the key of a call, or "".
func keyID(c web.Exchange) string {
	if call, ok := c.(*Call); ok && call.Key != nil {
		return call.Key.ID
	}
	return ""
}

// PublicError returns the error to show to the client. It logs the details of an internal error,
// which the client does not see.
func (s *Server) PublicError(err error, c web.Exchange) *flow.Error {
	r, id := c.Request(), requestID(c)
	if router, ok := errors.AsType[*echo.HTTPError](err); ok {
		return routerError(router, r)
	}
	e, ok := errors.AsType[*flow.Error](err)
	switch {
	case ok && e == errInvalidLink:
		return e
	case ok && e.Code == flow.CodeNotFound:
		return notFound(r.URL.Path) // the store's message would reveal the kind of object
	case ok && e.Code != flow.CodeInternal && codes.Of(e.Code).Status != 0:
		return e
	case web.IsClientGone(err, r):
		s.Log.Debug("client disconnected", "request_id", id, "error", err)
	default:
		s.Log.Error("request failed", append(web.LogFields(r, id, keyID(c)), "method", r.Method, "path", instance(r), "error", err)...)
		if ok && e.Code == flow.CodeInternal {
			return e
		}
	}
	return flow.AsError(nil)
}

// idNames maps a path segment to the name of the ID that follows it.
var idNames = map[string]string{"flow": "flow ID", "run": "run ID", "batches": "run ID", "files": "file ID", "deliveries": "delivery ID", "credentials": "credential name"}

// notFound returns errNotFound, or a specific error if an ID in the path is empty, for example
// because a variable in a script is not set.
func notFound(path string) *flow.Error {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if name := idNames[parts[max(i-1, 0)]]; part == "" && name != "" {
			return flow.Errorf(flow.CodeNotFound, "The %s in the path is empty. If it comes from a variable, set that first.", name)
		}
	}
	return errNotFound
}

// routerError returns the error for a request that matches no route.
func routerError(err *echo.HTTPError, r *http.Request) *flow.Error {
	code, known := routerCodes[err.Code]
	switch {
	case !known:
		return flow.AsError(nil)
	case code == flow.CodeNotFound:
		return notFound(r.URL.Path)
	case code == flow.CodeMethodNotAllowed:
		return flow.Errorf(code, "This path does not support this method. The Allow header lists the supported ones.")
	}
	return flow.Errorf(code, "%s.", codes.Of(code).Title)
}

// requestID returns the ID that the middleware gave the request; problems and the log have it.
func requestID(c web.Exchange) string { return c.Response().Header().Get("X-Request-Id") }

// RetryAfter returns how long a client should wait before it sends a refused
// request again; 0 means that waiting does not help.
func RetryAfter(e *flow.Error) time.Duration {
	return cmp.Or(max(e.After, 0), codes.Of(e.Code).After)
}

// problemHeaders sets the headers of a problem: Retry-After, WWW-Authenticate (RFC 6750)
// and no caching.
func problemHeaders(h http.Header, e *flow.Error) {
	if after := RetryAfter(e); after > 0 {
		h.Set("Retry-After", web.Seconds(after))
	}
	switch e.Code {
	case flow.CodeKeyMissing:
		h.Set("WWW-Authenticate", `Bearer realm="sluice"`)
	case flow.CodeKeyInvalid, flow.CodeKeyExpired, flow.CodeKeyRevoked:
		h.Set("WWW-Authenticate", `Bearer realm="sluice", error="invalid_token"`)
	case flow.CodeScopeMissing:
		h.Set("WWW-Authenticate", `Bearer realm="sluice", error="insufficient_scope"`)
	}
	h.Del("ETag")
	h.Set("Cache-Control", "no-store")
}

// instance returns the path of a request without the query, or "/" if the path contains
// what looks like a key: keys must not reach a log or a bug report.
func instance(r *http.Request) string {
	p := r.URL.EscapedPath()
	if web.ContainsKey(p) {
		return "/"
	}
	return p
}
