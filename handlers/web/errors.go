package web

import (
	"context"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"sluice/flow"
	"sluice/flow/document"
	"sluice/views/components"
	"sluice/views/layout"
)

// Errors that any page may give.
var (
	// errNotFound is the one answer for what is unknown, malformed or somebody
	// else's: nobody may learn which of the three it was.
	ErrNotFound    = flow.Errorf(flow.CodeNotFound, "There is nothing here.")
	errForbidden   = NewError(http.StatusForbidden, "Your role in this workspace does not allow this.")
	ErrNoWorkspace = NewError(http.StatusForbidden, "You are in no workspace. Ask an owner of one to invite you.")
	ErrSignedOut   = NewError(http.StatusUnauthorized, "You are signed out. Sign in and try again; nothing was changed.")
)

// PageError is an answer of a status that the domain has no code for.
type PageError struct {
	status int
	text   string
}

// NewError returns an error that is answered with the status and the text.
func NewError(status int, text string) *PageError { return &PageError{status, text} }

// Error is the sentence for the person.
func (e *PageError) Error() string { return e.text }

// archivedError says that a flow was put away, and its page leads to where it is.
type archivedError struct{ *PageError }

func errArchived(f *flow.Flow) error {
	return &archivedError{NewError(http.StatusGone, "“"+f.Name+"” is in the archive. Restore it there to open it.")}
}

// Unwrap is what it is like any other.
func (e *archivedError) Unwrap() error { return e.PageError }

// Statuses of the domain's errors; whatever else a person can act on is 422.
var Statuses = map[flow.Code]int{
	flow.CodeNotFound:           http.StatusNotFound,
	flow.CodeMethodNotAllowed:   http.StatusMethodNotAllowed,
	flow.CodeBodyTooLarge:       http.StatusRequestEntityTooLarge,
	flow.CodeQuotaExceeded:      http.StatusPaymentRequired,
	flow.CodeNotPublished:       http.StatusConflict,
	flow.CodeRunNotEnded:        http.StatusConflict,
	document.CodeEditsMissed:    http.StatusConflict,
	document.CodeEditsGone:      http.StatusGone,
	flow.CodeResultNotSaved:     http.StatusGone,
	flow.CodeRunExpired:         http.StatusGone,
	flow.CodeRateLimited:        http.StatusTooManyRequests,
	flow.CodeConcurrencyLimited: http.StatusTooManyRequests,
	flow.CodeQueueFull:          http.StatusTooManyRequests,
	flow.CodeInternal:           http.StatusInternalServerError,
	flow.CodeDraining:           http.StatusServiceUnavailable,
	flow.CodeOverloaded:         http.StatusServiceUnavailable,
	flow.CodeStorageFull:        http.StatusServiceUnavailable,
	flow.CodeUnavailable:        http.StatusServiceUnavailable,
}

// Fail is the one door for errors: a page, or for htmx a message in the corner
// of the page that is there. What is nobody's doing is logged and stays private.
func (s *Site) Fail(err error, ec echo.Context) {
	if ec.Response().Committed {
		return // the answer has begun; cutting it short is all that is left
	}
	c := s.NewCall(ec)
	if _, ours := errors.AsType[*flow.Error](err); c.Ctx().Err() != nil && (!ours || errors.Is(err, context.Canceled)) {
		s.Log.Debug("caller went away", "request_id", c.RequestID(), "error", err)
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
		_ = c.Identify() // who is signed in keeps the navigation
	}
	problem := layout.ProblemOf(status, c.RequestID())
	if text != "" && status != http.StatusNotFound {
		problem.Text = text
	}
	if _, away := errors.AsType[*archivedError](err); away {
		problem.Title, problem.Archived = "This flow is archived", true
	}
	if err := c.Render(status, layout.ErrorPage(c.Page(problem.Title, ""), problem)); err != nil {
		s.Log.Debug("answer not taken", "request_id", c.RequestID(), "error", err)
	}
}

// failPart leaves the page as it is and says what happened.
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

// publicError is what the person may know of an error; no text means that the
// status says it all.
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
		status, known := Statuses[e.Code]
		if !known {
			status = http.StatusUnprocessableEntity
		}
		return status, e.Message
	default:
		s.Log.Error("page failed", "request_id", c.RequestID(), "method", c.Request().Method, "path", c.Request().URL.EscapedPath(), "error", err)
	}
	return http.StatusInternalServerError, ""
}

func (c *Call) RequestID() string { return c.Response().Header().Get("X-Request-Id") }
