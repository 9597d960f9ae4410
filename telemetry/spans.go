package telemetry

import (
	"cmp"
	"net/url"
	"strings"
	"time"

	"sluice/flow"
	"sluice/flow/trace"
	"sluice/flow/wording"
)

// maxContent bounds an attribute with inputs or outputs, in characters.
const maxContent = 8000

// chunkBytes is the size at which spans of one run are passed on, so that a run with thousands of steps does not fill the
// queue at once.
const chunkBytes = 64 << 10

// chunk is some spans of a run in the format of the protocol: fields of ScopeSpans.
type chunk struct {
	bytes []byte
	spans int64
}

// spans writes the spans of one run.
type spans struct {
	run     *flow.Run
	trace   trace.ID
	content bool
	to      *exporter
	chunk   chunk
	full    bool // there is no room for more spans, so they are only counted
}

// newSpans returns a writer of the spans of a run.
func (t *Tracer) newSpans(run *flow.Run, id trace.ID) *spans {
	return &spans{run: run, trace: id, content: t.cfg.Content, to: t.exporter, full: t.exporter.full()}
}

// add adds a span. Attributes with empty values are left out.
func (s *spans) add(name string, id, parent trace.SpanID, kind kind, start, end time.Time, failure *flow.Error, attributes ...attribute) {
	s.chunk.spans++
	if s.full {
		return
	}
	if end.Before(start) { // clocks of two machines
		end = start
	}
	span := span{trace: s.trace, id: id, parent: parent, name: name, kind: kind, start: start.UnixNano(), end: end.UnixNano()}
	if failure != nil {
		span.failed = true
		if s.hasContent() {
			span.message = wording.Truncate(failure.Message, maxContent)
		}
		attributes = append(attributes, text(errorType, string(failure.Code)))
	}
	s.chunk.bytes = appendSpan(s.chunk.bytes, &span, attributes)
	if len(s.chunk.bytes) >= chunkBytes {
		s.flush()
	}
}

// flush passes the spans on to the exporter.
func (s *spans) flush() {
	if s.chunk.spans > 0 {
		s.to.put(s.chunk)
		s.chunk, s.full = chunk{}, s.to.full()
	}
}

// addRun adds the span of the run itself, below the span that started it.
func (s *spans) addRun(parent trace.SpanID) {
	r := s.run
	var failure *flow.Error
	if r.State == flow.RunFailed {
		if failure = r.Error; failure == nil {
			failure = &flow.Error{Code: flow.CodeInternal}
		}
	}
	name := cmp.Or(r.FlowSlug, string(r.FlowID))
	s.add(invokeWorkflow+" "+name, trace.DeriveSpan(string(r.ID), "", 0), parent, kindInternal, r.CreatedAt, r.EndedAt, failure,
		text(operationName, invokeWorkflow), text(workflowName, name), text(runID, string(r.ID)), text(runState, string(r.State)), text(runTrigger, string(r.Trigger)),
		text(flowID, string(r.FlowID)), text(flowSlug, r.FlowSlug), number(version, r.Version), text(workspace, string(r.WorkspaceID)), cost(r.Usage.CostNanoUSD),
		s.value(input, r.Inputs), s.value(output, r.Outputs))
}

// addSteps adds the spans of the steps that began, and those of their attempts.
func (s *spans) addSteps(steps []flow.Step) {
	written := map[string]bool{}
	for i := range steps {
		if hasSpan(&steps[i]) {
			written[steps[i].Path] = true
		}
	}
	for i := range steps {
		if written[steps[i].Path] {
			s.addStep(&steps[i], s.above(steps[i].Path, written))
		}
	}
}

// hasSpan reports whether a step did something in this run.
func hasSpan(s *flow.Step) bool {
	return !s.StartedAt.IsZero() && !s.EndedAt.IsZero() && s.State != flow.StepReused && s.State != flow.StepSkipped
}

// above returns the span that the span of a step is below: that of the step which it is a part of, or that of the run.
func (s *spans) above(path string, written map[string]bool) trace.SpanID {
	for i := strings.LastIndex(path, flow.SubSeparator); i >= 0; i = strings.LastIndex(path, flow.SubSeparator) {
		if path = path[:i]; written[path] {
			return trace.DeriveSpan(string(s.run.ID), path, 0)
		}
	}
	return trace.DeriveSpan(string(s.run.ID), "", 0)
}

