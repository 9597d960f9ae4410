package pages

import (
	"context"
	"crypto/rand"
	"net/http"

	"github.com/labstack/echo/v4"

	"sluice/flow"
	"sluice/views"
)

// call is one request on its way through a handler.
type call struct {
	echo.Context
	s      *Server
	member *flow.Member // who asks; nil on open pages
	nonce  string       // allows the styles that the code editor makes
	frames string       // origins whose pages may frame the answer; empty: none may
}

func newCall(ec echo.Context, s *Server) *call {
	return &call{Context: ec, s: s, nonce: rand.Text()}
}

func (c *call) ctx() context.Context { return c.Request().Context() }

// ws is the workspace that the person works in.
func (c *call) ws() string { return c.member.WorkspaceID }

// partial tells that htmx asks for a part of a page. A request whose answer
// htmx picks parts out of wants the whole page.
func (c *call) partial() bool {
	h := c.Request().Header
	return h.Get("HX-Request") == "true" && h.Get("HX-Request-Type") != "full"
}

// page is what stands around the content.
func (c *call) page(title string, section views.Section) views.Page {
	p := views.Page{Title: title, Section: section, Theme: c.theme(), Toasts: c.takeToasts(), Nonce: c.nonce, Unsafe: c.s.unsafe(), Version: c.s.Version}
	if m := c.member; m != nil {
		p.Workspace = m.Workspace
		p.Workspaces, p.NewWorkspace = c.choices()
		p.Person = &views.Person{Name: m.Name, Email: m.Email, Role: string(m.Role)}
	}
	return p
}

func (c *call) theme() views.Theme {
	if cookie, err := c.Cookie("theme"); err == nil {
		return views.ParseTheme(cookie.Value)
	}
	return views.ThemeSystem
}

// see leads to another page of ours.
func (c *call) see(path string) error {
	h := c.Response().Header()
	h.Set("Cache-Control", "no-store")
	if c.Request().Header.Get("HX-Request") == "true" {
		h.Set("HX-Redirect", path)
		return c.NoContent(http.StatusOK)
	}
	return c.Redirect(http.StatusSeeOther, path)
}
