package main

import (
	"bufio"
	"bytes"
	"fmt"
	"net/http/httputil"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// asking is input, chat with the model behind the credential, output.
func asking(credential string) []byte {
	chat := node("ask", "chat", object{"model": credential + "/model", "prompt": "{{name}}"})
	return document("Ask", []object{nameInput(), chat, textOutput()}, "name.value", "ask.name", "ask.text", "out.value")
}

// follow sends a head with a body and reads the event stream that comes back;
// told gets the name and the data of each event.
func (w *wire) follow(head, body []byte, told func(event string, data []byte)) error {
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
			told(event, value)
		}
	}
	return lines.Err()
}

// streams is many answers that come at once.
type streams struct {
	*load
	memory float64 // most of the server while they came, in MiB
}

// stream lets each caller take one answer, and times the way of the first token
// from the model to the caller. send makes the request of a caller.
func (b *bench) stream(addr string, callers int, m *model, s *server, send func(name string) (head, body []byte)) (*streams, error) {
	l := &streams{load: &load{}}
	var mu sync.Mutex
	var all sync.WaitGroup
	wires := make([]*wire, callers)
	for i := range wires {
		w, err := dial(addr)
		if err != nil {
			return nil, err
		}
		defer w.close()
		wires[i] = w
	}
	begun := time.Now()
	for i, w := range wires {
		all.Go(func() {
			took, err := m.ask(w, fmt.Sprintf("%s-%d", addr, i), send)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				l.times = append(l.times, took)
			} else if l.errors++; l.errors == 1 {
				fmt.Fprintf(os.Stderr, "  caller %d: %v\n", i, err)
			}
		})
	}
	stop := s.measureMemory(&l.memory)
	all.Wait()
	stop()
	l.took = time.Since(begun)
	slices.Sort(l.times)
	return l, nil
}

// ask takes one answer, checks it and tells how long its first token was on the
// way.
func (m *model) ask(w *wire, name string, send func(name string) (head, body []byte)) (time.Duration, error) {
	head, body := send(name)
	var first time.Time
	var text strings.Builder
	ended := false
	err := w.follow(head, body, func(event string, data []byte) {
		if event == "delta" || event == "" {
			if first.IsZero() {
				first = time.Now()
			}
			more, reset := deltaText(data)
			if reset {
				text.Reset()
			}
			text.WriteString(more)
		}
		ended = ended || event == "" || event == "run" && bytes.Contains(data, []byte(`"status":"succeeded"`))
	})
	sent, asked := m.first(name)
	switch {
	case err != nil:
		return 0, err
	case !ended || !asked:
		return 0, fmt.Errorf("%s: the run did not succeed", name)
	case text.String() != m.wholeAnswer:
		return 0, fmt.Errorf("%s: streamed %q", name, &text)
	}
	return first.Sub(sent), nil
}

// measureMemory keeps the most memory that the server has until it is stopped.
func (s *server) measureMemory(most *float64) (stop func()) {
	return sampleEvery(50*time.Millisecond, func() { *most = max(*most, s.rss()) })
}

// sampleEvery calls f at an interval until it is stopped.
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

func (b *bench) streamRow() error {
	m, err := newModel()
	if err != nil {
		return err
	}
	defer m.Close()
	s, err := b.newServer("SLUICE_WORKERS=1024") // a run that streams has a worker
	if err != nil {
		return err
	}
	defer s.kill()
	if _, err := s.command([]byte("no secret"), "credential", "add", "--name", "bench", "--provider", "openai_compatible", "--base-url", m.url()); err != nil {
		return err
	}
	id, key, err := s.prepare(asking("bench"))
	if err != nil {
		return err
	}
	complete := head("POST", "/v1/chat/completions", "none")
	direct, err := b.stream(m.Addr().String(), b.streams, m, s, func(name string) (head, body []byte) { return complete, prompted(name) })
	if err != nil {
		return err
	}
	m.peak.Store(0)
	start := head("POST", "/v1/flow/"+id+"/run", key, "Accept: text/event-stream")
	before := s.spent()
	var l *streams
	b.profiling(s, func() {
		l, err = b.stream(s.addr, b.streams, m, s, func(name string) (head, body []byte) { return start, []byte(`{"name":"` + name + `"}`) })
	})
	if err != nil {
		return err
	}
	b.errors += l.errors + direct.errors
	b.add(fmt.Sprintf("%s chat steps that stream at once, %d tokens each, %s apart", count(float64(b.streams)), tokens, ms(pause)),
		fmt.Sprintf("first token passed on after p50 %s, p99 %s; at most %s MiB; %d at once; %d errors", ms(l.at(.5)), ms(l.at(.99)), count(l.memory), m.peak.Load(), l.errors),
		"p50 ≤ 1.5 ms, ≤ 180 MiB", fmt.Sprintf("straight from the model p50 %s, p99 %s; %s", ms(direct.at(.5)), ms(direct.at(.99)), before.since(s, len(l.times))))
	return s.stop()
}
