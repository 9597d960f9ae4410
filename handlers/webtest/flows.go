package webtest

import (
	"strings"

	"sluice/flow"
)

// CreatedFlow returns the ID of the flow to which the response redirects, by HTTP or htmx. Any
// other response fails the test.
func (a *Answer) CreatedFlow() string {
	a.T.Helper()
	id := strings.TrimPrefix(a.Header.Get("Location")+a.Header.Get("HX-Redirect"), "/flows/")
	if !flow.ValidID(flow.PrefixFlow, id) {
		a.T.Fatalf("status %d redirects to %q: %s", a.Status, id, a.Body)
	}
	return id
}
