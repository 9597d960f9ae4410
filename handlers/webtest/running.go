package webtest

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"time"

	"sluice/flow"
)

// Routing has two inputs, a branch, and an answer of each branch.
const Routing = `{"schema":"sluice.flow/v1","name":"Route","nodes":[
 {"id":"ticket","kind":"input","config":{"name":"ticket","type":"text","example":"I was charged twice."}},
 {"id":"times","kind":"input","config":{"name":"times","type":"number","default":2,"min":1,"max":5}},
 {"id":"hello","kind":"template","config":{"template":"Hello {{ticket}}"}},
 {"id":"again","kind":"template","config":{"template":"{{text}}!"}},
 {"id":"reply","kind":"output","config":{"name":"reply"}},
 {"id":"count","kind":"output","config":{"name":"count"}}],
 "edges":[{"from":"ticket.value","to":"hello.ticket"},{"from":"hello.text","to":"again.text"},{"from":"again.text","to":"reply.value"},{"from":"times.value","to":"count.value"}]}`

func Ticket(text string) url.Values {
	return url.Values{"filled": {"1"}, "in.ticket": {text}, "in.times": {"3"}}
}

// Ran starts a run of the draft and waits for its end.
func (h *Env) Ran(b *Browser, flowID string, form url.Values) *flow.Run {
	h.T.Helper()
	var started struct{ Run string }
	if err := json.Unmarshal([]byte(b.Fragment().Post("/flows/"+flowID+"/run", form).Is(http.StatusOK).Body), &started); err != nil {
		h.T.Fatal(err)
	}
	run, err := h.Runner.AwaitRun(context.Background(), flow.DefaultWorkspace, flowID, started.Run, 20*time.Second)
	if err != nil || !run.State.Ended() {
		h.T.Fatalf("%+v, %v", run, err)
	}
	return run
}

func (h *Env) StepStates(run *flow.Run) string {
	h.T.Helper()
	steps, err := h.Store.FindSteps(context.Background(), run.WorkspaceID, run.ID)
	if err != nil {
		h.T.Fatal(err)
	}
	var list []string
	for _, s := range steps {
		list = append(list, s.Path+" "+string(s.State))
	}
	return strings.Join(list, ", ")
}

// RunStream reads the events of a run until it is over.
func (b *Browser) RunStream(path string) (events map[string][]string) {
	b.t.Helper()
	resp, err := b.Client.Get(b.Base + path)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.Header.Get("Content-Type") != "text/event-stream" {
		b.t.Fatalf("%d %s", resp.StatusCode, resp.Header)
	}
	events = map[string][]string{}
	name := ""
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if event, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			name = event
		} else if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			events[name] = append(events[name], data)
		}
	}
	return events
}

// Waiting is a flow whose one step lasts until the test lets it end.
func (h *Env) Waiting() (flowID string, let chan<- int) {
	gate := make(chan int, 1)
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case status := <-gate:
			w.WriteHeader(status)
			io.WriteString(w, "done")
		case <-r.Context().Done():
		}
	}))
	h.T.Cleanup(slow.Close)
	return h.Flow(`{"schema":"sluice.flow/v1","name":"Slow","nodes":[{"id":"get","kind":"http_request","config":{"url":"` + slow.URL + `"}},{"id":"o","kind":"output","config":{"name":"o"}}],"edges":[{"from":"get.body","to":"o.value"}]}`), gate
}

func (h *Env) Starts(b *Browser, flowID string) (runID string) {
	h.T.Helper()
	a := b.Post("/flows/"+flowID+"/run", url.Values{"filled": {"1"}}).Is(http.StatusSeeOther)
	_, runID, _ = strings.Cut(a.Header.Get("Location"), "?run=")
	return runID
}
