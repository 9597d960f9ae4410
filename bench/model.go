package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// The pace at which the model responds.
const (
	maxFirstToken = 2 * time.Second        // wait before the first token, at most
	tokenInterval = 100 * time.Millisecond // between tokens
	tokens        = 50
)

// model is a server with OpenAI's API that streams the same response to every
// prompt. It records when it sent the first token of each response; both ends of the
// measured path are in this process, so one clock times them.
type model struct {
	net.Listener
	mu         sync.Mutex
	firstSent  map[string]time.Time // by prompt
	open, peak atomic.Int64         // concurrent responses, now and at most
	text       string               // of a complete response
}

// newModel starts a model on a free port of this machine.
func newModel() (*model, error) {
	m := &model{firstSent: map[string]time.Time{}}
	for i := range tokens {
		m.text += token(i)
	}
	var err error
	m.Listener, err = serveRequests(m.respond)
	return m, err
}

// url returns the base URL for a credential.
func (m *model) url() string { return "http://" + m.Addr().String() + "/v1" }

// token returns a token of typical length.
func token(i int) string { return fmt.Sprintf("word%d ", i) }

// respond reads the prompt and streams the response.
func (m *model) respond(conn net.Conn, body []byte) error {
	var request struct{ Messages []struct{ Content string } }
	if err := json.Unmarshal(body, &request); err != nil || len(request.Messages) == 0 {
		_, _ = io.WriteString(conn, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
		return fmt.Errorf("no messages in %s", body)
	}
	return m.stream(conn, request.Messages[len(request.Messages)-1].Content)
}

// stream sends the header immediately and the tokens later, as models do.
func (m *model) stream(conn net.Conn, prompt string) error {
	m.peak.Store(max(m.peak.Load(), m.open.Add(1))) // a race makes the figure slightly too small
	defer m.open.Add(-1)
	if _, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"); err != nil {
		return err
	}
	time.Sleep(rand.N(maxFirstToken))
	for i := range tokens {
		if i == 0 {
			m.mu.Lock()
			m.firstSent[prompt] = time.Now()
			m.mu.Unlock()
		}
		if err := m.event(conn, `{"content":"`+token(i)+`"}`, "null"); err != nil {
			return err
		}
		time.Sleep(tokenInterval)
	}
	if err := m.event(conn, "{}", `"stop"`); err != nil {
		return err
	}
	return chunk(conn, "data: [DONE]\n\n", "0\r\n\r\n")
}

// event sends one event of the stream.
func (m *model) event(conn net.Conn, delta, stop string) error {
	return chunk(conn, `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":`+delta+`,"finish_reason":`+stop+"}]}\n\n", "")
}

// chunk sends a chunk of the body, and then a text outside of it.
func chunk(conn net.Conn, text, after string) error {
	_, err := fmt.Fprintf(conn, "%x\r\n%s\r\n%s", len(text), text, after)
	return err
}

// firstToken returns when the first token of a response was sent.
func (m *model) firstToken(prompt string) (time.Time, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, ok := m.firstSent[prompt]
	return at, ok
}

// chatRequest returns the request of a caller that calls the model directly.
func chatRequest(name string) []byte {
	return []byte(`{"stream":true,"messages":[{"role":"user","content":"` + name + `"}]}`)
}

// deltaText returns the text in the data of an event, in Sluice's format or the
// model's. If reset is true, it replaces the text so far.
func deltaText(data []byte) (text string, reset bool) {
	var d struct {
		Text    string
		Reset   bool
		Choices []struct{ Delta struct{ Content string } }
	}
	if json.Unmarshal(bytes.TrimSpace(data), &d) != nil {
		return "", false
	}
	for _, c := range d.Choices {
		d.Text += c.Delta.Content
	}
	return strings.Clone(d.Text), d.Reset
}
