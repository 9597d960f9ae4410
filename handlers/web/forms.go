package web

import (
	"net/http"
	"net/url"

	"sluice/flow"
)

// crossOrigin keeps pages of others from sending forms of ours. The page of a
// result gives away no referrer, so that some browsers do not say where what it
// sends comes from; but nobody else knows the ticket in its address.
func crossOrigin() *http.CrossOriginProtection {
	p := http.NewCrossOriginProtection()
	p.AddInsecureBypassPattern("POST /f/{flow}/r/{ticket}/cancel")
	return p
}

// FormShows tells whether anybody sees the form.
func FormVisible(form *flow.Form, f *flow.Flow) bool {
	return form.On && f.LiveVersion > 0 && f.ArchivedAt.IsZero()
}

// FormAddress is where a flow's form is; empty when nobody can see it.
func (c *Call) FormAddress(f *flow.Flow) (string, error) {
	form, err := c.s.Store.FindForm(c.Ctx(), f.ID)
	if IsNotFound(err) || err == nil && !FormVisible(form, f) {
		return "", nil
	}
	return c.s.FormURL(f.ID), err
}

func (s *Site) FormURL(flowID string) string { return s.PublicURL + FormPath(flowID) }

func FormPath(flowID string) string { return "/f/" + url.PathEscape(flowID) }
