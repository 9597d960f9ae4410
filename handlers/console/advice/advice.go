// Package advice has instructions for users on how to fix failed runs, by error code.
package advice

import (
	"regexp"
	"strings"

	"sluice/flow"
)

// For returns advice for the error of a run, a step or an item, or "" without any.
func For(e *flow.Error) string {
	if e.Code == flow.CodeHTTPFailed && !HasStatus(e) {
		return noResponse(e)
	}
	return byCode[e.Code]
}

// answered matches the message about an unexpected status of a response.
var answered = regexp.MustCompile(`^\S+ answered [1-5]\d\d\b`)

// HasStatus reports whether an http_failed error is about the status of a response. Otherwise
// there was no response, or it could not be used.
func HasStatus(e *flow.Error) bool { return answered.MatchString(e.Message) }

// noResponse is advice for a request without a usable response.
func noResponse(e *flow.Error) string {
	switch {
	case strings.HasPrefix(e.Message, "There is no host named "):
		return "Check the spelling of the host in the URL of the node."
	case e.Retryable:
		return "Check that the server is running and the URL of the node is right. If the error is temporary, give the node retries."
	}
	return "Check the URL of the node and the server behind it."
}

// byCode maps error codes to advice.
var byCode = map[flow.Code]string{
	flow.CodeProviderAuth:        "The provider rejects the credential. Test it under Credentials, or choose another one in the node.",
	flow.CodeProviderRateLimited: "The provider limits the rate of requests. Wait a moment and run it again, or give the node retries with a pause.",
	flow.CodeProviderRejected:    "The provider rejected the request. Check the input of the step: its length, its files, and the settings of the model.",
	flow.CodeProviderUnavailable: "The provider is unavailable, probably for a short time. Run it again, or give the node retries.",
	flow.CodeModelNotFound:       "The provider does not know this model, or this account may not use it. Choose another model in the node.",
	flow.CodeModelIncompatible:   "The model does not support what the node needs. Choose another model, or change the settings of the node.",
	flow.CodeOutputInvalid:       "The output does not match the schema. Loosen the schema, or describe the expected output in the prompt.",
	flow.CodeChildFailed:         "A flow that this node runs failed. Open its run below for the cause. To keep the other items of a map, set \"If an item fails\" to keep.",
	flow.CodeOutputTooLarge:      "The results of the map are too large for lists. Set its results to file.",
	flow.CodeStepTimeout:         "The step took too long. Give the node a longer time limit or less work.",
	flow.CodeRunTimeout:          "The run took too long. Start it with a longer timeout_s, or split it into several runs.",
	flow.CodeInputInvalid:        "The node does not accept a value. Compare the input of the step with the types of the node's ports.",
	flow.CodeExpressionFailed:    "The expression failed for this value. Try it in the node with the input of this step.",
	flow.CodeCodeFailed:          "The code of the node failed. Try it in the node with the input of this step.",
	flow.CodeDestinationBlocked:  "The address is in a private or reserved network. An operator can allow it with SLUICE_ALLOW_PRIVATE.",
	flow.CodeHTTPFailed:          "The server responded with an error. Check the URL and the response in the step. If the error is temporary, give the node retries; if the status is one to expect, add it to the expected statuses.",
	flow.CodePriceUnknown:        "Set the price of the model with 'sluice price set', or allow models without a price under Limits.",
	flow.CodeBudgetExceeded:      "The budget of the key or the flow is used up. Raise it, or wait until it resets.",
	flow.CodePoisoned:            "This run crashed the server several times, so it is not retried. See the server's log for the cause.",
	flow.CodeInternal:            "This is a bug in Sluice. The server's log has the details. A rerun may work.",
	flow.CodeQuotaExceeded:       "The Usage page shows what this workspace stores. Delete runs or files, or ask the operator to raise the quota.",
	flow.CodeQueueFull:           "Too many runs are queued. Try again later, or raise the queue limit of the flow.",
}
