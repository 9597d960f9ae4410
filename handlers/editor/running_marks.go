package editor

import (
	"time"

	"sluice/flow"
	"sluice/flow/wording"
	"sluice/handlers/console/advice"
	editorview "sluice/views/editor"
)

// usageOf converts the usage of a step or run.
func usageOf(u flow.Usage) editorview.Usage {
	return editorview.Usage{InputTokens: u.InputTokens, OutputTokens: u.OutputTokens, CostNanoUSD: int64(u.CostNanoUSD)}
}

// markOf converts a run.
func markOf(run *flow.Run, now time.Time) editorview.RunMark {
	m := editorview.RunMark{
		FlowID: string(run.FlowID), ID: string(run.ID), State: string(run.State), Draft: run.Draft, Version: run.Version, Trigger: string(run.Trigger),
		Done: run.Progress.Done, All: run.Progress.Total, Usage: usageOf(run.Usage), CreatedAt: run.CreatedAt, Error: failureOf(run.Error),
	}
	switch {
	case !run.EndedAt.IsZero() && !run.StartedAt.IsZero():
		m.Duration = max(0, run.EndedAt.Sub(run.StartedAt))
	case !run.StartedAt.IsZero():
		m.Duration = max(0, now.Sub(run.StartedAt))
	}
	return m
}

// failureOf converts an error and adds advice. It returns nil for nil.
func failureOf(e *flow.Error) *editorview.Failure {
	if e == nil {
		return nil
	}
	do := remedies[e.Code]
	if e.Code == flow.CodeHTTPFailed && !advice.HasStatus(e) {
		do = advice.For(e)
	}
	if do == "" && e.Retryable {
		do = "The error may be temporary. Run it again."
	}
	return &editorview.Failure{Code: string(e.Code), Text: wording.Sentence(e.Message), Do: do, Node: e.Node}
}

// remedies are instructions for users, by error code. Unlike package advice, they refer
// to controls of the builder.
var remedies = map[flow.Code]string{
	flow.CodeProviderAuth:        "Check the credential that the node uses under Credentials, then run from here.",
	flow.CodeProviderRateLimited: "Wait a moment and run from here, or turn on retries for the node.",
	flow.CodeProviderRejected:    "Change the model, the prompt or the options of the node.",
	flow.CodeProviderUnavailable: "Run from here in a moment, or turn on retries for the node.",
	flow.CodeModelNotFound:       "Choose another model in the node.",
	flow.CodeModelIncompatible:   "Choose a model that supports this, or remove the option.",
	flow.CodeOutputInvalid:       "Check the output. Loosen the schema or make the prompt more specific.",
	flow.CodeChildFailed:         "Open the child run for the cause and the fix.",
	flow.CodeOutputTooLarge:      "Let the map write its results to a file.",
	flow.CodeStepTimeout:         "Raise the time limit of the node, or give it less work.",
	flow.CodeRunTimeout:          "Find the slow step. A run may take at most an hour.",
	flow.CodeInputInvalid:        "Check the node's input: it received a value that it does not accept.",
	flow.CodeExpressionFailed:    "Fix the expression in the node, then run from here.",
	flow.CodeCodeFailed:          "Fix the code in the node, then run from here.",
	flow.CodeDestinationBlocked:  "An operator can allow private addresses with SLUICE_ALLOW_PRIVATE.",
	flow.CodeHTTPFailed:          "Open the URL yourself, or add the status to the codes that count as success.",
	flow.CodePriceUnknown:        "Set the price of the model, or allow models without a price under Limits.",
	flow.CodeBudgetExceeded:      "Raise the budget under Usage, or wait for the next period.",
	flow.CodePoisoned:            "See the server's log for the cause. Change the flow before you run it again.",
	flow.CodeInternal:            "See the server's log for details. If it happens again, report it with the run's ID.",
}
