package telemetry

import (
	"strings"
	"testing"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"sluice/flow"
	"sluice/flow/trace"
)

// TestEncode_writes_what_the_generated_messages_read compares requests with those that the generated messages
// describe, for texts whose lengths take one, two and three bytes.
func TestEncode_writes_what_the_generated_messages_read(t *testing.T) {
	t.Parallel()
	str := func(key, s string) *commonpb.KeyValue {
		return &commonpb.KeyValue{Key: key, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: s}}}
	}
	id, span, parent := trace.DeriveID("r"), trace.DeriveSpan("r", "a", 0), trace.DeriveSpan("r", "", 0)
	start := time.Unix(1_770_000_000, 123_456_789)
	for _, n := range []int{1, 70, 100, 126, 127, 128, 200, 16_300, 16_384, 70_000} {
		long := strings.Repeat("é", n)
		s := &spans{run: &flow.Run{Save: true}, trace: id, content: true, to: &exporter{queue: make(chan chunk, queueSize)}}
		s.add(long, span, parent, kindClient, start, start.Add(-time.Second), &flow.Error{Code: "timeout", Message: "slow"},
			text("text", long), text("broken", "a\xffb"), text("none", ""), number("none", 0), number("number", int64(n)), number("negative", -7),
			decimal("decimal", 0.25), list("list", long), list("none", ""), cost(0), cost(1_500_000_000))
		s.add("root", parent, trace.SpanID{}, kindInternal, start, start.Add(time.Second), nil)
		s.flush()
		around := newEnvelope([]attribute{text("service.name", long), text("none", "")}, long)
		var chunks []chunk
		for len(s.to.queue) > 0 {
			chunks = append(chunks, <-s.to.queue)
		}
		var got tracepb.TracesData
		if err := proto.Unmarshal(around.encode(chunks), &got); err != nil {
			t.Fatalf("%d characters: %v", n, err)
		}
		number := func(key string, v int64) *commonpb.KeyValue {
			return &commonpb.KeyValue{Key: key, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: v}}}
		}
		double := func(key string, v float64) *commonpb.KeyValue {
			return &commonpb.KeyValue{Key: key, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_DoubleValue{DoubleValue: v}}}
		}
		want := &tracepb.TracesData{ResourceSpans: []*tracepb.ResourceSpans{{
			Resource: &resourcepb.Resource{Attributes: []*commonpb.KeyValue{str("service.name", long)}},
			ScopeSpans: []*tracepb.ScopeSpans{{
				Scope: &commonpb.InstrumentationScope{Name: "sluice", Version: long},
				Spans: []*tracepb.Span{{
					TraceId: id[:], SpanId: span[:], ParentSpanId: parent[:], Name: long, Kind: tracepb.Span_SPAN_KIND_CLIENT, Flags: 1,
					StartTimeUnixNano: uint64(start.UnixNano()), EndTimeUnixNano: uint64(start.UnixNano()),
					Status: &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: "slow"},
					Attributes: []*commonpb.KeyValue{
						str("text", long), str("broken", "a\uFFFDb"), number("number", int64(n)), number("negative", -7), double("decimal", 0.25),
						{Key: "list", Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_ArrayValue{ArrayValue: &commonpb.ArrayValue{Values: []*commonpb.AnyValue{{Value: &commonpb.AnyValue_StringValue{StringValue: long}}}}}}},
						double(costUSD, 1.5), str(errorType, "timeout"),
					},
				}, {
					TraceId: id[:], SpanId: parent[:], Name: "root", Kind: tracepb.Span_SPAN_KIND_INTERNAL, Flags: 1,
					StartTimeUnixNano: uint64(start.UnixNano()), EndTimeUnixNano: uint64(start.Add(time.Second).UnixNano()),
				}},
			}},
		}}}
		if !proto.Equal(&got, want) {
			t.Fatalf("%d characters: got %.2000v\nwanted %.2000v", n, &got, want)
		}
	}
}
