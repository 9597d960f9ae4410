package hosted

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"sluice/providers"
)

const (
	maxEventLine = 1 << 20  // bytes of one line of an event stream
	maxStream    = 32 << 20 // bytes of one stream
)

// Stream emits the output events of a prediction. It does not retry, because callers poll
// for the output anyway.
func (p *Replicate) Stream(ctx context.Context, secret, address string, emit func(text string)) error {
	if secret == "" {
		return needsCredential()
	}
	if u, err := url.Parse(address); err != nil || !p.trusts(u) { // Poll returns the output anyway
		return badAnswer("Replicate streams from a host that is not its own.")
	}
	resp, failure := p.sendOnce(ctx, p.api, secret, call{
		method: http.MethodGet, url: address, unbounded: true, subject: "this stream",
		header: http.Header{"Accept": {"text/event-stream"}, "Cache-Control": {"no-store"}},
	})
	if failure != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return failure
	}
	defer resp.Body.Close() //nolint:errcheck // the rest of the stream is not needed
	return readStream(ctx, resp.Body, secret, emit)
}

// readStream reads server-sent events and passes the text of "output" events to emit,
// until a "done" event. A stream that ends without one is an error.
func readStream(ctx context.Context, body io.Reader, secret string, emit func(string)) error {
	text := &runeBuffer{emit: emit}
	defer text.flush()
	events := newEvents(body)
	for {
		name, data, err := events.next()
		switch {
		case err != nil:
			return streamError(ctx, err, events.body)
		case name == "output":
			text.write(data)
		case name == "error":
			return badAnswer("The model failed." + quoted(streamedError(data), secret))
		case name == "done":
			return nil
		}
	}
}

// streamError explains why a stream ended before its "done" event. Only a connection
// that broke off is worth a retry.
func streamError(ctx context.Context, err error, body *limitedReader) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, bufio.ErrTooLong) || body.over:
		return &providers.Error{Class: providers.ClassTooLarge, Message: "Replicate's stream holds more than Sluice reads."}
	case errors.Is(err, io.EOF):
		return unavailable("Replicate's stream broke off before the model was done.")
	}
	return asProviderError(err)
}

// streamedError reads the data of an error event: a text or {"detail": …}.
func streamedError(data string) string {
	if said := platformSentence([]byte(data)); said != "" {
		return said
	}
	return data
}

// events is a reader of server-sent events.
type events struct {
	lines *bufio.Scanner
	body  *limitedReader
}

// newEvents returns a reader of server-sent events. Lines longer than maxEventLine and
// bodies longer than maxStream are errors.
func newEvents(r io.Reader) *events {
	body := &limitedReader{r: r, left: maxStream}
	lines := bufio.NewScanner(body)
	lines.Buffer(make([]byte, 0, 4<<10), maxEventLine)
	return &events{lines: lines, body: body}
}

// next returns the next event that has a name. It drops an event that was cut off by the end
// of the stream.
func (e *events) next() (name, data string, err error) {
	var lines []string
	for e.lines.Scan() {
		field, value, _ := strings.Cut(e.lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case e.lines.Text() == "":
			if name != "" {
				return name, strings.Join(lines, "\n"), nil
			}
			lines = nil
		case field == "event":
			name = value
		case field == "data":
			lines = append(lines, value)
		}
	}
	if err := e.lines.Err(); err != nil {
		return "", "", err
	}
	return "", "", io.EOF
}

// runeBuffer buffers a stream so that it emits only complete UTF-8 characters, since a chunk can
// end in the middle of one.
type runeBuffer struct {
	emit func(string)
	rest string
}

// write emits the complete characters of a text and keeps the bytes of an incomplete
// one for the next call. Events can split a character, and emitting both parts would
// make two replacement characters of it.
func (w *runeBuffer) write(text string) {
	text = w.rest + text
	cut := len(text) - incompleteBytes(text)
	w.rest = text[cut:]
	if text = strings.ToValidUTF8(text[:cut], "\uFFFD"); text != "" {
		w.emit(text)
	}
}

// flush emits a replacement character for the bytes of a character that was never
// completed, at the end of the stream.
func (w *runeBuffer) flush() {
	if w.rest != "" {
		w.emit("\uFFFD")
	}
}

// incompleteBytes returns how many bytes at the end of s are the beginning of an incomplete
// character.
func incompleteBytes(s string) int {
	for n := 1; n < utf8.UTFMax && n <= len(s); n++ {
		if c := s[len(s)-n]; utf8.RuneStart(c) {
			if !utf8.FullRuneInString(s[len(s)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}
