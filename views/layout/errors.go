package layout

// Problem is the content of an error page: what happened and what to do next.
type Problem struct {
	Status      int
	Title, Text string
	// RequestID identifies the request in the log; "" if nothing was logged.
	RequestID string
	// Archived is set for an archived flow, which can be restored.
	Archived bool
}

// missing is the advice of a 404 for visitors without a session, who may not know workspaces.
const missing = "Check the URL. The page may have been deleted or turned off; ask the person who sent you the link for a new one."

// ProblemOf returns the error page of an HTTP status. A 404 does not reveal whether the
// resource exists in another workspace.
func ProblemOf(status int, requestID string) Problem {
	switch status {
	case 403:
		return Problem{Status: 403, Title: "Not allowed", Text: "Your role in this workspace doesn’t allow this. Ask an owner to change it (Settings › Members)."}
	case 404:
		return Problem{Status: 404, Title: "Page not found", Text: "Check the URL. The page may have been deleted, or be in another workspace."}
	case 410:
		return Problem{Status: 410, Title: "No longer available", Text: "It was archived, or its content was erased."}
	}
	if status == 503 {
		return Problem{Status: 503, Title: "Sluice is busy", Text: "Your saved work is safe. Try again in a few seconds."}
	}
	if status < 500 {
		return Problem{Status: status, Title: "Request failed", Text: "Nothing was changed. Go back and try again."}
	}
	return Problem{Status: 500, Title: "Internal error", Text: "Your saved work is safe. Try again; if it happens again, look for this request ID in the log.", RequestID: requestID}
}

// forStrangers returns the problem for visitors without a session. The advice of a 404 doesn't
// mention workspaces to them.
func (p Problem) forStrangers() Problem {
	if p.Status == 404 {
		p.Text = missing
	}
	return p
}
