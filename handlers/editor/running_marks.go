package editor

import (
	"time"

	"sluice/flow"
	"sluice/flow/codes"
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
	return editorview.RunMark{
		FlowID: string(run.FlowID), ID: string(run.ID), State: string(run.State), Draft: run.Draft, Version: run.Version, Trigger: string(run.Trigger),
		Done: run.Progress.Done, All: run.Progress.Total, Usage: usageOf(run.Usage), CreatedAt: run.CreatedAt, Duration: run.Duration(now), Error: failureOf(run.Error),
	}
}

// failureOf converts an error and adds advice. It returns nil for nil.
func failureOf(e *flow.Error) *editorview.Failure {
	if e == nil {
		return nil
	}
	do := codes.Of(e.Code).BuilderAdvice
	if e.Code == flow.CodeHTTPFailed && !advice.HasStatus(e) {
		do = advice.For(e)
	}
	if do == "" && e.Retryable {
		do = "The error may be temporary. Run it again."
	}
	return &editorview.Failure{Code: string(e.Code), Text: wording.Sentence(e.Message), Do: do, Node: e.Node}
}
