package components

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/a-h/templ"
)

// FlowPath returns the path of a flow's builder. The functions below return those of
// other pages; IDs are escaped, because a request may have brought them.
func FlowPath(id string) string { return "/flows/" + url.PathEscape(id) }

func FlowURL(id, rest string) templ.SafeURL { return templ.SafeURL(FlowPath(id) + rest) }

func RunPath(id string) string { return "/runs/" + url.PathEscape(id) }

func VersionsURL(flowID string) templ.SafeURL {
	return templ.SafeURL("/flows/" + url.PathEscape(flowID) + "/versions")
}

// flowTab is a page of a flow.
type flowTab struct {
	label string
	url   templ.SafeURL
}

// flowTabs returns the pages of a flow in order.
func flowTabs(flowID string) []flowTab {
	return []flowTab{
		{"Build", FlowURL(flowID, "")}, {"Runs", templ.SafeURL("/runs?flow=" + url.QueryEscape(flowID))}, {"Tests", FlowURL(flowID, "/tests")}, {"Triggers", FlowURL(flowID, "/triggers")}, {"Batches", FlowURL(flowID, "/batches")}, {"API", FlowURL(flowID, "/api")}, {"Versions", VersionsURL(flowID)},
		{"Webhooks", FlowURL(flowID, "/webhooks")}, {"Form", FlowURL(flowID, "/form")}, {"Settings", FlowURL(flowID, "/settings")},
	}
}

// count returns the number beside a tab, or "".
func (f FlowFacts) count(tab string) string {
	n := map[string]int{"Runs": f.Runs, "Tests": f.Tests, "Triggers": f.Triggers}[tab]
	if n == 0 {
		return ""
	}
	if n >= MaxCountedRuns {
		return Count(MaxCountedRuns-1) + "+"
	}
	return Count(n)
}

func (f FlowFacts) draftWords() string {
	if f.Changes == 0 {
		return "Draft"
	}
	return "Draft · " + Quantity(f.Changes, "change")
}

// draftURL is the comparison of the live version with the draft.
func (f FlowHead) draftURL() templ.SafeURL {
	return FlowURL(f.ID, "/compare?from="+strconv.FormatInt(f.Live, 10)+"&to=draft")
}

// ShortURL returns a URL without scheme and query, for display.
func ShortURL(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Host + strings.TrimSuffix(u.Path, "/")
}
