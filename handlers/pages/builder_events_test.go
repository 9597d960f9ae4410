package pages

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sluice/flow"
	"sluice/views"
)

// stream reads the events of a flow.
type stream struct {
	t      *testing.T
	lines  *bufio.Scanner
	cancel context.CancelFunc
}

type streamed struct {
	name, id string
	detail   map[string]any
}

func (b *browser) stream(path, last string) *stream {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	r, err := http.NewRequestWithContext(ctx, "GET", b.base+path, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	resp, err := b.client.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		b.t.Fatalf("status %d", resp.StatusCode)
	}
	b.t.Cleanup(func() { cancel(); resp.Body.Close() })
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	return &stream{b.t, lines, cancel}
}

// next waits for the next event of a name; others are passed over. No name is
// the end of the stream.
func (s *stream) next(name string) (e streamed) {
	s.t.Helper()
	for s.lines.Scan() {
		key, value, _ := strings.Cut(s.lines.Text(), ": ")
		switch key {
		case "id":
			e.id = value
		case "event":
			e.name = value
		case "data":
			if err := json.Unmarshal([]byte(value), &e.detail); err != nil {
				s.t.Fatalf("%v in %s", err, value)
			}
		case "":
			if e.name == name && name != "" {
				return e
			}
			e = streamed{}
		}
	}
	if name != "" {
		s.t.Fatalf("the stream ended before %s", name)
	}
	return streamed{}
}

func TestFlowEvents(t *testing.T) {
	t.Parallel()
	h := setup(t)
	editor := h.as(flow.MemberEditor)
	open := func() (id string, rev int64) { id = h.flow(sampleFlow); return id, h.rev(id) }
	t.Run("bring what others do", func(t *testing.T) {
		id, rev := open()
		s := h.as(flow.MemberViewer).stream(fmt.Sprintf("/flows/%s/events?rev=%d", id, rev), "")
		s.next("flow:people")
		editor.postJSON("/flows/"+id+"/ops", transaction(rev, "a", rename)).is(http.StatusOK)
		e := s.next("flow:ops")
		if e.id != fmt.Sprint(rev+1) || e.detail["txid"] != "a" || !strings.Contains(e.detail["html"].(string), "Which &lt;team&gt;") || e.detail["problems"] == "" {
			t.Errorf("got %+v", e)
		}
	})
	t.Run("begin with what was missed, by the last ID", func(t *testing.T) {
		id, rev := open()
		for i, op := range []string{rename, `{"op": "move", "nodes": {"team": {"x": 1, "y": 1}}}`, `{"op": "remove", "nodes": ["answer"]}`} {
			editor.postJSON("/flows/"+id+"/ops", transaction(rev+int64(i), fmt.Sprint("tx", i), op)).is(http.StatusOK)
		}
		s := editor.stream(fmt.Sprintf("/flows/%s/events?rev=%d", id, rev), fmt.Sprint(rev+1))
		first, second := s.next("flow:ops"), s.next("flow:ops")
		if first.detail["txid"] != "tx1" || second.detail["txid"] != "tx2" || first.detail["html"] != nil {
			t.Errorf("got %+v and %+v", first, second)
		}
	})
	t.Run("ask for a new page when the draft was replaced", func(t *testing.T) {
		id, rev := open()
		s := editor.stream(fmt.Sprintf("/flows/%s/events?rev=%d", id, rev), "")
		s.next("flow:people")
		if _, err := h.library.Import(t.Context(), flow.DefaultWorkspace, id, []byte(strings.Replace(sampleFlow, "Hello", "Dear", 1))); err != nil {
			t.Fatal(err)
		}
		h.server.FlowEdited(flow.DefaultWorkspace, id, 0)
		s.next("flow:reload")
	})
	t.Run("say who is here", func(t *testing.T) {
		id, rev := open()
		path := fmt.Sprintf("/flows/%s/events?rev=%d", id, rev)
		s := editor.stream(path, "")
		if e := s.next("flow:people"); strings.Contains(e.detail["html"].(string), "<li") {
			t.Errorf("nobody else is here, but: %v", e.detail)
		}
		other := h.as(flow.MemberViewer).stream(path, "")
		if e := s.next("flow:people"); strings.Count(e.detail["html"].(string), "<li") != 1 {
			t.Errorf("somebody came, but: %v", e.detail)
		}
		other.cancel()
		if e := s.next("flow:people"); strings.Contains(e.detail["html"].(string), "<li") {
			t.Errorf("they left, but: %v", e.detail)
		}
	})
	t.Run("tell of what happens to the flow", func(t *testing.T) {
		id, rev := open()
		s := editor.stream(fmt.Sprintf("/flows/%s/events?rev=%d", id, rev), "")
		s.next("flow:people")
		h.server.announce(id, "flow:published", map[string]any{"version": 3})
		if e := s.next("flow:published"); fmt.Sprint(e.detail["version"]) != "3" {
			t.Errorf("got %+v", e)
		}
	})
	t.Run("end when somebody signs out elsewhere", func(t *testing.T) {
		id, rev := open()
		b := h.as(flow.MemberViewer)
		s := b.stream(fmt.Sprintf("/flows/%s/events?rev=%d", id, rev), "")
		s.next("flow:people")
		b.post("/sign-out", nil)
		editor.postJSON("/flows/"+id+"/ops", transaction(rev, "a", rename)).is(http.StatusOK)
		s.next("")
	})
	t.Run("are not for other workspaces", func(t *testing.T) {
		editor.get("/flows/" + h.flowElsewhere() + "/events?rev=0").is(http.StatusNotFound)
		id, _ := open()
		editor.get("/flows/" + id + "/events?rev=x").is(http.StatusUnprocessableEntity)
	})
}

func TestFlowEvents_drain(t *testing.T) {
	t.Parallel()
	h := setup(t)
	id := h.flow(sampleFlow)
	s := h.as(flow.MemberViewer).stream(fmt.Sprintf("/flows/%s/events?rev=%d", id, h.rev(id)), "")
	s.next("flow:people")
	h.server.Drain()
	s.next("")
}

func TestEditing_slowReader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var e editing
		l := &listener{flowID: "f", user: "u", person: views.Person{Name: "Ada"}, edited: make(chan struct{}, 1), news: make(chan news, newsKept), lost: make(chan struct{})}
		e.join(l)
		for range newsKept + 1 {
			e.tell("f", "flow:run", nil)
		}
		<-l.lost
		if len(e.others("f", "")) != 0 {
			t.Error("who is lost is still here")
		}
		e.leave(l)
	})
}
