package main

import (
	"bufio"
	"bytes"
	"fmt"
	"net/http/httputil"
	"strings"
	"time"
)

// chatting returns the flow input, chat with the model of a credential, output.
func chatting(credential string) []byte {
	chat := node("ask", "chat", object{"model": credential + "/model", "prompt": "{{name}}"})
	return document("Ask", []object{nameInput(), chat, textOutput()}, "name.value", "ask.name", "ask.text", "out.value")
}

// follow sends a request and calls receive with the name and the data of each event
// of the response.
func (w *httpConn) follow(head, body []byte, receive func(event string, data []byte)) error {
	w.out = fmt.Appendf(append(w.out[:0], head...), "%d\r\n\r\n%s", len(body), body)
	if err := w.conn.SetDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		return err
	}
	if _, err := w.conn.Write(w.out); err != nil {
		return err
	}
	status, _, err := w.header()
	if err != nil || status != 200 {
		return unexpected(status, nil, err)
	}
	event := ""
	lines := bufio.NewScanner(httputil.NewChunkedReader(w.r))
	for lines.Scan() {
		name, value, _ := bytes.Cut(lines.Bytes(), []byte(": "))
		switch string(name) {
		case "event":
			event = string(value)
		case "data":
			receive(event, value)
		}
	}
	return lines.Err()
}

// requestFunc returns the request of a caller.
type requestFunc func(name string) (head, body []byte)

// stream lets concurrent callers receive streamed responses and records how long the
// first token of each took from the model to the caller.
func (b *benchmark) stream(addr string, m *model, request requestFunc) *load {
	conns, closeAll, err := dialAll([]string{addr}, b.streams)
	check(err)
	defer closeAll()
	return repeat(b.streams, 0, b.streams, func(i, n int) (time.Duration, error) {
		return m.receive(conns[i], fmt.Sprintf("%s-%d-%d", addr, i, n), request)
	})
}

// receive receives one response, checks it and returns the time that its first token
// took. The text must be complete: a delta may replace what came before it (reset).
func (m *model) receive(w *httpConn, name string, request requestFunc) (time.Duration, error) {
	head, body := request(name)
	var first time.Time
	var text strings.Builder
	ended := false
	err := w.follow(head, body, func(event string, data []byte) {
		if event == "delta" || event == "" {
			now := time.Now()
			more, reset := deltaText(data)
			if first.IsZero() && more != "" { // a piece before the text only names the role
				first = now
			}
			if reset {
				text.Reset()
			}
			text.WriteString(more)
		}
		ended = ended || event == "" || event == "run" && bytes.Contains(data, []byte(`"status":"succeeded"`))
	})
	sent, requested := m.firstToken(name)
	switch {
	case err != nil:
		return 0, err
	case !ended || !requested:
		return 0, fmt.Errorf("%s: the run did not succeed", name)
	case text.String() != m.text:
		return 0, fmt.Errorf("%s: streamed %q", name, &text)
	}
	return first.Sub(sent), nil
}

// sampleEvery calls f at an interval until it is stopped. stop returns after the last call,
// so what f changes can be read without a lock.
func sampleEvery(interval time.Duration, f func()) (stop func()) {
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			f()
			select {
			case <-tick.C:
			case <-done:
				return
			}
		}
	}()
	return func() { close(done); <-stopped }
}

// streamRow compares how long first tokens take through Sluice and directly from the
// model. Only the first token is timed: later ones are sent in batches on purpose, so that
// thousands of streams cost little.
func (b *benchmark) streamRow(s *server) {
	m := must(newModel())
	defer m.Close()
	must(s.command([]byte("no secret"), "credential", "add", "--name", "bench", "--provider", "openai_compatible", "--base-url", m.url()))
	id, key := s.prepare(chatting("bench"))
	complete := head("POST", "/v1/chat/completions", "none")
	direct := b.stream(m.Addr().String(), m, func(name string) (head, body []byte) { return complete, chatRequest(name) })
	m.peak.Store(0)
	start := head("POST", "/v1/flow/"+id+"/run", key, "Accept: text/event-stream")
	before := s.cpuTime()
	var l *load
	memory := 0.0
	stop := sampleEvery(50*time.Millisecond, func() { memory = max(memory, s.rss()) })
	b.profiling(s, func() {
		l = b.stream(s.addr, m, func(name string) (head, body []byte) { return start, []byte(`{"name":"` + name + `"}`) })
	})
	stop()
	b.errors += l.errors + direct.errors
	b.add(fmt.Sprintf("%s chat steps that stream at once, %d tokens each, %s apart", count(float64(b.streams)), tokens, ms(tokenInterval)),
		fmt.Sprintf("first token passed on after p50 %s, p99 %s; at most %s MiB; %d at once; %d errors", ms(l.percentile(.5)), ms(l.percentile(.99)), count(memory), m.peak.Load(), l.errors),
		"p50 ≤ 1.5 ms, ≤ 180 MiB", fmt.Sprintf("straight from the model p50 %s, p99 %s; %s", ms(direct.percentile(.5)), ms(direct.percentile(.99)), before.since(s, len(l.times))))
}
