package webtest

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"time"

	"sluice/flow"
)

// Routing has two inputs: one reaches its output through two templates, the other directly.
const Routing = `{"schema":"sluice.flow/v1","name":"Route","nodes":[
 {"id":"ticket","kind":"input","config":{"name":"ticket","type":"text","example":"I was charged twice."}},
 {"id":"times","kind":"input","config":{"name":"times","type":"number","default":2,"min":1,"max":5}},
 {"id":"hello","kind":"template","config":{"template":"Hello {{ticket}}"}},
 {"id":"again","kind":"template","config":{"template":"{{text}}!"}},
 {"id":"reply","kind":"output","config":{"name":"reply"}},
 {"id":"count","kind":"output","config":{"name":"count"}}],
 "edges":[{"from":"ticket.value","to":"hello.ticket"},{"from":"hello.text","to":"again.text"},{"from":"again.text","to":"reply.value"},{"from":"times.value","to":"count.value"}]}`

// Ticket returns the form values that run Routing with a text, and with 3 for the input times.
func Ticket(text string) url.Values {
	return url.Values{"filled": {"1"}, "in.ticket": {text}, "in.times": {"3"}}
}

// RunDraft runs the draft through the builder and waits until the run has ended.
func (h *Env) RunDraft(b *Browser, flowID string, form url.Values) *flow.Run {
	h.T.Helper()
	var started struct{ Run flow.RunID }
	if err := json.Unmarshal([]byte(b.Fragment().Post("/flows/"+flowID+"/run", form).Is(http.StatusOK).Body), &started); err != nil {
		h.T.Fatal(err)
	}
	run, err := h.Runner.AwaitRun(context.Background(), flow.DefaultWorkspace, flow.FlowID(flowID), started.Run, 20*time.Second)
	if err != nil || !run.State.Ended() {
		h.T.Fatalf("%+v, %v", run, err)
	}
	return run
}

// SlowFlow imports a flow whose only step lasts until the test sends an HTTP status to the gate.
func (h *Env) SlowFlow() (flowID string, release chan<- int) {
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

// TicketRouting routes a ticket, as the starter does.
const TicketRouting = `{"schema":"sluice.flow/v1","name":"Route a support ticket","nodes":[
 {"id":"ticket","kind":"input","position":{"x":0,"y":20},"config":{"name":"ticket","type":"text","example":"I was charged twice for October and need the second payment back. This is urgent."}},
 {"id":"team","kind":"classify","label":"Which team","position":{"x":300,"y":0},"config":{"labels":["billing","technical","legal"]}},
 {"id":"words","kind":"template","label":"Write a reply","position":{"x":300,"y":260},"config":{"template":"Thanks for letting us know.\nYou wrote:\n\n{{ticket}}\n\nWe look into it."}},
 {"id":"legal","kind":"condition","label":"Needs a person?","position":{"x":600,"y":120},"config":{"expression":"value == \"legal\""}},
 {"id":"ask","kind":"template","label":"Tell legal","position":{"x":900,"y":0},"config":{"template":"{{value}}"}},
 {"id":"reply","kind":"output","position":{"x":600,"y":320},"config":{"name":"reply"}},
 {"id":"out","kind":"output","position":{"x":900,"y":200},"config":{"name":"team"}}],
 "edges":[{"from":"ticket.value","to":"team.text"},{"from":"ticket.value","to":"words.ticket"},{"from":"team.label","to":"legal.value"},
 {"from":"legal.true","to":"ask.value"},{"from":"words.text","to":"reply.value"},{"from":"legal.false","to":"out.value"}]}`
