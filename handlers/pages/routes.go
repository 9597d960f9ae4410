package pages

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

// access is who may ask. The zero value is no class at all, so a route that
// forgets to declare one is found out.
type access int

const (
	accessUndeclared access = iota
	accessOpen              // anybody
	accessPerson            // who is signed in
	accessViewer            // a member of the workspace
	accessEditor            // a member who may change flows and start runs
	accessOwner             // a member who decides about people and settings
)

// role that a class asks for; empty where none is.
func (a access) role() flow.MemberRole {
	switch a {
	case accessViewer:
		return flow.MemberViewer
	case accessEditor:
		return flow.MemberEditor
	case accessOwner:
		return flow.MemberOwner
	}
	return ""
}

// route is one line of the table.
type route struct {
	method, path string
	access       access
	handle       func(*call) error
}

// hasHead tells whether HEAD is answered too, as previews of links and monitors
// ask. The addresses of streams all end alike; there is no head of those.
func (r *route) hasHead() bool {
	return r.method == http.MethodGet && !strings.HasSuffix(r.path, "/events")
}

// table is all routes; each noun's file lists its own.
func (s *Server) table() []route {
	return slices.Concat(
		s.peopleRoutes(),
		s.builderRoutes(),
		s.inspectorRoutes(),
		s.apiRoutes(),
		s.publishRoutes(),
		s.versionRoutes(),
		s.runningRoutes(),
		s.flowRoutes(),
		s.runRoutes(),
		s.formRoutes(),
		s.runListRoutes(),
		s.usageRoutes(),
		s.limitRoutes(),
		s.credentialRoutes(),
		s.deliveryRoutes(),
		s.webhookRoutes(),
		s.keyRoutes(),
		s.modelRoutes(),
		s.docsRoutes(),
	)
}

// serve is the way of every request: who asks, may they, handler. A panic
// becomes an error here, where the answer can still be a page.
func (s *Server) serve(r *route) echo.HandlerFunc {
	return func(ec echo.Context) (err error) {
		defer func() {
			if v := recover(); v != nil && v != http.ErrAbortHandler {
				err = fmt.Errorf("panic in %s %s: %v\n%s", r.method, r.path, v, debug.Stack())
			} else if v != nil {
				panic(v)
			}
		}()
		c := newCall(ec, s)
		if r.access != accessOpen {
			if err := c.identify(); err != nil && !(r.access == accessPerson && errors.Is(err, errNoWorkspace)) {
				return c.signedOut(err)
			}
			if role := r.access.role(); role != "" && !c.member.Role.AtLeast(role) {
				return errForbidden
			}
		}
		if !legible(c.Request().URL) {
			return errNotFound
		}
		return r.handle(c)
	}
}

// legible tells that an address is text. What is none names nothing here, and
// PostgreSQL takes it for nothing.
func legible(u *url.URL) bool { return isText(u.Path) && allText(u.Query()) }

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

// signedOut leads somebody who asked for a page to where they can sign in, and
// from there back.
func (c *call) signedOut(err error) error {
	r := c.Request()
	if !errors.Is(err, errSignedOut) || r.Method != http.MethodGet && r.Method != http.MethodHead || r.Header.Get("HX-Request") == "true" {
		return err
	}
	return c.see("/sign-in?next=" + url.QueryEscape(r.URL.RequestURI()))
}
