package api

import (
	"bufio"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"sluice/flow"
)

// event is one event of a stream.
type event struct {
	id         int
	name, data string
}

// stream is an event stream of the server.
type stream struct {
	t       testing.TB
	resp    *http.Response
	lines   *bufio.Reader
	comment int
}

func (w *env) stream(r request) *stream {
	w.t.Helper()
	r.headers = append([]string{"Accept", "text/event-stream"}, r.headers...)
	resp := w.open(r)
	w.t.Cleanup(func() { resp.Body.Close() })
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream" {
		b, _ := io.ReadAll(resp.Body)
		w.t.Fatalf("stream answers %d %s", resp.StatusCode, b)
	}
	return &stream{t: w.t, resp: resp, lines: bufio.NewReader(resp.Body)}
}

// next returns the next event, or false at the end of the stream.
func (s *stream) next() (e event, ok bool) {
	s.t.Helper()
	for {
		line, err := s.lines.ReadString('\n')
		line = strings.TrimSuffix(line, "\n")
		switch {
		case err == io.EOF:
			return e, false
		case err != nil:
			s.t.Fatal(err)
		case line == "" && e.name != "":
			return e, true
		case strings.HasPrefix(line, ": "):
			s.comment++
			return event{name: "ping"}, true
		}
		field, value, _ := strings.Cut(line, ": ")
		switch field {
		case "id":
			e.id, _ = strconv.Atoi(value)
		case "event":
			e.name = value
		case "data":
			e.data = value
		}
	}
}

func (s *stream) rest() (list []event) {
	s.t.Helper()
	for e, ok := s.next(); ok; e, ok = s.next() {
		list = append(list, e)
	}
	return list
}

func TestStreamEvents(t *testing.T) {
	t.Parallel()
	w := setup(t)
	s := w.stream(request{method: "POST", path: "/v1/flow/" + w.held + "/run", body: `{"gate": "g"}`})
	path := s.resp.Header.Get("Location")
	if path == "" {
		t.Fatal("a stream that starts a run has no Location")
	}
	var live []event
	for e, ok := s.next(); ok; e, ok = s.next() {
		live = append(live, e)
		if e.data == `{"path":"wait","state":"running","attempt":1}` {
			w.gates.open("g")
		}
	}
	last := live[len(live)-1]
	if last.name != "run" || !strings.Contains(last.data, `"status":"succeeded"`) || strings.Contains(last.data, `"inputs"`) {
		t.Errorf("the last event is %v", last)
	}
	for i, e := range live {
		if i > 0 && e.id <= live[i-1].id {
			t.Errorf("event %d follows %d", e.id, live[i-1].id)
		}
	}
	replayed := w.stream(request{method: "GET", path: path + "/events"}).rest()
	if len(replayed) == 0 || !within(replayed, live) {
		t.Errorf("replayed %v, which is not within %v", replayed, live)
	}
	if got := names(replayed); got != "step, output, step, step, step, output, run" && !strings.HasSuffix(got, "output, run") {
		t.Errorf("replayed %s", got)
	}
	middle := replayed[3].id
	after := w.stream(request{method: "GET", path: path + "/events", headers: []string{"Last-Event-ID", strconv.Itoa(middle)}}).rest()
	if len(after) != len(replayed)-4 || after[0].id <= middle {
		t.Errorf("after %d came %v", middle, after)
	}
	a := w.get(path+"/events", "Accept", "text/event-stream", "Last-Event-ID", strconv.Itoa(last.id))
	a.want(t, 204)
	for _, bad := range []string{"x", "-1", "1.5", "99999999999999999999"} {
		w.get(path+"/events", "Accept", "text/event-stream", "Last-Event-ID", bad).wantCode(t, 400, flow.CodeInvalidHeader)
	}
	w.get(path+"/events", "Accept", "application/json").wantCode(t, 406, flow.CodeNotAcceptable)
}

// within reports whether all contains each event of part with the same number.
func within(part, all []event) bool {
	set := map[event]bool{}
	for _, e := range all {
		set[e] = true
	}
	for _, e := range part {
		if !set[e] {
			return false
		}
	}
	return true
}

func names(events []event) string {
	var list []string
	for _, e := range events {
		list = append(list, e.name)
	}
	return strings.Join(list, ", ")
}

func TestStreamOutputs(t *testing.T) {
	t.Parallel()
	w := setup(t)
	path := w.endedRun(w.echo, `{"ticket": "line\nbreak"}`)
	for _, e := range w.stream(request{method: "GET", path: path + "/events"}).rest() {
		if e.name == "output" && e.data != `{"name":"answer","value":"line\nbreak"}` {
			t.Errorf("output event is %s", e.data)
		}
	}
}

func TestStreamPings(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.server.PingInterval = time.Millisecond
	s := w.stream(request{method: "GET", path: w.heldRun("never") + "/events"})
	for s.comment < 3 {
		if _, ok := s.next(); !ok {
			t.Fatal("the stream ended")
		}
	}
}

func TestStreamEndsAtShutdown(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*env){
		"Drain":           func(w *env) { w.server.Drain() },
		"draining runner": func(w *env) { w.runner.draining.Store(true) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := setup(t)
			w.server.PingInterval = 5 * time.Millisecond
			s := w.stream(request{method: "GET", path: w.heldRun("never") + "/events"})
			s.next()
			end(w)
			s.rest()
		})
	}
}

func TestStream_ends_when_the_client_disconnects(t *testing.T) {
	t.Parallel()
	w := setup(t)
	s := w.stream(request{method: "GET", path: w.heldRun("never") + "/events"})
	s.next()
	if n := w.server.gate.held.Load(); n != 1 {
		t.Errorf("%d requests are held", n)
	}
	s.resp.Body.Close()
	w.eventually(func() bool { return w.server.gate.held.Load() == 0 && w.server.gate.busy.Load() == 0 })
}
