// Package advice has instructions for users on how to fix failed runs, by error code.
package advice

import (
	"regexp"
	"strings"

	"sluice/flow"
	"sluice/flow/codes"
)

// For returns advice for the error of a run, a step or an item, or "" without any.
func For(e *flow.Error) string {
	if e.Code == flow.CodeHTTPFailed && !HasStatus(e) {
		return noResponse(e)
	}
	return codes.Of(e.Code).Advice
}

// Plain returns the message of an error for people. model is the model that was called, or "".
func Plain(e *flow.Error, model string) string {
	if e.Code == flow.CodeProviderRateLimited && model != "" {
		return model + " is rate limited."
	}
	if e.Code == flow.CodeChildFailed {
		return ofChild.ReplaceAllString(e.Message, "$1 failed: $2")
	}
	return e.Message
}

// ofChild matches the message about a child run, which names the code and the run for programs.
var ofChild = regexp.MustCompile(`(?s)^(\S+ ?\S*) failed with [a-z_]+: (.*?)(?: See run run_\w+\.)?$`)

// answered matches the message about an unexpected status of a response.
var answered = regexp.MustCompile(`^\S+ answered [1-5]\d\d\b`)

// HasStatus reports whether an http_failed error is about the status of a response. Otherwise
// there was no response, or it could not be used.
func HasStatus(e *flow.Error) bool { return answered.MatchString(e.Message) }

// noResponse is advice for a request without a usable response.
func noResponse(e *flow.Error) string {
	switch {
	case strings.HasPrefix(e.Message, "Can't find "):
		return "Check the URL."
	case e.Retryable:
		return "Check that the server is running and the URL of the node is right. If the error is temporary, give the node retries."
	}
	return "Check the URL of the node and the server behind it."
}
