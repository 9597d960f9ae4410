package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"sluice/db/dbtest"
)

// scriptedModel is a chat model that sends, to each call separately, the text that a test
// gives it.
type scriptedModel struct {
	*httptest.Server
	calls chan chan string // one for each call; closed, it ends the answer
}

func newScriptedModel(t *testing.T) *scriptedModel {
	m := &scriptedModel{calls: make(chan chan string, 100)}
	m.Server = httptest.NewServer(http.HandlerFunc(m.answer))
	t.Cleanup(m.Close)
	return m
}

func (m *scriptedModel) answer(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	out := http.NewResponseController(w)
	event := func(delta, stop string) {
		fmt.Fprintf(w, "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":%s}]}\n\n", delta, stop)
		_ = out.Flush()
	}
	words := make(chan string)
	m.calls <- words
	for {
		select {
		case word, more := <-words:
			if !more {
				event("{}", `"stop"`)
				fmt.Fprint(w, "data: [DONE]\n\n")
				return
			}
			event(`{"content":`+strconv.Quote(word)+`}`, "null")
		case <-r.Context().Done():
			return
		}
	}
}

// listener follows a run at one server and assembles its text.
type listener struct {
	mu     sync.Mutex
	events []event
	text   string
	resets int
	over   chan struct{}
}

func listen(c *client, r *run) *listener {
	l := &listener{over: make(chan struct{})}
	resp, err := c.open(context.Background(), "GET", r.path()+"/events", nil, "Accept: text/event-stream")
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { resp.Body.Close() })
	go func() {
		defer close(l.over)
		readEvents(resp.Body, func(e event) bool { l.hear(e); return false })
	}()
	return l
}

func (l *listener) hear(e event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, e)
	var d struct {
		Text  string
		Reset bool
	}
	if e.name != "delta" || json.Unmarshal([]byte(e.data), &d) != nil {
		return
	}
	if d.Reset {
		l.text = ""
		l.resets++
	}
	l.text += d.Text
}

func (l *listener) heard() (text string, resets int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text, l.resets
}

func (l *listener) awaitText(t *testing.T, who, want string) {
	t.Helper()
	defer func() {
		if text, _ := l.heard(); text != want {
			t.Logf("%s has heard %q: %+v", who, text, l.events)
		}
	}()
	waitUntil(t, who+" hears "+want, func() bool { text, _ := l.heard(); return text == want })
}

// wantOrder checks that text arrives between the start and the end of its step, as at the
// server that works on the run.
func (l *listener) wantOrder(t *testing.T, who string) {
	t.Helper()
	running := false
	for _, e := range l.events {
		switch {
		case e.name == "step" && strings.Contains(e.data, `"ask"`):
			running = strings.Contains(e.data, `"running"`)
		case e.name == "delta" && !running:
			t.Errorf("%s hears %s while the step does not run", who, e.data)
		}
	}
}

// holder returns the server that works on a run.
func holder(t *testing.T, url string, r *run, servers ...*server) *server {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	var name string
	if err := pool.QueryRow(t.Context(), "SELECT instance_id FROM runs WHERE id = $1", r.ID).Scan(&name); err != nil {
		t.Fatal(err)
	}
	for _, s := range servers {
		if strings.Contains(name, fmt.Sprintf("-%d-", s.process().cmd.Process.Pid)) {
			return s
		}
	}
	t.Fatalf("the run is held by %q", name)
	return nil
}

// TestTextAcrossServers follows one run at three servers and kills the one that works on it
// while it streams. The other two must get the text of the next attempt.
func TestTextAcrossServers(t *testing.T) {
	t.Parallel()
	m := newScriptedModel(t)
	cfg := dbtest.PostgresConfig(t)
	env := []string{"DATABASE_URL=" + cfg.DatabaseURL, "SLUICE_MASTER_KEY=" + cfg.MasterKey, "SLUICE_PEER_ADDR=127.0.0.1:0"}
	servers := []*server{newServer(t, env...), newServer(t, env...), newServer(t, env...)}
	first := servers[0]
	first.commandWith("sk-0123456789", "credential", "add", "--name", "scriptedModel", "--provider", "openai_compatible", "--base-url", m.URL+"/v1")
	id := first.publish(asking(object{"model": "scriptedModel/model"}))
	key := first.key()
	r := first.client(key).start(id, object{"q": "Say something."})
	words := <-m.calls
	words <- "one "
	var listeners []*listener
	for i, s := range servers {
		l := listen(s.client(key), r)
		l.awaitText(t, fmt.Sprint("server ", i), "one ")
		listeners = append(listeners, l)
	}
	words <- "two"
	for i, l := range listeners {
		l.awaitText(t, fmt.Sprint("server ", i), "one two")
	}
	dead := holder(t, cfg.DatabaseURL, r, servers...)
	dead.kill()
	words = <-m.calls
	words <- "again"
	for i, l := range listeners {
		if servers[i] != dead {
			l.awaitText(t, fmt.Sprint("server ", i), "again")
		}
	}
	words <- ", whole"
	close(words)
	for i, l := range listeners {
		if servers[i] == dead {
			continue
		}
		who := fmt.Sprint("server ", i)
		select {
		case <-l.over:
		case <-time.After(waitTimeout):
			t.Fatalf("%s does not end its stream", who)
		}
		if ended := servers[i].client(key).await(r); ended.Outputs["text"] != "again, whole" || l.text != "again, whole" {
			t.Errorf("%s: the run gives %v, the stream said %q", who, ended.Outputs, l.text)
		}
		if l.resets != 2 { // it came late, and then the attempt was void
			t.Errorf("%s: text was voided %d times", who, l.resets)
		}
		l.wantOrder(t, who)
	}
}
