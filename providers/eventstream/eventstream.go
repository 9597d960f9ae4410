// Package eventstream reads Server-Sent Events as the HTML standard defines them
// (https://html.spec.whatwg.org/multipage/server-sent-events.html), for every upstream that
// streams: chat models on all wire formats and predictions of the hosting platform.
package eventstream

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// ErrTooLong ends a stream with a line or an event that is longer than the limit of the reader.
var ErrTooLong = errors.New("eventstream: an event exceeds the limit")

// Event is one event of a stream. Data is valid until the next call of Reader.Next.
type Event struct {
	Name string // of the field "event"; "" if it has none
	Data []byte // the lines of the fields "data", joined by line feeds
	// Cut marks an event that was not followed by a blank line before the stream ended.
	// The standard discards it. Servers that leave out the last blank line exist, so
	// callers may use an event whose data is evidently whole.
	Cut bool
}

// Reader reads events. Lines end with CR LF, LF or CR; a byte order mark at the start is
// skipped; comments, IDs, retry times and unknown fields are ignored.
type Reader struct {
	in     *bufio.Reader
	limit  int
	line   []byte
	data   []byte
	begun  bool // the first line was read
	skipLF bool // the last line ended with CR, so a line feed that follows belongs to it
	atEnd  error
}

// NewReader returns a reader of the events in r. limit bounds a line, and the lines of an event
// without comments, in bytes.
func NewReader(r io.Reader, limit int) *Reader {
	in, ok := r.(*bufio.Reader)
	if !ok {
		in = bufio.NewReader(r)
	}
	return &Reader{in: in, limit: limit}
}

// Next returns the next event that has data, which may be empty. At the end of the stream it
// returns io.EOF, or the error that ended the stream.
func (r *Reader) Next() (Event, error) {
	var name string
	hasData := false
	r.data = r.data[:0]
	for size := 0; ; {
		if err := r.readLine(); err != nil {
			if err == io.EOF && hasData {
				return Event{Name: name, Data: r.data, Cut: true}, nil
			}
			return Event{}, err
		}
		if len(r.line) == 0 {
			if hasData {
				return Event{Name: name, Data: r.data}, nil
			}
			name, size = "", 0
			continue
		}
		field, value, _ := bytes.Cut(r.line, []byte(":"))
		if len(field) > 0 { // not a comment
			size += len(r.line)
		}
		if size > r.limit {
			return Event{}, ErrTooLong
		}
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "event":
			name = string(value)
		case "data":
			if hasData {
				r.data = append(r.data, '\n')
			}
			r.data, hasData = append(r.data, value...), true
		}
	}
}

// readLine reads the next line into r.line. It returns as soon as the end of the line has
// arrived, without waiting for the next byte. A line without an end counts as one if the
// stream ends cleanly.
func (r *Reader) readLine() error {
	r.line = r.line[:0]
	if r.atEnd != nil {
		return r.atEnd
	}
	for {
		if _, err := r.in.Peek(1); err != nil {
			r.atEnd = err
			if err == io.EOF && len(r.line) > 0 {
				break
			}
			return err
		}
		chunk, _ := r.in.Peek(r.in.Buffered()) // buffered, so it cannot fail
		if r.skipLF {
			r.skipLF = false
			if chunk[0] == '\n' {
				_, _ = r.in.Discard(1)
				continue
			}
		}
		end := bytes.IndexAny(chunk, "\r\n")
		if n := len(r.line); n+len(chunk) > r.limit && (end < 0 || n+end > r.limit) {
			return ErrTooLong
		}
		if end < 0 {
			r.line = append(r.line, chunk...)
			_, _ = r.in.Discard(len(chunk))
			continue
		}
		r.line = append(r.line, chunk[:end]...)
		r.skipLF = chunk[end] == '\r'
		_, _ = r.in.Discard(end + 1)
		break
	}
	if !r.begun {
		r.begun = true
		r.line = bytes.TrimPrefix(r.line, []byte("\uFEFF"))
	}
	return nil
}
