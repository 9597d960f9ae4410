package layout

// Problem is what an error page says: what happened, and what to do.
type Problem struct {
	Status      int
	Title, Text string
	// RequestID finds the request in the log; empty when there is nothing to find.
	RequestID string
	// Archived tells that it is a flow which can be restored.
	Archived bool
}

// missing is what strangers are told of an address that leads nowhere: they know
// of no workspace.
const missing = "The address may be mistyped, or what was here was deleted or turned off. Whoever gave it to you may have a newer one."

// ProblemOf gives the page of a status. What is missing and what belongs to
// another workspace are the same to the person who asks.
func ProblemOf(status int, requestID string) Problem {
	switch status {
	case 403:
		return Problem{Status: 403, Title: "This is not yours to change", Text: "Your role in this workspace does not allow it. An owner can change your role under Settings, Members."}
	case 404:
		return Problem{Status: 404, Title: "There is nothing here", Text: "The address may be mistyped, or what it named was deleted or is in another workspace."}
	case 410:
		return Problem{Status: 410, Title: "This is no longer here", Text: "What was here was archived, or its content was erased."}
	}
	if status == 503 {
		return Problem{Status: 503, Title: "Sluice is busy", Text: "Nothing that was saved is lost. Try again in a few seconds."}
	}
	if status < 500 {
		return Problem{Status: status, Title: "That did not work", Text: "Nothing was changed. Go back and try again."}
	}
	return Problem{Status: 500, Title: "Something broke on our side", Text: "Nothing that was saved is lost. Try again; if it happens again, look for this request in the log.", RequestID: requestID}
}

func (p Problem) forStrangers() Problem {
	if p.Status == 404 {
		p.Text = missing
	}
	return p
}
