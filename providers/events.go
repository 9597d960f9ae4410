package providers

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
)

// events reads the data of Server-Sent Events. It ignores event names, IDs and comments,
// because providers repeat all information in the data.
type events struct {
	session *session
	body    io.Closer
	lines   *bufio.Scanner
	data    []byte
	err     error
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
	resp, err := s.Do(req)
	if err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(make([]byte, 0, 1<<10), maxEvent) // most events contain one word
	return &events{session: s, body: resp.Body, lines: lines}, nil
}

// close closes the response.
func (e *events) close() { _ = e.body.Close() }

// next reads one event and reports whether there was one. An event that
// is truncated by the end of the stream is dropped. The data is valid until
// the next call.
func (e *events) next() bool {
	e.data = e.data[:0]
	for any, size := false, 0; e.lines.Scan(); {
		line := e.lines.Bytes()
		if size += len(line); size > maxEvent {
			e.err = e.session.tooLarge(maxEvent)
			return false
		}
		switch {
		case len(line) == 0 && any:
			return true
		case len(line) == 0:
			size = 0 // comments that keep the connection open
		case bytes.HasPrefix(line, []byte("data:")):
			if any {
				e.data = append(e.data, '\n')
			}
			any = true
			e.data = append(e.data, bytes.TrimPrefix(line[len("data:"):], []byte(" "))...)
		}
	}
	if e.err = e.lines.Err(); errors.Is(e.err, bufio.ErrTooLong) {
		e.err = e.session.tooLarge(maxEvent)
	}
	return false
}
