package web

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"sluice/flow"
	"sluice/views/layout"

	"github.com/labstack/echo/v4"
)

// Call is one request on its way through a handler.
type Call struct {
	echo.Context
	s      *Site
	Member *flow.Member // who asks; nil on open pages
	nonce  string       // allows the styles that the code editor makes
	Frames string       // origins whose pages may frame the answer; empty: none may
}

// NewCall returns the call of a request that nobody has been identified for.
func (s *Site) NewCall(ec echo.Context) *Call {
	return &Call{Context: ec, s: s, nonce: rand.Text()}
}

func (c *Call) Ctx() context.Context { return c.Request().Context() }

// WorkspaceID is the workspace that the person works in.
func (c *Call) WorkspaceID() string { return c.Member.WorkspaceID }

// IsFragment tells that htmx asks for a part of a page. A request whose answer
// htmx picks parts out of wants the whole page.
func (c *Call) IsFragment() bool {
	h := c.Request().Header
	return h.Get("HX-Request") == "true" && h.Get("HX-Request-Type") != "full"
}

// Page is what stands around the content.
func (c *Call) Page(title string, section layout.Section) layout.Page {
	p := layout.Page{Title: title, Section: section, Theme: c.Theme(), Toasts: c.takeToasts(), Nonce: c.nonce, Unsafe: c.s.unsafe(), Version: c.s.Version}
	if m := c.Member; m != nil {
		p.Workspace = m.Workspace
		p.Workspaces, p.NewWorkspace = c.workspaceChoices()
		p.Person = &layout.Person{Name: m.Name, Email: m.Email, Role: string(m.Role)}
	}
	return p
}

func (c *Call) Theme() layout.Theme {
	if cookie, err := c.Cookie("theme"); err == nil {
		return layout.ParseTheme(cookie.Value)
	}
	return layout.ThemeSystem
}

// Redirect leads to another page of ours.
func (c *Call) Redirect(path string) error {
	h := c.Response().Header()
	h.Set("Cache-Control", "no-store")
	if c.Request().Header.Get("HX-Request") == "true" {
		h.Set("HX-Redirect", path)
		return c.NoContent(http.StatusOK)
	}
	return c.Context.Redirect(http.StatusSeeOther, path)
}

// FindFlow finds the flow of the address, unless it is somebody else's. Of one
// that was put away it says so: pages of its runs still lead here.
func (c *Call) FindFlow() (*flow.Flow, error) {
	f, err := c.s.Store.FindFlow(c.Ctx(), c.WorkspaceID(), c.Param("flow"))
	if err != nil {
		return nil, err
	}
	if !f.ArchivedAt.IsZero() {
		return nil, errArchived(f)
	}
	return f, nil
}

// MayEdit tells whether the person may change flows.
func (c *Call) MayEdit() bool { return c.Member.Role.AtLeast(flow.MemberEditor) }

func (c *Call) Actor() flow.Actor { return flow.Actor{ID: c.Member.UserID, IP: c.IP()} }

func IsNotFound(err error) bool { return errors.Is(err, &flow.Error{Code: flow.CodeNotFound}) }
