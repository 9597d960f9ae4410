// Package scripted is a model provider for tests. It plays a script of answers with text, calls
// of tools and reasoning on all wire formats of package providers, and records the requests.
package scripted

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"

	"sluice/flow/value"
)

// Call is a call of a tool.
type Call struct{ ID, Name, Arguments string }

// Answer is one answer of the model.
type Answer struct {
	// Reasoning goes back to the provider with the next request: reasoning_content, encrypted
	// reasoning, or signed thinking.
	Reasoning string
	Text      string
	Calls     []Call
	// Stop is the finish reason in OpenAI's words: stop, tool_calls, length. Empty: what fits.
	Stop          string
	Input, Output int // tokens; 0: 7 and 3
	Cached        int // of Input, on the wire of chat completions
	// Status refuses the request with an error and Text as its message. 0: no error.
	Status int
	// Cut breaks the connection before the end of the answer.
	Cut bool
	// Before, if set, is called before the answer is sent, for tests that must stop a run there.
	Before func()
}

// Request is a request as the provider received it.
type Request struct {
	Path  string
	Key   string         // Idempotency-Key
	Body  map[string]any // as sent
	Raw   []byte         // as sent
	Model string
	Tools []string          // names of the offered tools
	User  string            // the last text of the user
	Calls []Call            // of former answers, in order
	Given map[string]string // results by ID of the call
	// Reasoning is what came back of former answers.
	Reasoning []string
	// Turn is the number of answers in the conversation, so a repeated request has the same.
	Turn int
}

// Server is the provider, a handler of all paths that end with /chat/completions, /responses or
// /v1/messages. It is safe for concurrent use.
type Server struct {
	answer func(*Request) Answer

	mu       sync.Mutex
	requests []*Request
}

// New returns a provider that answers by a function of the request, which may be called by
// several requests at once.
func New(answer func(*Request) Answer) *Server { return &Server{answer: answer} }

// Play returns a provider that gives one answer for each turn of any conversation. It repeats the
// last one.
func Play(answers ...Answer) *Server {
	return New(func(r *Request) Answer { return answers[min(r.Turn, len(answers)-1)] })
}

// Requests returns the requests so far.
func (s *Server) Requests() []*Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*Request(nil), s.requests...)
}

// wires are the wire formats by the end of the path.
var wires = []struct {
	path  string
	read  func(*Request)
	write func(out *writer, model string, a *Answer)
}{
	{"/chat/completions", readChat, writeChat},
	{"/responses", readResponses, writeResponses},
	{"/v1/messages", readMessages, writeMessages},
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for _, wire := range wires {
		if !strings.HasSuffix(r.URL.Path, wire.path) {
			continue
		}
		req := &Request{Path: r.URL.Path, Key: r.Header.Get("Idempotency-Key"), Given: map[string]string{}}
		req.Raw, _ = io.ReadAll(r.Body)
		if err := json.Unmarshal(req.Raw, &req.Body); err != nil {
			http.Error(w, `{"error":{"message":"The request is not JSON."}}`, http.StatusBadRequest)
			return
		}
		req.Model = text(req.Body["model"])
		wire.read(req)
		s.mu.Lock()
		s.requests = append(s.requests, req)
		s.mu.Unlock()
		a := s.answer(req)
		if a.Before != nil {
			a.Before()
		}
		a.serve(w, req, wire.write)
		return
	}
	http.NotFound(w, r)
}

// serve writes an answer.
func (a Answer) serve(w http.ResponseWriter, req *Request, write func(*writer, string, *Answer)) {
	if a.Status != 0 {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(a.Status)
		_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": a.Text, "type": "invalid_request_error"}})
		return
	}
	if a.Input == 0 && a.Output == 0 {
		a.Input, a.Output = 7, 3
	}
	if a.Stop == "" {
		if a.Stop = "stop"; len(a.Calls) > 0 {
			a.Stop = "tool_calls"
		}
	}
	stream, _ := req.Body["stream"].(bool)
	out := &writer{w: w, stream: stream}
	out.begin()
	write(out, req.Model, &a)
	out.finish(a.Cut)
}

// writer writes the events of a stream, or only the whole answer.
type writer struct {
	w      http.ResponseWriter
	stream bool
	whole  any
	events []string
}

// begin writes the header.
func (o *writer) begin() {
	o.w.Header().Set("Content-Type", "application/json")
	if o.stream {
		o.w.Header().Set("Content-Type", "text/event-stream")
	}
}

// event adds an event. Its name is that of its member type, if it has one.
func (o *writer) event(v map[string]any) {
	data, _ := json.Marshal(v)
	line := "data: " + string(data) + "\n\n"
	if name := text(v["type"]); name != "" {
		line = "event: " + name + "\n" + line
	}
	o.events = append(o.events, line)
}

// finish sends the answer, or the first half of it.
func (o *writer) finish(cut bool) {
	if !o.stream {
		data, _ := json.Marshal(o.whole)
		o.events = []string{string(data)}
		if cut {
			o.events = []string{string(data[:len(data)/2]), ""}
		}
	}
	for i, e := range o.events {
		if cut && i >= (len(o.events)+1)/2 {
			panic(http.ErrAbortHandler) // closes the connection
		}
		_, _ = io.WriteString(o.w, e)
		if f, ok := o.w.(http.Flusher); ok {
			f.Flush()
		}
	}
}

// text returns a text, or that of all parts of a list.
func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		var all strings.Builder
		for _, part := range v {
			all.WriteString(text(value.Get(part, "text")))
		}
		return all.String()
	}
	return ""
}

// list returns a list.
func list(v any) []any {
	l, _ := v.([]any)
	return l
}

// halves splits a text, so that it arrives in two pieces.
func halves(s string) []string {
	if len(s) < 2 {
		return []string{s}
	}
	middle := len(s) / 2
	for middle < len(s) && s[middle]&0xC0 == 0x80 { // inside a character
		middle++
	}
	return []string{s[:middle], s[middle:]}
}
