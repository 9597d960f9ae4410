package components

import (
	"net/url"

	"github.com/a-h/templ"
)

func FlowPath(id string) string { return "/flows/" + url.PathEscape(id) }

func FlowURL(id, rest string) templ.SafeURL { return templ.SafeURL(FlowPath(id) + rest) }

func RunPath(id string) string { return "/runs/" + url.PathEscape(id) }

func VersionsURL(flowID string) templ.SafeURL {
	return templ.SafeURL("/flows/" + url.PathEscape(flowID) + "/versions")
}
