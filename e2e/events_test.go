package e2e

import (
	"bufio"
	"context"
	"io"
	"strconv"
	"strings"
	"testing"
)

// event is one Server-Sent Event.
type event struct {
	id   int
	name string
	data string
}

// readEvents reads events until the stream ends or stop returns true.
func readEvents(r io.Reader, stop func(event) bool) []event {
	var list []event
	var e event
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 8<<20)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "id":
			e.id, _ = strconv.Atoi(value)
		case "event":
			e.name = value
		case "data":
			e.data = value
		case "":
			if list = append(list, e); stop(e) {
				return list
			}
			e = event{}
		}
	}
	return list
}

// events reads the events of a run after a number, to the end of the stream.
func (c *client) events(r *run, after int) []event {
	c.t.Helper()
	return c.eventsUntil(r, after, func(event) bool { return false })
}

func (c *client) eventsUntil(r *run, after int, stop func(event) bool) []event {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
	defer cancel()
	headers := []string{"Accept: text/event-stream"}
	if after > 0 {
		headers = append(headers, "Last-Event-ID: "+strconv.Itoa(after))
	}
	resp, err := c.open(ctx, "GET", r.path()+"/events", nil, headers...)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream" {
		c.t.Fatalf("the event stream answers %d as %s", resp.StatusCode, resp.Header.Get("Content-Type"))
	}
	return readEvents(resp.Body, stop)
}

// numbered maps what each event reports to its number. A replay may omit states, but an
// event that it contains has the same number as in the live stream.
func numbered(list []event) map[string]int {
	numbers := map[string]int{}
	for _, e := range list {
		numbers[e.name+" "+e.data] = e.id
	}
	return numbers
}

// TestEvents follows a run live, replays it, and compares the event numbers.
func TestEvents(t *testing.T) {
	t.Parallel()
	first, second := newSlowUpstream(t), newSlowUpstream(t)
	second.release()
	s := newServer(t)
	id := s.publish(twoCalls(first.URL, second.URL))
	c := s.client(s.key())
	r := c.start(id, object{"n": "1"})
	live := c.eventsUntil(r, 0, func(e event) bool {
		if e.name == "step" && strings.Contains(e.data, `"a"`) && strings.Contains(e.data, "running") {
			first.release()
		}
		return false
	})
	checkOrder(t, live)
	replay := c.events(r, 0)
	checkOrder(t, replay)
	seen := numbered(live)
	for what, n := range numbered(replay) {
		if live, ok := seen[what]; ok && live != n {
			t.Errorf("live as %d and replayed as %d: %s", live, n, what)
		}
	}
	middle := replay[len(replay)/2].id
	for i, e := range c.events(r, middle) {
		if want := replay[len(replay)/2+1+i]; e != want {
			t.Errorf("after Last-Event-ID %d came %v, wanted %v", middle, e, want)
		}
	}
}

// checkOrder checks that numbers grow, that there is an output, and that the run's end is last.
func checkOrder(t *testing.T, list []event) {
	t.Helper()
	outputs := 0
	for i, e := range list {
		if i > 0 && e.id <= list[i-1].id {
			t.Errorf("the numbers do not grow: %d after %d", e.id, list[i-1].id)
		}
		if e.name == "output" {
			outputs++
		}
	}
	if len(list) == 0 || outputs != 1 || list[len(list)-1].name != "run" || !strings.Contains(list[len(list)-1].data, `"succeeded"`) {
		t.Fatalf("the stream has %d events, %d outputs, and does not end with the run's end: %v", len(list), outputs, list)
	}
}

// TestEvents_keep_numbers_after_crash kills the server in the middle of a run and resumes the stream after
// the start. Events keep their numbers.
func TestEvents_keep_numbers_after_crash(t *testing.T) {
	t.Parallel()
	first, second := newSlowUpstream(t), newSlowUpstream(t)
	first.release()
	s := newServer(t)
	id := s.publish(twoCalls(first.URL, second.URL))
	c := s.client(s.key())
	r := c.start(id, object{"n": "1"})
	before := c.eventsUntil(r, 0, func(e event) bool {
		return e.name == "step" && strings.Contains(e.data, `"b"`) && strings.Contains(e.data, "running")
	})
	s.kill()
	second.release()
	s.start()
	c.await(r)
	after := numbered(c.events(r, 0))
	for what, n := range numbered(before) {
		if strings.Contains(what, "succeeded") && after[what] != n {
			t.Errorf("told as %d before the crash and as %d after it: %s", n, after[what], what)
		}
	}
	last := before[len(before)-1].id
	for _, e := range c.events(r, last) {
		if e.id <= last {
			t.Errorf("event %d came after Last-Event-ID %d", e.id, last)
		}
	}
}

// TestStart_streams_events checks that a start can be answered with the run's events.
func TestStart_streams_events(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	id := s.publish(greeting())
	c := s.client(s.key())
	ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
	defer cancel()
	resp, err := c.open(ctx, "POST", "/v1/flow/"+id+"/run", object{"name": "Ada"}, "Accept: text/event-stream")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	checkOrder(t, readEvents(resp.Body, func(event) bool { return false }))
}
