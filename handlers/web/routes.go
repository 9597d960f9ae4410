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
)

// Access is who may ask. The zero value is no class at all, so a route that
// forgets to declare one is found out.
type Access int

const (
	AccessUndeclared Access = iota
	Open                    // anybody
	SignedIn                // who is signed in
	Viewer                  // a member of the workspace
	Editor                  // a member who may change flows and start runs
	Owner                   // a member who decides about people and settings
)

// Role that a class asks for; empty where none is.
func (a Access) Role() flow.MemberRole {
	switch a {
	case Viewer:
		return flow.MemberViewer
	case Editor:
		return flow.MemberEditor
	case Owner:
		return flow.MemberOwner
	}
	return ""
}

// Route is one line of the table.
type Route struct {
	Method, Path string
	Access       Access
	Handle       func(*Call) error
}

// hasHead tells whether HEAD is answered too, as previews of links and monitors
// ask. The addresses of streams all end alike; there is no head of those.
func (r *Route) hasHead() bool {
	return r.Method == http.MethodGet && !strings.HasSuffix(r.Path, "/events")
}

// isValidText reports whether a URL is valid UTF-8 without NUL; PostgreSQL rejects
// anything else.
func isValidText(u *url.URL) bool { return isText(u.Path) && allText(u.Query()) }

func allText(form url.Values) bool {
	for _, values := range form {
		if slices.ContainsFunc(values, func(s string) bool { return !isText(s) }) {
			return false
		}
	}
	return true
}

// isText tells whether a person can have typed something.
func isText(s string) bool { return utf8.ValidString(s) && !strings.Contains(s, "\x00") }

// redirectToSignIn leads somebody who asked for a page to where they can sign in, and
// from there back.
func (c *Call) redirectToSignIn(err error) error {
	r := c.Request()
	if !errors.Is(err, ErrSignedOut) || r.Method != http.MethodGet && r.Method != http.MethodHead || r.Header.Get("HX-Request") == "true" {
		return err
	}
	return c.Redirect("/sign-in?next=" + url.QueryEscape(r.URL.RequestURI()))
}

// serve authorizes a request and calls its handler. A panic becomes an error
// here, where the response can still be an error page.
func (s *Site) serve(r *Route) echo.HandlerFunc {
	return func(ec echo.Context) (err error) {
		defer func() {
			if v := recover(); v != nil && v != http.ErrAbortHandler {
				err = fmt.Errorf("panic in %s %s: %v\n%s", r.Method, r.Path, v, debug.Stack())
			} else if v != nil {
				panic(v)
			}
		}()
		c := s.NewCall(ec)
		if r.Access != Open {
			if err := c.Identify(); err != nil && !(r.Access == SignedIn && errors.Is(err, ErrNoWorkspace)) {
				return c.redirectToSignIn(err)
			}
			if role := r.Access.Role(); role != "" && !c.Member.Role.AtLeast(role) {
				return errForbidden
			}
		}
		if !isValidText(c.Request().URL) {
			return ErrNotFound
		}
		return r.Handle(c)
	}
}
