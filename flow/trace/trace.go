// Package trace identifies traces and spans as W3C Trace Context does, https://www.w3.org/TR/trace-context/. IDs of spans
// are derived from what they stand for, so a run that moves to another process keeps its trace, and a span that is
// written again has the ID it had. It knows neither runs nor HTTP.
package trace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"time"
)

// ID identifies a trace, and SpanID a span in it. The zero values are invalid.
type (
	ID     [16]byte
	SpanID [8]byte
)

// Parent is a place in a trace: the span that a request was sent from.
type Parent struct {
	Trace   ID
	Span    SpanID
	Sampled bool // the sender writes its spans
}

// Parse reads a traceparent header, and reports whether it is valid. Of later versions of the format it reads the parts
// that this one has, as the specification says.
func Parse(header string) (p Parent, ok bool) {
	parts := strings.Split(header, "-")
	if len(header) > 128 || len(parts) < 4 || parts[0] == "ff" || parts[0] == "00" && len(parts) != 4 {
		return Parent{}, false
	}
	var version, flags [1]byte
	for i, to := range [][]byte{version[:], p.Trace[:], p.Span[:], flags[:]} {
		if len(parts[i]) != 2*len(to) || strings.ToLower(parts[i]) != parts[i] {
			return Parent{}, false
		}
		if _, err := hex.Decode(to, []byte(parts[i])); err != nil {
			return Parent{}, false
		}
	}
	p.Sampled = flags[0]&1 != 0
	if p.Trace == (ID{}) || p.Span == (SpanID{}) {
		return Parent{}, false
	}
	return p, true
}

// String returns the traceparent header.
func (p Parent) String() string {
	flags := "00"
	if p.Sampled {
		flags = "01"
	}
	return "00-" + p.Trace.String() + "-" + hex.EncodeToString(p.Span[:]) + "-" + flags
}

// String returns the hexadecimal form.
func (id ID) String() string { return hex.EncodeToString(id[:]) }

// DeriveID returns the ID of the trace that a run begins.
func DeriveID(run string) (id ID) {
	sum := sha256.Sum256([]byte("trace\x00" + run))
	copy(id[:], sum[:])
	return id
}

// DeriveSpan returns the ID of the span of an attempt at a step of a run. Attempt 0 is the step as a whole; without a path it
// is the run.
func DeriveSpan(run, path string, attempt int64) (id SpanID) {
	sum := sha256.Sum256([]byte("span\x00" + run + "\x00" + path + "\x00" + strconv.FormatInt(attempt, 10)))
	copy(id[:], sum[:])
	return id
}

// parentKey, headerKey and callKey are context keys.
type (
	parentKey struct{}
	headerKey struct{}
	callKey   struct{}
)

// WithParent returns a context for a request that came with a traceparent, which runs that it starts belong to.
func WithParent(ctx context.Context, header string) context.Context {
	if _, ok := Parse(header); !ok {
		return ctx
	}
	return context.WithValue(ctx, parentKey{}, header)
}

// ParentOf returns the traceparent that the request of a context came with, or "".
func ParentOf(ctx context.Context) string {
	header, _ := ctx.Value(parentKey{}).(string)
	return header
}

// WithHeader returns a context whose requests carry a traceparent; "" leaves it unchanged.
func WithHeader(ctx context.Context, header string) context.Context {
	if header == "" {
		return ctx
	}
	return context.WithValue(ctx, headerKey{}, header)
}

// HeaderOf returns the traceparent for requests sent with a context, or "".
func HeaderOf(ctx context.Context) string {
	header, _ := ctx.Value(headerKey{}).(string)
	return header
}

// Call is what a client of models knows of an answer and no result has.
type Call struct {
	Model      string        // that answered, as the provider reports it
	Finish     string        // why the answer ended
	FirstChunk time.Duration // from the request to the first part of the answer; 0 if none came
}

// WithCall returns a context in which a client of models records its call. The caller reads it after the client has returned.
func WithCall(ctx context.Context) (context.Context, *Call) {
	c := &Call{}
	return context.WithValue(ctx, callKey{}, c), c
}

// CallOf returns where to record the call of a context. Without WithCall, it is not read.
func CallOf(ctx context.Context) *Call {
	if c, ok := ctx.Value(callKey{}).(*Call); ok {
		return c
	}
	return &Call{}
}
