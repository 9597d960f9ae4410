package web

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

	"sluice/flow"
)

// ErrStreamDone ends an event stream normally: everything was sent, the client has
// disconnected or lost access, or the server drains.
var ErrStreamDone = errors.New("the event stream is over")

// Stream is a response of Server-Sent Events. Events are collected and sent
// together by Flush. It is not safe for concurrent use.
type Stream struct {
	w       *echo.Response
	pending bytes.Buffer
}

// StartStream sends the header of an event stream. Errors after it can only cut
// the response short.
func StartStream(w *echo.Response) *Stream {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // for proxies that would collect events
	w.WriteHeader(http.StatusOK)
	return &Stream{w: w}
}

// Add adds an event with its data as JSON. A client that reconnects sends the ID of
// the last event with an ID; "" omits the ID.
func (s *Stream) Add(id, event string, data any) {
	if id != "" {
		s.pending.WriteString("id: " + id + "\n")
	}
	s.pending.WriteString("event: " + event + "\ndata: ")
	s.pending.Write(flow.EncodeJSON(data))
	s.pending.WriteString("\n\n")
}

// AddData adds an event without a type, with its data as it is.
func (s *Stream) AddData(data []byte) {
	s.pending.WriteString("data: ")
	s.pending.Write(data)
	s.pending.WriteString("\n\n")
}

// AddComment adds a line that clients ignore, which keeps the connection open.
func (s *Stream) AddComment(text string) { s.pending.WriteString(": " + text + "\n\n") }

// Pending reports whether anything waits for Flush.
func (s *Stream) Pending() bool { return s.pending.Len() > 0 }

// Started reports whether any event or comment was sent.
func (s *Stream) Started() bool { return s.w.Size > 0 }

// Flush sends the added events. A client that has disconnected, or that reads
// nothing for a minute, makes it return ErrStreamDone.
func (s *Stream) Flush() error {
	LimitWrite(s.w)
	_, err := s.w.Write(s.pending.Bytes())
	s.pending = bytes.Buffer{} // thousands of streams may be idle
	if err == nil {
		err = http.NewResponseController(s.w).Flush()
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrStreamDone, err)
	}
	return nil
}
