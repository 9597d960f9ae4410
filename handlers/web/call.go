package web

import (
	"context"
	"crypto/rand"
	"net/http"
	"sluice/flow"
	"sluice/flow/document"
	"sluice/flow/inflight"
	"sluice/views/components"
	"sluice/views/layout"

	"github.com/labstack/echo/v4"
)

// Call is one request of the dashboard.
type Call struct {
	Exchange
	s        *Site
	Member   *flow.Member     // the signed-in user; nil on open pages
	nonce    string           // allows inline styles of the code editor in the content security policy
	memory   *inflight.Hold   // of the request; nil if memory is unlimited
	received []*inflight.Body // forms
	Frames   string           // origins that may embed the page in a frame; "" allows no origin
	flow     *flow.Flow       // whose pages the page belongs to; nil for others
}

// NewCall returns a call without a member; see Identify.
func (s *Site) NewCall(ec echo.Context) *Call {
	return &Call{Exchange: ec, s: s, nonce: rand.Text()}
}

// Ctx returns the context of the request. It ends when the client disconnects.
func (c *Call) Ctx() context.Context { return c.Request().Context() }

// WorkspaceID returns the ID of the current workspace.
func (c *Call) WorkspaceID() flow.WorkspaceID { return c.Member.WorkspaceID }

// IsFragment reports whether htmx requests a part of a page. For a request from
// which htmx selects parts itself, the whole page is rendered.
func (c *Call) IsFragment() bool {
	h := c.Request().Header
	return h.Get("HX-Request") == "true" && h.Get("HX-Request-Type") != "full"
}

// Page returns the layout around the content of a page: navigation, workspace menu,
// toasts. It takes the toasts out of the session.
func (c *Call) Page(title string, section layout.Section) layout.Page {
	p := layout.Page{Title: title, Section: section, Theme: c.Theme(), Toasts: c.takeToasts(), Nonce: c.nonce, Unsafe: c.s.insecure(), Version: c.s.Version}
	if m := c.Member; m != nil {
		p.Workspace = m.Workspace
		c.workspaceMenu(&p)
		if waiting, err := c.s.Store.CountApprovals(c.Ctx(), m.WorkspaceID); err == nil { // a badge is not worth an error page
			p.Waiting = int(waiting)
		}
		if c.flow != nil {
			p.Flow = c.flowFacts(c.flow)
		}
		p.Person = &layout.Person{Name: m.Name, Email: m.Email, Role: string(m.Role)}
	}
	return p
}

// Theme returns the theme from the cookie, which the server renders into the page, so that
// a dark page never flashes white. Without a cookie it is the theme of the system.
func (c *Call) Theme() layout.Theme {
	if cookie, err := c.Cookie("theme"); err == nil {
		return layout.ParseTheme(cookie.Value)
	}
	return layout.ThemeSystem
}

// Redirect redirects to another page of the dashboard, for htmx by a header.
func (c *Call) Redirect(path string) error {
	h := c.Response().Header()
	h.Set("Cache-Control", "no-store")
	if c.Request().Header.Get("HX-Request") == "true" {
		h.Set("HX-Redirect", path)
		return c.NoContent(http.StatusOK)
	}
	return c.Exchange.Redirect(http.StatusSeeOther, path)
}

// FindFlow returns the flow of the path parameter. For an archived flow it returns
// an error that says so, because pages of its runs still link here.
func (c *Call) FindFlow() (*flow.Flow, error) {
	f, err := c.s.Store.FindFlow(c.Ctx(), c.WorkspaceID(), flow.FlowID(c.Param("flow")))
	if err != nil {
		return nil, err
	}
	if !f.ArchivedAt.IsZero() {
		return nil, errArchived(f)
	}
	c.OfFlow(f)
	return f, nil
}

// OfFlow makes the page one of a flow; Page then fills in what the header of the flow shows.
func (c *Call) OfFlow(f *flow.Flow) { c.flow = f }

// flowFacts returns what the header of a flow's pages shows. Like other badges, what cannot be read is left out.
func (c *Call) flowFacts(f *flow.Flow) components.FlowFacts {
	facts := components.FlowFacts{Changed: f.LiveVersion > 0 && f.LiveHash != flow.DocumentHash(f.Draft)}
	if triggers, runs, err := c.s.Store.FlowCounts(c.Ctx(), f.WorkspaceID, f.ID, components.MaxCountedRuns); err == nil {
		facts.Triggers, facts.Runs = triggers, runs
	}
	if n, err := c.s.Store.CountCases(c.Ctx(), f.ID); err == nil {
		facts.Tests = n
	}
	if !facts.Changed {
		return facts
	}
	if live, err := c.s.Store.FindDocument(c.Ctx(), f.WorkspaceID, f.LiveHash); err == nil {
		old, _ := document.ParseDocument(live)
		if now, _ := document.ParseDocument(f.Draft); old != nil && now != nil {
			facts.Changes = document.Compare(old, now, c.s.Kinds).Count()
		}
	}
	return facts
}

// MayEdit reports whether the user may change flows.
func (c *Call) MayEdit() bool { return c.Member.Role.AtLeast(flow.MemberEditor) }

// Actor returns the signed-in member with the client's address, for the audit log.
func (c *Call) Actor() flow.Actor { return flow.Actor{ID: c.Member.UserID, IP: c.IP()} }