// addStep adds the span of a step. Its attempts have spans of their own if they call a model, or if there are several.
func (s *spans) addStep(step *flow.Step, parent trace.SpanID) {
	name := step.Kind + " " + cmp.Or(step.Path, step.Node)
	id := trace.DeriveSpan(string(s.run.ID), step.Path, 0)
	var failure *flow.Error
	if step.State == flow.StepFailed {
		if failure = step.Error; failure == nil {
			failure = &flow.Error{Code: flow.CodeInternal}
		}
	}
	s.add(name, id, parent, kindInternal, step.StartedAt, step.EndedAt, failure,
		text(stepPath, step.Path), text(stepKind, step.Kind), text(stepState, string(step.State)), cost(step.Usage.CostNanoUSD),
		s.value(input, step.Input), s.value(output, step.Outputs))
	tries := step.Tries()
	operation := operations[step.Kind]
	if operation == "" && len(tries) < 2 {
		return
	}
	for i := range tries {
		a := &tries[i]
		if a.EndedAt.IsZero() { // a crash ended it
			if a.EndedAt = step.EndedAt; i+1 < len(tries) {
				a.EndedAt = tries[i+1].StartedAt
			}
			if a.Error == nil && step.State != flow.StepCanceled {
				a.Error = &flow.Error{Code: interrupted}
			}
		}
		span := trace.DeriveSpan(string(s.run.ID), step.Path, int64(a.Number))
		if operation == "" || a.Model == "" {
			s.add(name, span, id, kindInternal, a.StartedAt, a.EndedAt, a.Error, number(attempt, int64(a.Number)))
			continue
		}
		s.addCall(operation, span, id, a)
	}
}

// addCall adds the span of an attempt that called a model.
func (s *spans) addCall(operation string, span, parent trace.SpanID, a *flow.Attempt) {
	provider, model, _ := strings.Cut(a.Model, "/")
	if name := providerNames[provider]; name != "" {
		provider = name
	}
	attributes := []attribute{
		text(operationName, operation), text(providerName, provider), text(requestModel, model),
		number(inputTokens, a.InputTokens), number(outputTokens, a.OutputTokens), number(cachedTokens, a.CachedTokens), number(reasoning, a.ReasoningTokens),
		cost(a.CostNanoUSD), number(attempt, int64(a.Number)),
	}
	if r := a.Answer; r != nil {
		attributes = append(attributes, text(responseModel, r.Model), list(finishReasons, r.Finish))
		if r.FirstChunkMicros > 0 {
			attributes = append(attributes, decimal(firstChunk, (time.Duration(r.FirstChunkMicros)*time.Microsecond).Seconds()))
		}
	}
	s.add(operation+" "+model, span, parent, kindClient, a.StartedAt, a.EndedAt, a.Error, attributes...)
}

// addDelivery adds the span of an attempt at a delivery of the run.
func (s *spans) addDelivery(d *flow.Delivery, a *flow.DeliveryAttempt) {
	var failure *flow.Error
	if a.Error != "" {
		failure = &flow.Error{Code: flow.Code(cmp.Or(string(a.Cause), "http")), Message: a.Error}
	}
	name := "webhook"
	if d.Node != "" {
		name += " " + d.Node
	}
	host := ""
	if u, err := url.Parse(d.URL); err == nil {
		host = u.Hostname()
	}
	s.add(name, deliverySpan(d.ID, a.StartedAt), trace.DeriveSpan(string(s.run.ID), d.Node, 0), kindClient, a.StartedAt, a.StartedAt.Add(a.Latency), failure,
		text(httpMethod, "POST"), number(httpStatus, int64(a.Status)), text(serverAddress, host), text(delivery, d.ID))
}

// deliverySpan returns the ID of the span of an attempt at a delivery.
func deliverySpan(id string, startedAt time.Time) trace.SpanID {
	return trace.DeriveSpan(id, "", startedAt.UnixMicro())
}

// hasContent reports whether the spans have content. Those of a run with save: false never have any; messages of errors quote it, too.
func (s *spans) hasContent() bool { return s.content && s.run.Save }

// value returns an attribute with content as JSON, or none if content is not to be written.
func (s *spans) value(key string, v any) attribute {
	if s.full || !s.hasContent() {
		return attribute{}
	}
	switch v := v.(type) {
	case *flow.Object:
		if v == nil {
			return attribute{}
		}
	case map[string]any:
		if len(v) == 0 {
			return attribute{}
		}
	}
	return text(key, wording.Truncate(string(flow.EncodeJSON(v)), maxContent))
}
