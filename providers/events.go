package providers

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"sluice/flow/trace"
	"sluice/flow/value"

	"sluice/providers/eventstream"
)

// How long a stream may stay open after the model has finished its answer. Some servers never
// send the end of the stream. The usage follows the finish reason, so a stream that may still
// send it gets more time.
const (
	lingerUsage = 3 * time.Second
	lingerEnd   = 15 * time.Second
)

// events reads the JSON objects of an answer, on all wire formats: those of an event stream,
// or the documents of a plain JSON body, for servers that do not stream although they were
// asked to. It skips empty data, and data that is not JSON before the first object, such as
// "ping". An object that is an error ends the answer; see session.errorIn.
type events struct {
	session *session
	call    *trace.Call // receives the time of the first object
	start   time.Time   // of the request
	body    io.Closer
	in      *bufio.Reader
	stream  *eventstream.Reader
	json    *json.Decoder // of a plain body; nil for an event stream
	html    bool
	front   []byte // the first bytes of the body, to quote if it is no answer

	data    []byte // the current object
	began   bool   // an object was read
	skipped bool   // data that is not JSON was skipped
	done    bool   // the answer ended properly: "[DONE]", or the end of a plain JSON body
	err     error

	timer *time.Timer // closes the body at until; see linger
	until time.Time
}

// stream sends a JSON body and returns the events of the response, which the caller must
// close.
func (s *session) stream(ctx context.Context, target string, body map[string]any, key string) (*events, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return nil, badRequest("The request to %s cannot be written as JSON.", s.name)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(data))
	if err != nil {
		return nil, badRequest("The address of %s cannot be used.", s.name)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	if key != "" {
		req.Header.Set("Idempotency-Key", idempotencyKey(key))
	}
	start := time.Now()
	resp, err := s.Do(req)
	if err != nil {
		return nil, err
	}
	return &events{session: s, call: trace.CallOf(ctx), start: start, body: resp.Body, in: bufio.NewReader(resp.Body), html: isHTML(resp)}, nil
}

// close closes the response.
func (e *events) close() {
	if e.timer != nil {
		e.timer.Stop()
	}
	_ = e.body.Close()
}

// linger limits how long the stream may stay open, unless a shorter limit is set already. It is
// called when the model has finished.
func (e *events) linger(d time.Duration) {
	until := time.Now().Add(d)
	if e.timer != nil && (!until.Before(e.until) || !e.timer.Stop()) {
		return
	}
	e.until = until
	e.timer = time.AfterFunc(d, func() { _ = e.body.Close() })
}

// next reads one object and reports whether there was one. The data is valid until the next
// call.
func (e *events) next() bool {
	if e.stream == nil {
		e.open()
	}
	for e.err == nil && !e.done {
		name, data, ok := e.read()
		if !ok {
			return false
		}
		if e.err = e.session.errorIn(name, data); e.err != nil {
			return false
		}
		if e.accept(data) {
			return true
		}
	}
	return false
}

// accept reports whether data is an object of the answer. Other data is skipped, or an error
// if the answer has begun.
func (e *events) accept(data []byte) bool {
	switch {
	case json.Valid(data):
		e.data = data
		isObject := data[0] == '{'
		if isObject && !e.began && e.call.FirstChunk == 0 {
			e.call.FirstChunk = time.Since(e.start)
		}
		e.began = e.began || isObject
		return isObject
	case e.began:
		e.err = e.session.notUnderstood()
	}
	e.skipped = true
	return false
}

// open looks at the first byte of the body. In an event stream no field begins with a brace or
// a bracket, so these begin a plain JSON body, whatever the Content-Type says.
func (e *events) open() {
	for {
		r, _, err := e.in.ReadRune()
		if err != nil {
			break
		}
		if !strings.ContainsRune(" \t\r\n"+bom, r) {
			_ = e.in.UnreadRune()
			break
		}
	}
	buffered, _ := e.in.Peek(min(e.in.Buffered(), maxPlain))
	e.front = bytes.Clone(buffered)
	e.stream = eventstream.NewReader(e.in, maxEvent)
	if len(e.front) > 0 && (e.front[0] == '{' || e.front[0] == '[') {
		e.json = json.NewDecoder(io.LimitReader(e.in, maxJSON))
	}
}

// bom is the byte order mark that may begin a body.
const bom = "\uFEFF"

// read returns the next data that is not empty, without white space around it, and the name of
// its event. ok is false at the end.
func (e *events) read() (name string, data []byte, ok bool) {
	if e.json != nil {
		return e.readJSON()
	}
	for {
		event, err := e.stream.Next()
		data := bytes.TrimSpace(event.Data)
		switch {
		case errors.Is(err, eventstream.ErrTooLong):
			e.err = e.session.tooLarge(maxEvent)
			return "", nil, false
		case err == io.EOF:
			return "", nil, false
		case err != nil:
			e.err = err
			return "", nil, false
		case string(data) == "[DONE]":
			e.done = true
			return "", nil, false
		case len(data) == 0 || event.Cut && !json.Valid(data):
			continue // a cut event is used only if its data is evidently whole
		}
		return event.Name, data, true
	}
}

// readJSON returns the next document of a plain body. Of an array it returns the first object,
// because Gemini wraps its errors in one.
func (e *events) readJSON() (name string, data []byte, ok bool) {
	var doc json.RawMessage
	switch err := e.json.Decode(&doc); {
	case err == nil && doc[0] == '[':
		if first := value.Raw(doc).Item(0); first.IsObject() {
			doc = json.RawMessage(first)
		}
		return "", doc, true
	case err == nil:
		return "", doc, true
	case err == io.EOF:
		e.done = e.began
	default:
		e.err = e.session.unreadable(err, e.json.InputOffset() >= maxJSON)
	}
	return "", nil, false
}

// unreadable converts the error of decoding a plain JSON body. over means that the body
// reached its limit. An answer that broke off was begun, so it is not requested again.
func (s *session) unreadable(err error, over bool) error {
	if _, broken := errors.AsType[*json.SyntaxError](err); broken {
		return s.notUnderstood()
	}
	switch {
	case over:
		return s.tooLarge(maxJSON)
	case err == io.ErrUnexpectedEOF:
		return s.cutOff("The connection ended before the answer was complete.")
	}
	if e, ok := errors.AsType[*Error](err); ok && e.Retryable {
		return s.cutOff(e.Message)
	}
	return err
}

// cutOff returns the error of an answer that is not streamed and broke off. The provider has
// done the work, so a retry would be charged again.
func (s *session) cutOff(why string) *Error {
	return &Error{Class: ClassUnavailable, RequestID: s.requestID, Message: "The answer of " + s.name + " broke off. " + why + runAgain}
}

// nothing returns the error of a response without any object. It quotes a short text, which
// proxies send instead of an answer, but nothing of an event stream.
func (e *events) nothing() *Error {
	s := e.session
	text := clean(string(e.front))
	switch {
	case len(e.front) == 0:
		return &Error{Class: ClassUnavailable, Retryable: true, RequestID: s.requestID, Message: s.name + " sent no answer. Check the base URL if this happens again."}
	case isEventLine(text) && !e.skipped: // only comments came
		return s.streamFailed()
	case isEventLine(text):
		return s.notUnderstood()
	}
	return s.plainText(text, e.html)
}

// isEventLine reports whether a body begins like an event stream.
func isEventLine(text string) bool {
	for _, field := range []string{":", "data", "event", "id", "retry"} {
		if strings.HasPrefix(text, field) {
			return true
		}
	}
	return false
}
