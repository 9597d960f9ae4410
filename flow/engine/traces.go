package engine

import (
	"context"

	"sluice/flow"
	"sluice/flow/redaction"
	"sluice/flow/trace"
	"sluice/flow/wording"
)

// maxAnswerText bounds texts of a provider that are recorded with an attempt, in characters.
const maxAnswerText = 200

// traceCalls returns a context whose requests carry the trace context of the step, and where a client of models records its call.
// For a step that sends no requests it returns nil.
func (c *execution) traceCalls(ctx context.Context, a Action) (context.Context, *trace.Call) {
	if a.class != flow.Outside {
		return ctx, nil
	}
	if c.Traceparent != nil {
		ctx = trace.WithHeader(ctx, c.Traceparent(&c.plan.run, a.In.Path, a.def.Kind, a.In.Attempt))
	}
	return trace.WithCall(ctx)
}

// answerOf returns what is recorded of a call of a model, or nil if there was none.
func answerOf(call *trace.Call, secrets *redaction.Redactor) *flow.Answer {
	if call == nil || *call == (trace.Call{}) {
		return nil
	}
	return &flow.Answer{
		Model:  wording.Truncate(secrets.Text(call.Model), maxAnswerText),
		Finish: wording.Truncate(secrets.Text(call.Finish), maxAnswerText), FirstChunkMicros: call.FirstChunk.Microseconds(),
	}
}
