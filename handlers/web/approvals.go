package web

import "net/url"

// ApprovalPath returns the path of the dashboard's page that answers a question.
func ApprovalPath(runID, path string) string {
	return "/approvals/" + url.PathEscape(runID) + "/" + url.PathEscape(path)
}
