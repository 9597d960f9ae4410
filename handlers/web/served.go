package web

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"sluice/flow/trace"
)

// Served is what is known of a request once it has been answered. It has neither the path nor the query, in which secrets
// can be, such as those of links and forms.
type Served struct {
	Method, Route string // the pattern of the route; empty if none matched
	Status        int
	Bytes         int64 // of the response's body
	Duration      time.Duration
	RequestID     string
	KeyID         string // of the API key; empty without one
	Flow, RunID   string // that the path names, or the run that was started
	TraceID       string // that the request came with
	Address       string // of the client
}

// servedKey is the context key of the *Served of a request.
type servedKey struct{}

// noteRoute records the route of a request. A request that the server makes to its own API while it serves another belongs to
// the route of that.
func noteRoute(ctx context.Context, route string) {
	if s, ok := ctx.Value(servedKey{}).(*Served); ok && s.Route == "" {
		s.Route = route
	}
}

// NoteCall records the route of a request to the API, and the key that it came with.
func NoteCall(ctx context.Context, route, keyID string) {
	noteRoute(ctx, route)
	if s, ok := ctx.Value(servedKey{}).(*Served); ok && keyID != "" {
		s.KeyID = keyID
	}
}

// LogFields returns the attributes of a request for the log: request_id and, if they are known, flow, run_id, key and trace_id.
func LogFields(r *http.Request, requestID, keyID string) []any {
	fields := []any{"request_id", requestID}
	flowRef, runID := namedIn(r.URL.Path)
	traceID := ""
	if p, ok := trace.Parse(trace.ParentOf(r.Context())); ok {
		traceID = p.Trace.String()
	}
	for _, f := range [][2]string{{"flow", flowRef}, {"run_id", runID}, {"key", keyID}, {"trace_id", traceID}} {
		if f[1] != "" {
			fields = append(fields, f[0], f[1])
		}
	}
	return fields
}

// Log writes the request to the access log.
func (s *Served) Log(log *slog.Logger) {
	fields := []any{"request_id", s.RequestID, "method", s.Method, "route", s.Route, "status", s.Status, "bytes", s.Bytes, "duration_ms", float64(s.Duration.Microseconds()) / 1000, "address", s.Address}
	for _, f := range [][2]string{{"flow", s.Flow}, {"run_id", s.RunID}, {"key", s.KeyID}, {"trace_id", s.TraceID}} {
		if f[1] != "" {
			fields = append(fields, f[0], f[1])
		}
	}
	log.Info("request", fields...)
}

// maxNamed bounds what a path names in a log.
const maxNamed = 80

// namedIn returns the flow and the run that a path of the API names.
func namedIn(path string) (flowRef, runID string) {
	parts := strings.Split(path, "/")
	for i := range len(parts) - 1 {
		next := parts[i+1]
		if len(next) > maxNamed || ContainsKey(next) {
			continue
		}
		switch {
		case parts[i] == "flow" && i == 2 && parts[1] == "v1":
			flowRef = next
		case parts[i] == "run" && strings.HasPrefix(next, "run_"):
			runID = next
		}
	}
	return flowRef, runID
}

// serveObserved serves a request and reports it to Observe.
func (e *Edge) serveObserved(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	s := &Served{Method: r.Method}
	o := &observedWriter{ResponseWriter: w}
	defer func() { // also if the handler closes the connection with a panic
		s.Status, s.Bytes, s.Duration = o.status, o.bytes, time.Since(start)
		s.RequestID, s.Address = w.Header().Get("X-Request-Id"), RemoteIP(r)
		s.Flow, s.RunID = namedIn(r.URL.Path)
		if _, run := namedIn(w.Header().Get("Location")); run != "" {
			s.RunID = run
		}
		if p, ok := trace.Parse(r.Header.Get("Traceparent")); ok {
			s.TraceID = p.Trace.String()
		}
		if s.Status == 0 {
			s.Status = StatusClientGone
		}
		e.Observe(s)
	}()
	e.serve(o, r.WithContext(context.WithValue(r.Context(), servedKey{}, s)))
	if o.status == 0 { // net/http responds then
		o.status = http.StatusOK
	}
}

// observedWriter counts a response.
type observedWriter struct {
	http.ResponseWriter
	status int
	bytes  int64
}

// WriteHeader keeps the status. Those below 200 are not the response.
func (o *observedWriter) WriteHeader(status int) {
	if o.status == 0 && status >= 200 {
		o.status = status
	}
	o.ResponseWriter.WriteHeader(status)
}

// Write counts bytes.
func (o *observedWriter) Write(p []byte) (int, error) {
	if o.status == 0 {
		o.status = http.StatusOK
	}
	n, err := o.ResponseWriter.Write(p)
	o.bytes += int64(n)
	return n, err
}

// Flush implements http.Flusher.
func (o *observedWriter) Flush() { _ = http.NewResponseController(o.ResponseWriter).Flush() }

// Unwrap lets http.ResponseController reach the connection.
func (o *observedWriter) Unwrap() http.ResponseWriter { return o.ResponseWriter }
