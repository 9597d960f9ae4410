package components

import (
	"net/url"
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
		{"Build", FlowURL(flowID, "")}, {"Runs", templ.SafeURL("/runs?flow=" + url.QueryEscape(flowID))}, {"Triggers", FlowURL(flowID, "/triggers")}, {"Batches", FlowURL(flowID, "/batches")}, {"API", FlowURL(flowID, "/api")}, {"Versions", VersionsURL(flowID)},
		{"Webhooks", FlowURL(flowID, "/webhooks")}, {"Form", FlowURL(flowID, "/form")}, {"Settings", FlowURL(flowID, "/settings")},
	}
}

// ShortURL returns a URL without scheme and query, for display.
func ShortURL(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Host + strings.TrimSuffix(u.Path, "/")
}
