package web

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"sluice/flow"
	"sluice/flow/caller"
)

// Access says who may use a route. The zero value is invalid, so that a test finds
// routes that do not declare it.
type Access int

const (
	AccessUndeclared Access = iota
	Open                    // anyone
	SignedIn                // any signed-in user, even without a workspace
	Viewer                  // a member of the workspace
	Editor                  // a member with a role that may change flows and start runs
	Owner                   // a member with a role that may manage members and settings
)

// accessRoles are the least roles of the classes that require membership.
var accessRoles = map[Access]flow.MemberRole{Viewer: flow.MemberViewer, Editor: flow.MemberEditor, Owner: flow.MemberOwner}

// Role returns the least role that the class requires, or "".
func (a Access) Role() flow.MemberRole { return accessRoles[a] }

// Route is one line of the table of routes.
type Route struct {
	Method, Path string
	Access       Access
	Handle       func(*Call) error
}

// hasHead reports whether HEAD requests are served, which monitors and link previews
// send. Event streams, whose paths all end in /events, have no HEAD.
func (r *Route) hasHead() bool {
	return r.Method == http.MethodGet && !strings.HasSuffix(r.Path, "/events")
}

// forRuns reports whether a run may send requests to its own server for the route: it may read, and start runs with forms and
// incoming webhooks.
func (r *Route) forRuns() bool {
	return r.Method == http.MethodGet || strings.HasPrefix(r.Path, "/f/") || strings.HasPrefix(r.Path, "/h/")
}

// isValidText reports whether a URL is valid UTF-8 without NUL; PostgreSQL rejects
// anything else.
func isValidText(u *url.URL) bool { return isText(u.Path) && allText(u.Query()) }

// allText reports whether all values of a form are valid UTF-8 without NUL; PostgreSQL rejects
// anything else. It does not check the names of fields.
func allText(form url.Values) bool {
	for _, values := range form {
		if slices.ContainsFunc(values, func(s string) bool { return !isText(s) }) {
			return false
		}
	}
	return true
}

// isText reports whether a string is valid UTF-8 without NUL.
func isText(s string) bool { return utf8.ValidString(s) && !strings.Contains(s, "\x00") }

// redirectToSignIn redirects a signed-out user who requested a page to the sign-in page, which
// redirects back afterwards. For other requests it returns err.
func (c *Call) redirectToSignIn(err error) error {
	r := c.Request()
	if !errors.Is(err, ErrSignedOut) || r.Method != http.MethodGet && r.Method != http.MethodHead || r.Header.Get("HX-Request") == "true" {
		return err
	}
	return c.Redirect("/sign-in?next=" + url.QueryEscape(r.URL.RequestURI()))
}

// FactorPath is the page that turns on two-step sign-in. It is open to users who must turn it on first.
const FactorPath = "/settings/two-step"

// redirectToFactor sends a user who must turn on two-step sign-in to its page. Other requests than for pages fail.
func (c *Call) redirectToFactor() error {
	if r := c.Request(); r.Method != http.MethodGet && r.Method != http.MethodHead || r.Header.Get("HX-Request") == "true" {
		return errNeedsFactor
	}
	return c.Redirect(FactorPath)
}

// serve authorizes a request and calls its handler.
func (s *Site) serve(r *Route) echo.HandlerFunc {
	return func(ec echo.Context) (err error) {
		defer RecoverPanic(r.Method+" "+r.Path, &err)
		noteRoute(ec.Request().Context(), r.Path)
		c := s.NewCall(ec)
		defer c.release()
		if sender, sent := caller.Of(c.Ctx()); sent && !r.forRuns() {
			return NewError(http.StatusForbidden, "This request was sent by run "+sender.RootRunID+" of this server. Runs may start others, but not answer questions or change anything.")
		}
		if r.Access != Open {
			if err := c.Identify(); err != nil && !(r.Access == SignedIn && errors.Is(err, ErrNoWorkspace)) {
				return c.redirectToSignIn(err)
			}
			if c.LacksFactor() && !strings.HasPrefix(r.Path, FactorPath) {
				return c.redirectToFactor()
			}
			if role := r.Access.Role(); role != "" && !c.Member.Role.AtLeast(role) {
				return errForbidden
			}
		}
		if !isValidText(c.Request().URL) {
			return ErrNotFound
		}
		c.openMemory()
		return r.Handle(c)
	}
}

// RecoverPanic converts a panic of a route's handler to an error, so that the client gets an
// error response. Defer it. It passes on http.ErrAbortHandler, which closes the connection on
// purpose.
func RecoverPanic(route string, err *error) {
	switch v := recover(); v {
	case nil:
	case http.ErrAbortHandler:
		panic(v)
	default:
		*err = fmt.Errorf("panic in %s: %v\n%s", route, v, debug.Stack())
	}
}
