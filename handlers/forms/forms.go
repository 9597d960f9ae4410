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
	"sluice/flow/forms"
	"sluice/handlers/web"
	formsview "sluice/views/forms"
	"sluice/views/layout"
)

// formRoutes returns the routes of public forms. The script that embeds a form needs no
// password, because it is the same for all forms.
func (s *Server) formRoutes() []route {
	return []route{
		{http.MethodGet, "/f/:flow", web.Open, withPassword((*formCall).show)},
		{http.MethodPost, "/f/:flow", web.Open, withPassword((*formCall).submit)},
		{http.MethodGet, "/f/:flow/embed.js", web.Open, onForm((*formCall).embed)},
		{http.MethodPost, "/f/:flow/password", web.Open, onForm((*formCall).submitPassword)},
		{http.MethodGet, "/f/:flow/r/:ticket", web.Open, withPassword((*formCall).showResult)},
		{http.MethodGet, "/f/:flow/r/:ticket/events", web.Open, withPasswordForScript((*formCall).followResult)},
		{http.MethodPost, "/f/:flow/r/:ticket/cancel", web.Open, withPassword((*formCall).cancel)},
	}
}

// ticketLife is the lifetime of the link to a result.
const ticketLife = 7 * 24 * time.Hour

// newSeals returns the signer of tickets and password cookies. It uses the key of file
// links, which is persistent and shared by all instances. Without that key, it uses a
// random one, and signatures are valid until this process ends.
func (s *Server) newSeals() *forms.Seals {
	if s.Links != nil && len(s.Links.Key) > 0 {
		return &forms.Seals{Key: s.Links.Key}
	}
	return &forms.Seals{Key: []byte(rand.Text() + rand.Text())}
}

// formCall is a request for a form that is switched on.
type formCall struct {
	*call
	form *forms.Form
	flow *flow.Flow
	doc  *flow.Document // of the live version
}

// onForm wraps a handler of the form in the path. A form that is switched off,
// unpublished, archived or unknown is not found, so that visitors cannot tell
// these apart.
func onForm(handle func(*formCall) error) func(*call) error {
	return func(c *call) error {
		v, err := c.findFormCall(flow.FlowID(c.Param("flow")))
		if err != nil {
			return err
		}
		if len(v.form.Origins) > 0 {
			c.Frames = strings.Join(v.form.Origins, " ")
			c.Response().Header().Del("X-Frame-Options") // it cannot list origins, and would override the policy
		}
		return handle(v)
	}
}

// findFormCall reads the form, its flow and the live document. The form belongs
// to a workspace, but visitors have none, so the form is looked up only by flow
// ID.
func (c *call) findFormCall(flowID flow.FlowID) (*formCall, error) {
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
	return &formCall{call: c, form: form, flow: f, doc: doc}, nil
}

// path returns the path of the form.
func (v *formCall) path() string { return web.FormPath(v.flow.ID) }

// runPath returns the path of a result. The ticket in it is signed and names
// the run.
func (v *formCall) runPath(ticket string) string { return v.path() + "/r/" + url.PathEscape(ticket) }

// title returns the title of the form, or else the name of its flow.
func (v *formCall) title() string {
	if v.form.Title != "" {
		return v.form.Title
	}
	return v.flow.Name
}

// publicPage returns the layout of a page for visitors, without user and workspace.
// Forms with a password are never listed in search engines.
func (v *formCall) publicPage(title string) formsview.PublicPage {
	return formsview.PublicPage{Page: layout.Page{Title: title, Theme: v.Theme()}, Path: v.path(), Unlisted: v.form.Unlisted || v.form.PasswordHash != ""}
}
