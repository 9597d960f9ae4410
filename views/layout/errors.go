package layout

// Problem is what an error page says: what happened, and what to do.
type Problem struct {
	Status      int
	Title, Text string
	// RequestID finds the request in the log; empty when there is nothing to find.
	RequestID string
	// Archived is set if it is a flow which can be restored.
	Archived bool
}

// missing is what strangers are told of an address that leads nowhere: they know
// of no workspace.
const missing = "Check the URL. The page may have been deleted or turned off; ask the person who sent you the link for a new one."

// ProblemOf gives the page of a status. What is missing and what belongs to
// another workspace are the same to the person who asks.
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

// forStrangers returns the problem for people without a session. They know nothing of
// workspaces, so a 404 tells them to check the URL and ask for a new link instead.
func (p Problem) forStrangers() Problem {
	if p.Status == 404 {
		p.Text = missing
	}
	return p
}
