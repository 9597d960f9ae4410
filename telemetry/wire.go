package telemetry

import (
	"math"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"sluice/flow"
	"sluice/flow/trace"
)

// The numbers of the fields are those of opentelemetry-proto 1.x: common/v1/common.proto, resource/v1/resource.proto and
// trace/v1/trace.proto. Spans are written in that format at once, without the generated messages: those took about 30
// allocations a span, an eighth of the processor time of a small run.
const (
	tracesResourceSpans     = 1
	resourceSpansResource   = 1
	resourceSpansScopeSpans = 2
	resourceAttributes      = 1
	scopeSpansScope         = 1
	scopeSpansSpans         = 2
	scopeName               = 1
	scopeVersion            = 2

	spanTraceID    = 1
	spanSpanID     = 2
	spanParentID   = 4
	spanName       = 5
	spanKind       = 6
	spanStart      = 7
	spanEnd        = 8
	spanAttributes = 9
	spanStatus     = 15
	spanFlags      = 16

	statusMessage = 2
	statusCode    = 3
	statusError   = 2

	keyValueKey   = 1
	keyValueValue = 2
	anyString     = 1
	anyInt        = 3
	anyDouble     = 4
	anyArray      = 5
	arrayValues   = 1
)

// kind is the kind of a span in the format.
type kind uint64

const (
	kindInternal kind = 1
	kindClient   kind = 3
)

// sampled is the flag of a span whose trace is written.
const sampled = 1

// attribute is an attribute of a span or of the resource. The zero value stands for none.
type attribute struct {
	key     string
	field   protowire.Number // of AnyValue
	text    string           // of anyString, and the only value of anyArray
	integer int64
	double  float64
}

// text, list, number, decimal and cost return attributes, and none for an empty value.
func text(key, value string) attribute {
	if value == "" {
		return attribute{}
	}
	return attribute{key: key, field: anyString, text: value}
}

// list returns an attribute whose value is a list of one text.
func list(key, value string) attribute {
	if value == "" {
		return attribute{}
	}
	return attribute{key: key, field: anyArray, text: value}
}

func number(key string, value int64) attribute {
	if value == 0 {
		return attribute{}
	}
	return attribute{key: key, field: anyInt, integer: value}
}

func decimal(key string, value float64) attribute {
	return attribute{key: key, field: anyDouble, double: value}
}

func cost(amount flow.NanoUSD) attribute {
	if amount == 0 {
		return attribute{}
	}
	return decimal(costUSD, amount.Dollars())
}

// begin appends the tag of a field that is a message, and room for its length, which end fills in.
func begin(b []byte, field protowire.Number) (_ []byte, start int) {
	b = append(protowire.AppendTag(b, field, protowire.BytesType), 0)
	return b, len(b)
}

// end writes the length of the message that begins at start. Lengths of 128 and more take more than the one byte of room.
func end(b []byte, start int) []byte {
	n := len(b) - start
	if more := protowire.SizeVarint(uint64(n)) - 1; more > 0 {
		b = append(b, make([]byte, more)...)
		copy(b[start+more:], b[start:start+n])
	}
	protowire.AppendVarint(b[:start-1], uint64(n))
	return b
}

func appendString(b []byte, field protowire.Number, s string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), strings.ToValidUTF8(s, "\uFFFD"))
}

func appendBytes(b []byte, field protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), v)
}

func appendNumber(b []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
}

func appendTime(b []byte, field protowire.Number, nanoseconds int64) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(b, field, protowire.Fixed64Type), uint64(nanoseconds))
}

// appendAttribute appends a field with an attribute.
func appendAttribute(b []byte, field protowire.Number, a *attribute) []byte {
	if a.key == "" {
		return b
	}
	b, whole := begin(b, field)
	b = appendString(b, keyValueKey, a.key)
	b, value := begin(b, keyValueValue)
	switch a.field {
	case anyString:
		b = appendString(b, anyString, a.text)
	case anyInt:
		b = appendNumber(b, anyInt, uint64(a.integer))
	case anyDouble:
		b = protowire.AppendFixed64(protowire.AppendTag(b, anyDouble, protowire.Fixed64Type), math.Float64bits(a.double))
	case anyArray:
		array, element := 0, 0
		b, array = begin(b, anyArray)
		b, element = begin(b, arrayValues)
		b = end(end(appendString(b, anyString, a.text), element), array)
	}
	return end(end(b, value), whole)
}

// span is one span in the fields that all have.
type span struct {
	trace      trace.ID
	id, parent trace.SpanID
	name       string
	kind       kind
	start, end int64 // nanoseconds since 1970
	failed     bool
	message    string // of the failure
}

// appendSpan appends a span as a field of ScopeSpans.
func appendSpan(b []byte, s *span, attributes []attribute) []byte {
	b, whole := begin(b, scopeSpansSpans)
	b = appendBytes(b, spanTraceID, s.trace[:])
	b = appendBytes(b, spanSpanID, s.id[:])
	if s.parent != (trace.SpanID{}) {
		b = appendBytes(b, spanParentID, s.parent[:])
	}
	b = appendString(b, spanName, s.name)
	b = appendNumber(b, spanKind, uint64(s.kind))
	b = appendTime(b, spanStart, s.start)
	b = appendTime(b, spanEnd, s.end)
	for i := range attributes {
		b = appendAttribute(b, spanAttributes, &attributes[i])
	}
	if s.failed {
		var status int
		b, status = begin(b, spanStatus)
		if s.message != "" {
			b = appendString(b, statusMessage, s.message)
		}
		b = end(appendNumber(b, statusCode, statusError), status)
	}
	b = protowire.AppendFixed32(protowire.AppendTag(b, spanFlags, protowire.Fixed32Type), sampled)
	return end(b, whole)
}

// envelope is what is around the spans of each request.
type envelope struct {
	resource []byte // a field of ResourceSpans
	scope    []byte // a field of ScopeSpans
}

// newEnvelope returns the envelope of a process.
func newEnvelope(resource []attribute, version string) (e envelope) {
	b, start := begin(nil, resourceSpansResource)
	for i := range resource {
		b = appendAttribute(b, resourceAttributes, &resource[i])
	}
	e.resource = end(b, start)
	b, start = begin(nil, scopeSpansScope)
	e.scope = end(appendString(appendString(b, scopeName, "sluice"), scopeVersion, version), start)
	return e
}

// encode returns chunks of spans as an export request, whose format is that of TracesData.
func (e *envelope) encode(chunks []chunk) []byte {
	inner := len(e.scope)
	for i := range chunks {
		inner += len(chunks[i].bytes)
	}
	outer := len(e.resource) + protowire.SizeTag(resourceSpansScopeSpans) + protowire.SizeBytes(inner)
	b := make([]byte, 0, protowire.SizeTag(tracesResourceSpans)+protowire.SizeBytes(outer))
	b = protowire.AppendVarint(protowire.AppendTag(b, tracesResourceSpans, protowire.BytesType), uint64(outer))
	b = append(b, e.resource...)
	b = protowire.AppendVarint(protowire.AppendTag(b, resourceSpansScopeSpans, protowire.BytesType), uint64(inner))
	b = append(b, e.scope...)
	for i := range chunks {
		b = append(b, chunks[i].bytes...)
	}
	return b
}
