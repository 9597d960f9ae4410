package hosted

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"sluice/providers"
	"sluice/providers/eventstream"
)

const (
	maxEvent  = 1 << 20  // bytes of one event of a stream
	maxStream = 32 << 20 // bytes of one stream
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
	limited := &limitedReader{r: body, left: maxStream}
	events := eventstream.NewReader(limited, maxEvent)
	for {
		event, err := events.Next()
		if err == nil && event.Cut {
			err = io.EOF
		}
		switch {
		case err != nil:
			return streamError(ctx, err, limited)
		case event.Name == "output":
			text.write(string(event.Data))
		case event.Name == "error":
			return badAnswer("The model failed." + quoted(streamedError(string(event.Data)), secret))
		case event.Name == "done":
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
	case errors.Is(err, eventstream.ErrTooLong) || body.over:
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
