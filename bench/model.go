package main

import (
	"bufio"
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

// How the model speaks.
const (
	thinking = 2 * time.Second        // at most, until the first token
	pause    = 100 * time.Millisecond // between tokens
	tokens   = 50
)

// model is a server that speaks OpenAI's format and streams the same answer to
// every prompt. It notes when the first token of each answer went out.
type model struct {
	net.Listener
	mu          sync.Mutex
	firsts      map[string]time.Time // by prompt
	open, peak  atomic.Int64         // answers under way
	wholeAnswer string
}

func newModel() (*model, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	m := &model{Listener: l, firsts: map[string]time.Time{}}
	for i := range tokens {
		m.wholeAnswer += token(i)
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go m.serve(conn)
		}
	}()
	return m, nil
}

func (m *model) url() string { return "http://" + m.Addr().String() + "/v1" }

// token is a word of the length of most.
func token(i int) string { return fmt.Sprintf("word%d ", i) }

func (m *model) serve(conn net.Conn) {
	defer conn.Close()
	r := bufio.NewReader(conn)
	for {
		body, err := readRequest(r)
		if err != nil {
			return
		}
		var asked struct{ Messages []struct{ Content string } }
		if err := json.Unmarshal(body, &asked); err != nil || len(asked.Messages) == 0 {
			_, _ = io.WriteString(conn, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
			return
		}
		if err := m.answer(conn, asked.Messages[len(asked.Messages)-1].Content); err != nil {
			return
		}
	}
}

// answer streams; the caller is told of it at once and of the text later, as
// models do.
func (m *model) answer(conn net.Conn, prompt string) error {
	m.peak.Store(max(m.peak.Load(), m.open.Add(1))) // a race costs a little of the figure
	defer m.open.Add(-1)
	if _, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"); err != nil {
		return err
	}
	time.Sleep(rand.N(thinking))
	for i := range tokens {
		if i == 0 {
			m.mu.Lock()
			m.firsts[prompt] = time.Now()
			m.mu.Unlock()
		}
		if err := m.event(conn, `{"content":"`+token(i)+`"}`, "null"); err != nil {
			return err
		}
		time.Sleep(pause)
	}
	if err := m.event(conn, "{}", `"stop"`); err != nil {
		return err
	}
	return chunk(conn, "data: [DONE]\n\n", "0\r\n\r\n")
}

func (m *model) event(conn net.Conn, delta, stop string) error {
	return chunk(conn, `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":`+delta+`,"finish_reason":`+stop+"}]}\n\n", "")
}

func chunk(conn net.Conn, text, after string) error {
	_, err := fmt.Fprintf(conn, "%x\r\n%s\r\n%s", len(text), text, after)
	return err
}

// first is when the first token of an answer went out.
func (m *model) first(prompt string) (time.Time, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, ok := m.firsts[prompt]
	return at, ok
}

// prompted is the request of a caller that speaks to the model itself.
func prompted(name string) []byte {
	return []byte(`{"stream":true,"messages":[{"role":"user","content":"` + name + `"}]}`)
}

// deltaText is the text in the data of an event: Sluice's delta, or the model's
// own.
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
