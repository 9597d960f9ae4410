package pages

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"sluice/flow"
	"sluice/views"
)

// formStore keeps the forms of flows.
type formStore interface {
	FindForm(ctx context.Context, flowID string) (*flow.Form, error)
	SaveForm(ctx context.Context, f *flow.Form) error
	TakeFormRun(ctx context.Context, flowID string, day, most int64) (taken bool, err error)
	ReturnFormRun(ctx context.Context, flowID string, day int64) error
	EraseFile(ctx context.Context, ws, id string) error
	// TakeRate counts over all instances; nil where there is one.
	TakeRate(ctx context.Context, name string, perMinute int64) (*flow.Rate, error)
}

func (s *Server) formRoutes() []route {
	return []route{
		{http.MethodGet, "/flows/:flow/form", accessViewer, (*call).showFormSettings},
		{http.MethodPost, "/flows/:flow/form", accessEditor, (*call).changeForm},
		{http.MethodGet, "/f/:flow", accessOpen, admitted((*visit).show)},
		{http.MethodPost, "/f/:flow", accessOpen, admitted((*visit).send)},
		{http.MethodPost, "/f/:flow/password", accessOpen, visiting((*visit).takePassword)},
		{http.MethodGet, "/f/:flow/r/:ticket", accessOpen, admitted((*visit).showResult)},
		{http.MethodGet, "/f/:flow/r/:ticket/events", accessOpen, following((*visit).followResult)},
		{http.MethodPost, "/f/:flow/r/:ticket/cancel", accessOpen, admitted((*visit).cancel)},
	}
}

// ticketLife is how long the address of a result works.
const ticketLife = 7 * 24 * time.Hour

// crossOrigin keeps pages of others from sending forms of ours. The page of a
// result gives away no referrer, so that some browsers do not say where what it
// sends comes from; but nobody else knows the ticket in its address.
func crossOrigin() *http.CrossOriginProtection {
	p := http.NewCrossOriginProtection()
	p.AddInsecureBypassPattern("POST /f/{flow}/r/{ticket}/cancel")
	return p
}

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
			c.frames = strings.Join(v.form.Origins, " ")
			c.Response().Header().Del("X-Frame-Options") // knows no origins, and would overrule the policy
		}
		return handle(v)
	}
}

func (c *call) findVisit(flowID string) (*visit, error) {
	if !flow.ValidID(flow.PrefixFlow, flowID) {
		return nil, errNotFound
	}
	form, err := c.s.Store.FindForm(c.ctx(), flowID)
	if err != nil {
		return nil, err
	}
	f, err := c.s.Store.FindFlow(c.ctx(), form.WorkspaceID, flowID)
	if err != nil {
		return nil, err
	}
	if !formShows(form, f) {
		return nil, errNotFound
	}
	data, err := c.s.Store.FindDocument(c.ctx(), f.WorkspaceID, f.LiveHash)
	if err != nil {
		return nil, fmt.Errorf("find the live version of %s: %w", flowID, err)
	}
	doc, _ := flow.ParseDocument(data)
	if doc == nil {
		return nil, fmt.Errorf("the live version of %s cannot be read", flowID)
	}
	return &visit{call: c, form: form, flow: f, doc: doc}, nil
}

// formShows tells whether anybody sees the form.
func formShows(form *flow.Form, f *flow.Flow) bool {
	return form.On && f.LiveVersion > 0 && f.ArchivedAt.IsZero()
}

// formAddress is where a flow's form is; empty when nobody can see it.
func (c *call) formAddress(f *flow.Flow) (string, error) {
	form, err := c.s.Store.FindForm(c.ctx(), f.ID)
	if isMissing(err) || err == nil && !formShows(form, f) {
		return "", nil
	}
	return c.s.formURL(f.ID), err
}

func (s *Server) formURL(flowID string) string { return s.PublicURL + formPath(flowID) }

func formPath(flowID string) string { return "/f/" + url.PathEscape(flowID) }

// path is where the form is, or a run of it.
func (v *visit) path() string { return formPath(v.flow.ID) }

func (v *visit) runPath(ticket string) string { return v.path() + "/r/" + url.PathEscape(ticket) }

// title is what the page is called.
func (v *visit) title() string {
	if v.form.Title != "" {
		return v.form.Title
	}
	return v.flow.Name
}

// public is what stands around a page for anybody: no person, no workspace.
func (v *visit) public(title string) views.PublicPage {
	return views.PublicPage{Page: views.Page{Title: title, Theme: v.theme()}, Path: v.path(), Unlisted: v.form.Unlisted || v.form.PasswordHash != ""}
}
