package providers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// secret is what tests let themselves in with. It must never be seen again.
const secret = "sk-test-0123456789abcdefghij"

// openDoer is a Doer without a guard and with net/http's own redirects, so that
// what holds in these tests is this package's own doing.
type openDoer struct{ transport *http.Transport }

func (d openDoer) HTTPClient(bool) *http.Client { return &http.Client{Transport: d.transport} }

func newDoer(t *testing.T) openDoer {
	t.Helper()
	d := openDoer{&http.Transport{MaxIdleConnsPerHost: 4}}
	t.Cleanup(d.transport.CloseIdleConnections)
	return d
}

// call is a request as a provider received it.
type call struct {
	method, path, query string
	header              http.Header
	body                []byte
}

func (c call) json(t *testing.T) map[string]any {
	t.Helper()
	var body map[string]any
	if err := json.Unmarshal(c.body, &body); err != nil {
		t.Fatalf("the body of %s is not JSON: %v", c.path, err)
	}
	return body
}

// upstream is a provider made of a handler, with what it was asked.
type upstream struct {
	*httptest.Server
	client *Client

	mu    sync.Mutex
	calls []call
}

func setup(t *testing.T, handler http.HandlerFunc) *upstream {
	t.Helper()
	u := &upstream{client: NewClient(newDoer(t))}
	u.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		u.mu.Lock()
		u.calls = append(u.calls, call{r.Method, r.URL.Path, r.URL.RawQuery, r.Header.Clone(), body})
		u.mu.Unlock()
		handler(w, r)
	}))
	t.Cleanup(u.Close)
	return u
}

// at is an endpoint of a preset at this upstream.
func (u *upstream) at(provider string) Endpoint {
	return Endpoint{Provider: provider, BaseURL: u.URL + "/v1", Secret: secret, Trusted: true}
}

func (u *upstream) asked() []call {
	u.mu.Lock()
	defer u.mu.Unlock()
	return append([]call(nil), u.calls...)
}

func (u *upstream) last(t *testing.T) call {
	t.Helper()
	calls := u.asked()
	if len(calls) == 0 {
		t.Fatal("nothing was asked")
	}
	return calls[len(calls)-1]
}

// stream answers with events, flushed one by one.
func stream(w http.ResponseWriter, events ...string) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range events {
		_, _ = io.WriteString(w, e)
		w.(http.Flusher).Flush()
	}
}

// data is an event without a name.
func data(v string) string { return "data: " + v + "\n\n" }

const done = "data: [DONE]\n\n"

// delta is a piece of an answer on OpenAI's wire.
func delta(text string) string {
	piece, _ := json.Marshal(text)
	return data(`{"id":"c1","object":"chat.completion.chunk","model":"m-2026","choices":[{"index":0,"delta":{"content":` + string(piece) + `},"finish_reason":null}]}`)
}

func finish(reason string) string {
	return data(`{"id":"c1","object":"chat.completion.chunk","model":"m-2026","choices":[{"index":0,"delta":{},"finish_reason":"` + reason + `"}]}`)
}

func usage(in, out int) string {
	return data(fmt.Sprintf(`{"id":"c1","object":"chat.completion.chunk","model":"m-2026","choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}}`, in, out, in+out))
}

// says is a whole answer on OpenAI's wire.
func says(text string) []string { return []string{delta(text), finish("stop"), usage(7, 3), done} }

// event is an event of Anthropic's wire.
func event(name, v string) string { return "event: " + name + "\ndata: " + v + "\n\n" }

func claude(blocks ...string) []string {
	events := []string{event("message_start", `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-x","content":[],"stop_reason":null,"usage":{"input_tokens":11,"cache_read_input_tokens":4,"cache_creation_input_tokens":2,"output_tokens":1}}}`)}
	return append(events, blocks...)
}

func claudeText(text string) string {
	piece, _ := json.Marshal(text)
	return event("content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":`+string(piece)+`}}`)
}

func claudeJSON(part string) string {
	piece, _ := json.Marshal(part)
	return event("content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":`+string(piece)+`}}`)
}

func claudeEnd(reason string) string {
	return event("message_delta", `{"type":"message_delta","delta":{"stop_reason":"`+reason+`","stop_sequence":null},"usage":{"output_tokens":9}}`) +
		event("message_stop", `{"type":"message_stop"}`)
}

// failure is the *Error that every failure must be.
func failure(t *testing.T, err error) *Error {
	t.Helper()
	e, ok := errors.AsType[*Error](err)
	if !ok {
		t.Fatalf("got %T %v, wanted an *Error", err, err)
	}
	if strings.Contains(e.Message, secret) || e.Message == "" || strings.ContainsAny(e.Message[len(e.Message)-1:], ": ") {
		t.Errorf("this is no sentence for people: %q", e.Message)
	}
	return e
}

// brief is a context that no test should outlive.
func brief(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func content(text string) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }
}
