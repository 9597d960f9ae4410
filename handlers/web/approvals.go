package web

import (
	"net/url"

	"sluice/flow"
)

// ApprovalPath returns the path of the dashboard's page that answers a question.
func ApprovalPath(runID flow.RunID, path string) string {
	return "/approvals/" + url.PathEscape(string(runID)) + "/" + url.PathEscape(path)
}
