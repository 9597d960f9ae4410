package telemetry

import (
	"cmp"
	"net/url"
	"strings"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"sluice/flow"
	"sluice/flow/trace"
	"sluice/flow/wording"
)

// maxContent bounds an attribute with inputs or outputs, in characters.
const maxContent = 8000

// spans makes the spans of one run.
type spans struct {
	run     *flow.Run
	trace   trace.ID
	content bool
	list    []*tracepb.Span
}

// add adds a span. Attributes with empty values are left out.
func (s *spans) add(name string, id, parent trace.SpanID, kind tracepb.Span_SpanKind, start, end time.Time, failure *flow.Error, attributes ...*commonpb.KeyValue) {
	if end.Before(start) { // clocks of two machines
		end = start
	}
	span := &tracepb.Span{
		TraceId: s.trace[:], SpanId: id[:], Name: name, Kind: kind, Flags: 1,
		StartTimeUnixNano: uint64(start.UnixNano()), EndTimeUnixNano: uint64(end.UnixNano()),
	}
	if parent != (trace.SpanID{}) {
		span.ParentSpanId = parent[:]
	}
	for _, a := range attributes {
		if a != nil {
			span.Attributes = append(span.Attributes, a)
		}
	}
	if failure != nil {
		span.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR}
		if s.hasContent() {
			span.Status.Message = wording.Truncate(failure.Message, maxContent)
		}
		span.Attributes = append(span.Attributes, text(errorType, string(failure.Code)))
	}
	s.list = append(s.list, span)
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
	s.add(invokeWorkflow+" "+name, trace.DeriveSpan(string(r.ID), "", 0), parent, tracepb.Span_SPAN_KIND_INTERNAL, r.CreatedAt, r.EndedAt, failure,
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
	s.add(name, id, parent, tracepb.Span_SPAN_KIND_INTERNAL, step.StartedAt, step.EndedAt, failure,
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
			s.add(name, span, id, tracepb.Span_SPAN_KIND_INTERNAL, a.StartedAt, a.EndedAt, a.Error, number(attempt, int64(a.Number)))
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
	attributes := []*commonpb.KeyValue{
		text(operationName, operation), text(providerName, provider), text(requestModel, model),
		number(inputTokens, a.InputTokens), number(outputTokens, a.OutputTokens), number(cachedTokens, a.CachedTokens), number(reasoning, a.ReasoningTokens),
		cost(a.CostNanoUSD), number(attempt, int64(a.Number)),
	}
	if r := a.Answer; r != nil {
		attributes = append(attributes, text(responseModel, r.Model))
		if r.Finish != "" {
			attributes = append(attributes, &commonpb.KeyValue{Key: finishReasons, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_ArrayValue{
				ArrayValue: &commonpb.ArrayValue{Values: []*commonpb.AnyValue{{Value: &commonpb.AnyValue_StringValue{StringValue: r.Finish}}}}}}})
		}
		if r.FirstChunkMicros > 0 {
			attributes = append(attributes, decimal(firstChunk, (time.Duration(r.FirstChunkMicros)*time.Microsecond).Seconds()))
		}
	}
	s.add(operation+" "+model, span, parent, tracepb.Span_SPAN_KIND_CLIENT, a.StartedAt, a.EndedAt, a.Error, attributes...)
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
	s.add(name, deliverySpan(d.ID, a.StartedAt), trace.DeriveSpan(string(s.run.ID), d.Node, 0), tracepb.Span_SPAN_KIND_CLIENT, a.StartedAt, a.StartedAt.Add(a.Latency), failure,
		text(httpMethod, "POST"), number(httpStatus, int64(a.Status)), text(serverAddress, host), text(delivery, d.ID))
}

// deliverySpan returns the ID of the span of an attempt at a delivery.
func deliverySpan(id string, startedAt time.Time) trace.SpanID {
	return trace.DeriveSpan(id, "", startedAt.UnixMicro())
}

// hasContent reports whether the spans have content. Those of a run with save: false never have any; messages of errors quote it, too.
func (s *spans) hasContent() bool { return s.content && s.run.Save }

// value returns an attribute with content as JSON, or nil if content is not to be written.
func (s *spans) value(key string, v any) *commonpb.KeyValue {
	if !s.hasContent() {
		return nil
	}
	switch v := v.(type) {
	case *flow.Object:
		if v == nil {
			return nil
		}
	case map[string]any:
		if len(v) == 0 {
			return nil
		}
	}
	return text(key, wording.Truncate(string(flow.EncodeJSON(v)), maxContent))
}

// text, number, decimal and cost return attributes, and nil for an empty value.
func text(key, value string) *commonpb.KeyValue {
	if value == "" {
		return nil
	}
	return &commonpb.KeyValue{Key: key, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: strings.ToValidUTF8(value, "\uFFFD")}}}
}

func number(key string, value int64) *commonpb.KeyValue {
	if value == 0 {
		return nil
	}
	return &commonpb.KeyValue{Key: key, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: value}}}
}

func decimal(key string, value float64) *commonpb.KeyValue {
	return &commonpb.KeyValue{Key: key, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_DoubleValue{DoubleValue: value}}}
}

func cost(amount flow.NanoUSD) *commonpb.KeyValue {
	if amount == 0 {
		return nil
	}
	return decimal(costUSD, amount.Dollars())
}
