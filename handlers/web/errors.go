package web

import (
	"cmp"
	"context"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"sluice/flow"
	"sluice/flow/codes"
	"sluice/flow/document"
	"sluice/views/components"
	"sluice/views/layout"
)

// Errors of all pages.
var (
	// ErrNotFound is the error for everything unknown, malformed or of another
	// workspace, so that a response does not reveal which of them it is.
	ErrNotFound    = flow.Errorf(flow.CodeNotFound, "Not found. It may have been deleted.")
	errForbidden   = NewError(http.StatusForbidden, "Your role in this workspace does not allow this.")
	errNeedsFactor = NewError(http.StatusForbidden, "Your role requires two-step sign-in. Open Settings › Sessions to turn it on.")
	ErrNoWorkspace = NewError(http.StatusForbidden, "You are not a member of any workspace. Ask a workspace owner to invite you.")
	ErrSignedOut   = NewError(http.StatusUnauthorized, "You are signed out. Sign in and try again; nothing was changed.")
)

// PageError is an error with an HTTP status, for what has no flow.Code.
type PageError struct {
	status int
	text   string
}

// NewError returns an error page with a status and a text for the user.
func NewError(status int, text string) *PageError { return &PageError{status, text} }

// Error returns the text for the user.
func (e *PageError) Error() string { return e.text }

// archivedError is the error for an archived flow. Its page links to the archive.
type archivedError struct{ *PageError }

// errArchived is the error for a flow in the archive: 410, since it existed and can be
// restored. Unlike ErrNotFound it names the flow, so use it only after access was checked.
func errArchived(f *flow.Flow) error {
	return &archivedError{NewError(http.StatusGone, "“"+f.Name+"” is in the archive. Restore it there to open it.")}
}

// Unwrap exposes the plain page error.
func (e *archivedError) Unwrap() error { return e.PageError }

// StatusOf returns the status of a page for an error code. Without one of its own, it is 422: the
// code names something that the user can correct.
func StatusOf(code flow.Code) int {
	switch code {
	case document.CodeEditsMissed:
		return http.StatusConflict
	case document.CodeEditsGone:
		return http.StatusGone
	}
	return cmp.Or(codes.Of(code).Status, http.StatusUnprocessableEntity)
}

// Fail responds to every error of a handler or the router: with an error page, or
// for htmx with a toast on the current page. Details of internal errors are logged
// and not shown.
func (s *Site) Fail(err error, ec echo.Context) {
	if ec.Response().Committed {
		return // part of the response was sent; the connection is cut
	}
	c := s.NewCall(ec)
	if IsClientGone(err, c.Request()) {
		s.Log.Debug("client disconnected", "request_id", c.RequestID(), "error", err)
		_ = c.NoContent(StatusClientGone)
		return
	}
	status, text := s.publicError(err, c)
	if c.Request().Header.Get("HX-Request") == "true" {
		c.failFragment(status, text)
		return
	}
	if e, ok := errors.AsType[*flow.Error](err); ok && e.After > 0 {
		c.Response().Header().Set("Retry-After", Seconds(e.After))
	}
	if !flow.IsUnavailable(err) {
		_ = c.Identify() // shows the navigation to a signed-in user
	}
	problem := layout.ProblemOf(status, c.RequestID())
	if text != "" && status != http.StatusNotFound {
		problem.Text = text
	}
	if _, away := errors.AsType[*archivedError](err); away {
		problem.Title, problem.Archived = "This flow is archived", true
	}
	if err := c.Render(status, layout.ErrorPage(c.Page(problem.Title, ""), problem)); err != nil {
		s.Log.Debug("response not sent", "request_id", c.RequestID(), "error", err)
	}
}

// failFragment shows an error as a toast and tells htmx to leave the page as it is.
func (c *Call) failFragment(status int, text string) {
	if status == http.StatusUnauthorized {
		c.Response().Header().Set("HX-Redirect", "/sign-in")
	}
	c.Response().Header().Set("HX-Reswap", "none")
	c.Response().Header().Set("Cache-Control", "no-store")
	if text == "" {
		p := layout.ProblemOf(status, "")
		text = p.Title + ". " + p.Text
	}
	c.triggerToast(components.ToneBad, text)
	_ = c.NoContent(status)
}

// publicError returns the status and the text to show to the user. Without a text,
// the page describes the status.
func (s *Site) publicError(err error, c *Call) (status int, text string) {
	if router, ok := errors.AsType[*echo.HTTPError](err); ok {
		return router.Code, ""
	}
	if e, ok := errors.AsType[*PageError](err); ok {
		return e.status, e.text
	}
	e, ok := errors.AsType[*flow.Error](err)
	switch {
	case ok && e.Code != flow.CodeInternal:
		return StatusOf(e.Code), e.Message
	default:
		s.Log.Error("page failed", "request_id", c.RequestID(), "method", c.Request().Method, "path", c.Request().URL.EscapedPath(), "error", err)
	}
	return http.StatusInternalServerError, ""
}

// ErrClientGone is returned for a write to a client that has disconnected.
var ErrClientGone = errors.New("the client has disconnected")

// IsClientGone reports whether an error was caused by the client disconnecting,
// which cancels the context of the request.
func IsClientGone(err error, r *http.Request) bool {
	_, public := errors.AsType[*flow.Error](err)
	return errors.Is(err, ErrClientGone) || r.Context().Err() != nil && (!public || errors.Is(err, context.Canceled))
}

// RequestID returns the ID that Edge gave the request.
func (c *Call) RequestID() string { return c.Response().Header().Get("X-Request-Id") }
