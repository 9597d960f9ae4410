package forms

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"sluice/flow"
	"sluice/flow/document"
	"sluice/handlers/web"
	formsview "sluice/views/forms"
	"sluice/views/layout"
)

func (s *Server) formRoutes() []route {
	return []route{
		{http.MethodGet, "/f/:flow", web.Open, admitted((*visit).show)},
		{http.MethodPost, "/f/:flow", web.Open, admitted((*visit).send)},
		{http.MethodPost, "/f/:flow/password", web.Open, visiting((*visit).takePassword)},
		{http.MethodGet, "/f/:flow/r/:ticket", web.Open, admitted((*visit).showResult)},
		{http.MethodGet, "/f/:flow/r/:ticket/events", web.Open, following((*visit).followResult)},
		{http.MethodPost, "/f/:flow/r/:ticket/cancel", web.Open, admitted((*visit).cancel)},
	}
}

// ticketLife is how long the address of a result works.
const ticketLife = 7 * 24 * time.Hour

// newSeals signs with the key of the links to files, which outlives this process
// and is the same everywhere. Without one, what was signed ends with the process.
func (s *Server) newSeals() *flow.FormSeals {
	if s.Links != nil && len(s.Links.Key) > 0 {
		return &flow.FormSeals{Key: s.Links.Key}
	}
	return &flow.FormSeals{Key: []byte(rand.Text() + rand.Text())}
}

// visit is a request by whoever has the address of a form.
type visit struct {
	*call
	form *flow.Form
	flow *flow.Flow
	doc  *flow.Document // of the live version
}

// visiting is a handler of a form that is there. What is off, not published,
// archived or unknown is the same to whoever asks.
func visiting(handle func(*visit) error) func(*call) error {
	return func(c *call) error {
		v, err := c.findVisit(c.Param("flow"))
		if err != nil {
			return err
		}
		if len(v.form.Origins) > 0 {
			c.Frames = strings.Join(v.form.Origins, " ")
			c.Response().Header().Del("X-Frame-Options") // knows no origins, and would overrule the policy
		}
		return handle(v)
	}
}

func (c *call) findVisit(flowID string) (*visit, error) {
	if !flow.ValidID(flow.PrefixFlow, flowID) {
		return nil, web.ErrNotFound
	}
	form, err := c.s.Store.FindForm(c.Ctx(), flowID)
	if err != nil {
		return nil, err
	}
	f, err := c.s.Store.FindFlow(c.Ctx(), form.WorkspaceID, flowID)
	if err != nil {
		return nil, err
	}
	if !web.FormVisible(form, f) {
		return nil, web.ErrNotFound
	}
	data, err := c.s.Store.FindDocument(c.Ctx(), f.WorkspaceID, f.LiveHash)
	if err != nil {
		return nil, fmt.Errorf("find the live version of %s: %w", flowID, err)
	}
	doc, _ := document.ParseDocument(data)
	if doc == nil {
		return nil, fmt.Errorf("the live version of %s cannot be read", flowID)
	}
	return &visit{call: c, form: form, flow: f, doc: doc}, nil
}

// path is where the form is, or a run of it.
func (v *visit) path() string { return web.FormPath(v.flow.ID) }

func (v *visit) runPath(ticket string) string { return v.path() + "/r/" + url.PathEscape(ticket) }

// title is what the page is called.
func (v *visit) title() string {
	if v.form.Title != "" {
		return v.form.Title
	}
	return v.flow.Name
}

// public is what stands around a page for anybody: no person, no workspace.
func (v *visit) public(title string) formsview.PublicPage {
	return formsview.PublicPage{Page: layout.Page{Title: title, Theme: v.Theme()}, Path: v.path(), Unlisted: v.form.Unlisted || v.form.PasswordHash != ""}
}
