package web

import (
	"net/http"
	"net/url"

	"sluice/flow"
	"sluice/flow/forms"
)

// crossOrigin rejects forms that were sent by pages of other sites. The page of a
// form's result is exempt: it sends no referrer, so some browsers send no origin
// either, and the ticket in its URL is a secret of the client.
func crossOrigin() *http.CrossOriginProtection {
	p := http.NewCrossOriginProtection()
	p.AddInsecureBypassPattern("POST /f/{flow}/r/{ticket}/cancel")
	return p
}

// FormVisible reports whether the public form of a flow is on.
func FormVisible(form *forms.Form, f *flow.Flow) bool {
	return form.On && f.LiveVersion > 0 && f.ArchivedAt.IsZero()
}

// FormAddress returns the URL of a flow's public form, or "" if it is off.
func (c *Call) FormAddress(f *flow.Flow) (string, error) {
	form, err := c.s.Store.FindForm(c.Ctx(), f.ID)
	if flow.IsNotFound(err) || err == nil && !FormVisible(form, f) {
		return "", nil
	}
	return c.s.FormURL(f.ID), err
}

// FormURL returns the absolute URL of a flow's public form, for links that are copied.
func (s *Site) FormURL(flowID flow.FlowID) string { return s.PublicURL + FormPath(flowID) }

// FormPath returns the path of a flow's public form on this server.
func FormPath(flowID flow.FlowID) string { return "/f/" + url.PathEscape(string(flowID)) }
