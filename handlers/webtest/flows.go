package webtest

import (
	"strings"

	"sluice/flow"
)

// Made returns the ID of the flow that an answer redirects to, by HTTP or by htmx. Any other
// answer fails the test.
func (a *Answer) Made() string {
	a.T.Helper()
	id := strings.TrimPrefix(a.Header.Get("Location")+a.Header.Get("HX-Redirect"), "/flows/")
	if !flow.ValidID(flow.PrefixFlow, id) {
		a.T.Fatalf("status %d leads to %q: %s", a.Status, id, a.Body)
	}
	return id
}
