package api

import (
	"strings"
	"testing"
	"time"

	"sluice/flow"
)

// away is the error of the store while the database is unavailable.
var away = &flow.Error{Code: flow.CodeUnavailable, Message: "The database cannot be reached at the moment.", Retryable: true, After: 2 * time.Second}

func (m *memory) setBroken(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.broken = err
}

func TestOutage_is_reported_as_unavailable(t *testing.T) {
	t.Parallel()
	w := setup(t)
	path := w.endedRun(w.echo, `{"ticket": "a"}`)
	w.store.setBroken(away)
	w.runner.mu.Lock()
	w.runner.refuse = away
	w.runner.mu.Unlock()
	for _, a := range []*reply{
		w.send(request{method: "GET", path: "/readyz", key: "-"}),
		w.get(path), w.get(path + "/result"), w.get(path+"/events", "Accept", "text/event-stream"),
		w.post("/v1/flow/"+w.echo+"/run", `{"ticket": "a"}`),
	} {
		a.wantCode(t, 503, flow.CodeUnavailable)
		if a.header.Get("Retry-After") != "2" {
			t.Errorf("Retry-After is %q", a.header.Get("Retry-After"))
		}
	}
	w.send(request{method: "GET", path: "/livez", key: "-"}).want(t, 200)
	w.store.setBroken(nil)
	w.send(request{method: "GET", path: "/readyz", key: "-"}).want(t, 200)
	w.get(path).want(t, 200)
}

// TestStreamSurvivesOutage checks that a stream that is open during an outage sends the end of
// the run after it.
func TestStreamSurvivesOutage(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.server.PingInterval = 5 * time.Millisecond
	s := w.stream(request{method: "GET", path: w.heldRun("g") + "/events"})
	for {
		e, ok := s.next()
		if !ok {
			t.Fatal("the stream ended early")
		}
		if strings.Contains(e.data, `"state":"running"`) {
			break
		}
	}
	w.store.setBroken(away)
	for before := s.comment; s.comment < before+3; { // each ping reads the store
		if _, ok := s.next(); !ok {
			t.Fatal("the outage ended the stream")
		}
	}
	w.gates.open("g")
	w.store.setBroken(nil)
	events := s.rest()
	if last := events[len(events)-1]; last.name != "run" || !strings.Contains(last.data, `"status":"succeeded"`) {
		t.Errorf("the last event is %v", last)
	}
}
