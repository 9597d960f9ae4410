package editor

import (
	"sluice/flow"
	"sluice/flow/codes"
	"sluice/flow/wording"
	"sluice/handlers/console/advice"
	editorview "sluice/views/editor"
)

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
	return &editorview.Failure{Code: string(e.Code), Text: wording.Sentence(advice.Plain(e, "")), Do: do, Node: e.Node}
}
