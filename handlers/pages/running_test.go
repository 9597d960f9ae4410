package pages

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"sluice/flow"
)

// routing has two inputs, a branch, and an answer of each branch.
const routing = `{"schema":"sluice.flow/v1","name":"Route","nodes":[
 {"id":"ticket","kind":"input","config":{"name":"ticket","type":"text","example":"I was charged twice."}},
 {"id":"times","kind":"input","config":{"name":"times","type":"number","default":2,"min":1,"max":5}},
 {"id":"hello","kind":"template","config":{"template":"Hello {{ticket}}"}},
 {"id":"again","kind":"template","config":{"template":"{{text}}!"}},
 {"id":"reply","kind":"output","config":{"name":"reply"}},
 {"id":"count","kind":"output","config":{"name":"count"}}],
 "edges":[{"from":"ticket.value","to":"hello.ticket"},{"from":"hello.text","to":"again.text"},{"from":"again.text","to":"reply.value"},{"from":"times.value","to":"count.value"}]}`

func ticket(text string) url.Values {
	return url.Values{"filled": {"1"}, "in.ticket": {text}, "in.times": {"3"}}
}

// ran starts a run of the draft and waits for its end.
func (h *house) ran(b *browser, flowID string, form url.Values) *flow.Run {
	h.t.Helper()
	var started struct{ Run string }
	if err := json.Unmarshal([]byte(b.part().post("/flows/"+flowID+"/run", form).is(http.StatusOK).body), &started); err != nil {
		h.t.Fatal(err)
	}
	run, err := h.runner.AwaitRun(context.Background(), flow.DefaultWorkspace, flowID, started.Run, 20*time.Second)
	if err != nil || !run.State.Ended() {
		h.t.Fatalf("%+v, %v", run, err)
	}
	return run
}

func (h *house) stepStates(run *flow.Run) string {
	h.t.Helper()
	steps, err := h.store.FindSteps(context.Background(), run.WorkspaceID, run.ID)
	if err != nil {
		h.t.Fatal(err)
	}
	var list []string
	for _, s := range steps {
		list = append(list, s.Path+" "+string(s.State))
	}
	return strings.Join(list, ", ")
}

func TestRunForm(t *testing.T) {
	t.Parallel()
	h := setup(t)
	b, id := h.as(flow.MemberEditor), h.flow(routing)
	path := "/flows/" + id + "/run"
	t.Run("asks for the inputs of the draft", func(t *testing.T) {
		b.part().get(path).is(200).has(`name="in.ticket"`, `placeholder="I was charged twice."`, `type="number"`, `value="2"`, `max="5"`, "Fill the example").lacks("<html")
	})
	t.Run("is a page without a script", func(t *testing.T) { b.get(path).is(200).has("<html", "<h1>Run the draft</h1>", `name="in.ticket"`) })
	t.Run("asks only for what a node depends on", func(t *testing.T) {
		b.part().get(path+"?until=hello").is(200).has("Run to hello", "No webhook is sent", "in.ticket").lacks("in.times")
	})
	t.Run("keeps what was typed beside what is wrong with it", func(t *testing.T) {
		form := url.Values{"filled": {"1"}, "in.ticket": {""}, "in.times": {"9"}}
		b.part().post(path, form).is(422).has("The flow needs this.", `value="9"`, "at most 5").lacks("<html")
		b.post(path, form).is(422).has("<html", "The flow needs this.", `value="9"`)
	})
	t.Run("starts a run that remembers its values", func(t *testing.T) {
		run := h.ran(b, id, ticket("there"))
		if run.Outputs["reply"] != "Hello there!" || run.Trigger != flow.TriggerBuilder || !run.Draft || run.UserID == "" {
			t.Errorf("%+v", run)
		}
		b.part().get(path).is(200).has(">there</textarea>", `value="3"`, "data-ran")
	})
	t.Run("leads to the run without a script", func(t *testing.T) {
		a := b.post(path, ticket("there")).is(http.StatusSeeOther)
		if to := a.header.Get("Location"); !strings.HasPrefix(to, "/flows/"+id+"?run=run_") {
			t.Errorf("leads to %q", to)
		}
	})
	t.Run("lists the problems of the draft", func(t *testing.T) {
		broken := h.flow(routing)
		b.postJSON("/flows/"+broken+"/ops", `{"base":1,"tab":"t","txid":"x1","ops":[{"op":"deledge","edge":{"from":"ticket.value","to":"hello.ticket"}}]}`)
		d, err := h.store.FindFlow(context.Background(), flow.DefaultWorkspace, broken)
		if err != nil {
			t.Fatal(err)
		}
		cut := strings.Replace(string(d.Draft), `{"from":"ticket.value","to":"hello.ticket"},`, "", 1)
		if err := h.store.UpdateDraft(context.Background(), flow.DefaultWorkspace, broken, "Route", "", []byte(cut)); err != nil {
			t.Fatal(err)
		}
		b.part().get("/flows/"+broken+"/run").is(200).has("1 problem to mend", `data-jump="hello"`).lacks("in.ticket")
		b.part().post("/flows/"+broken+"/run", ticket("x")).is(422).has("1 problem to mend")
		b.part().get("/flows/" + broken + "/run?until=count").is(200).has("in.times").lacks("to mend")
	})
}

func TestRunAccess(t *testing.T) {
	t.Parallel()
	h := setup(t)
	id, foreign := h.flow(routing), h.flowElsewhere()
	editor, viewer := h.as(flow.MemberEditor), h.as(flow.MemberViewer)
	run := h.ran(editor, id, ticket("there"))
	for _, path := range []string{"/run", "/pin/hello", "/unpin/hello", "/runs/" + run.ID + "/cancel"} {
		viewer.post("/flows/"+id+path, ticket("x")).is(http.StatusForbidden)
	}
	for _, path := range []string{"?run=" + run.ID, "/data/hello?run=" + run.ID, "/runs/" + run.ID + "/events"} {
		viewer.get("/flows/" + id + path).is(http.StatusOK)
	}
	viewer.part().get("/flows/" + id + "/runs").is(http.StatusOK).has(run.ID).lacks("data-command")
	unknown := editor.get("/flows/flow_unknown/run").is(http.StatusNotFound).body
	if got := editor.get("/flows/" + foreign + "/run").is(http.StatusNotFound).body; got != unknown {
		t.Errorf("a foreign flow says %s", got)
	}
	for _, path := range []string{"/runs", "/data/hello", "/runs/" + run.ID + "/events", "?run=" + run.ID} {
		editor.get("/flows/" + foreign + path).is(http.StatusNotFound)
	}
	editor.get("/flows/" + id + "/runs/run_unknown/events").is(http.StatusNotFound)
	h.stranger().post("/flows/"+id+"/run", ticket("x")).is(http.StatusUnauthorized)
}

func TestRunUntilAndFrom(t *testing.T) {
	t.Parallel()
	h := setup(t)
	b, id := h.as(flow.MemberEditor), h.flow(routing)
	part := h.ran(b, id, url.Values{"filled": {"1"}, "until": {"hello"}, "in.ticket": {"there"}})
	if got := h.stepStates(part); got != "hello succeeded, ticket succeeded" {
		t.Errorf("run to here: %s", got)
	}
	whole := h.ran(b, id, ticket("there"))
	again := h.ran(b, id, url.Values{"parent": {whole.ID}, "from": {"again"}})
	if got := h.stepStates(again); got != "again succeeded, count reused, hello reused, reply succeeded, ticket reused, times reused" {
		t.Errorf("run from here: %s", got)
	}
	if again.ParentRunID != whole.ID || again.Outputs["reply"] != "Hello there!" {
		t.Errorf("%+v", again)
	}
	rerun := h.ran(b, id, url.Values{"parent": {part.ID}, "filled": {"1"}, "in.ticket": {"there"}, "in.times": {"1"}})
	if got := h.stepStates(rerun); got != "again succeeded, count succeeded, hello reused, reply succeeded, ticket reused, times succeeded" {
		t.Errorf("rerun: %s", got)
	}
	b.part().post("/flows/"+id+"/run", url.Values{"parent": {part.ID}, "from": {"nobody"}}).is(422)
	b.part().post("/flows/"+id+"/run", url.Values{"parent": {"run_unknown"}}).is(404)
}

func TestPins(t *testing.T) {
	t.Parallel()
	h := setup(t)
	b, id := h.as(flow.MemberEditor), h.flow(routing)
	path := "/flows/" + id
	b.part().post(path+"/pin/hello", nil).is(422).has("has given nothing yet")
	run := h.ran(b, id, ticket("there"))
	b.part().get(path+"/data/hello?run="+run.ID).is(200).has("Pin output", "Hello there")
	b.part().post(path+"/pin/hello", url.Values{"run": {run.ID}}).is(200).has("Unpin", "Pinned output")
	if got := h.stepStates(h.ran(b, id, ticket("you"))); !strings.Contains(got, "hello reused") {
		t.Errorf("with a pin: %s", got)
	}
	b.part().post(path+"/pin/hello", url.Values{"outputs": {`{"text": "Mine"}`}}).is(200)
	if run := h.ran(b, id, ticket("you")); run.Outputs["reply"] != "Mine!" {
		t.Errorf("with an edited pin: %v", run.Outputs)
	}
	b.part().post(path+"/pin/hello", url.Values{"outputs": {`{"text"`}}).is(422).has("This is not JSON", "{&#34;text&#34;")
	b.part().post(path+"/pin/hello", url.Values{"outputs": {`[1]`}}).is(422).has("Write an object")
	b.part().post(path+"/pin/hello", url.Values{"outputs": {`{"text": {"file": "file_00000000000000000000000000"}}`}}).is(422).has("There is no file")
	b.part().post(path+"/pin/ticket", url.Values{"outputs": {`{"value": "x"}`}}).is(422)
	b.post(path+"/pin/nobody", nil).is(404)
	b.post(path+"/unpin/hello", nil).is(http.StatusSeeOther)
	b.part().post(path+"/unpin/hello", nil).is(200).has("Pin an output of your own")
	if run := h.ran(b, id, ticket("you")); run.Outputs["reply"] != "Hello you!" {
		t.Errorf("without the pin: %v", run.Outputs)
	}
}

// runStream reads the events of a run until it is over.
func (b *browser) runStream(path string) (events map[string][]string) {
	b.t.Helper()
	resp, err := b.client.Get(b.base + path)
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

func TestRunEvents(t *testing.T) {
	t.Parallel()
	h := setup(t)
	b := h.as(flow.MemberViewer)
	run := h.ran(h.as(flow.MemberEditor), h.flow(routing), ticket("there"))
	events := b.runStream("/flows/" + run.FlowID + "/runs/" + run.ID + "/events")
	if len(events["over"]) != 1 || len(events["steps"]) != 1 || len(events["run"]) != 1 {
		t.Fatalf("%v", events)
	}
	for _, want := range []string{`"node":"hello"`, `"state":"succeeded"`, `"text":"Hello there"`} {
		if !strings.Contains(events["steps"][0], want) {
			t.Errorf("%s is missing in %s", want, events["steps"][0])
		}
	}
	if !strings.Contains(events["run"][0], `"done":6`) || strings.Contains(events["run"][0], `data-command=\"stop\"`) {
		t.Errorf("%s", events["run"][0])
	}
}

// waiting is a flow whose one step lasts until the test lets it end.
func (h *house) waiting() (flowID string, let chan<- int) {
	gate := make(chan int, 1)
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case status := <-gate:
			w.WriteHeader(status)
			io.WriteString(w, "done")
		case <-r.Context().Done():
		}
	}))
	h.t.Cleanup(slow.Close)
	return h.flow(`{"schema":"sluice.flow/v1","name":"Slow","nodes":[{"id":"get","kind":"http_request","config":{"url":"` + slow.URL + `"}},{"id":"o","kind":"output","config":{"name":"o"}}],"edges":[{"from":"get.body","to":"o.value"}]}`), gate
}

func (h *house) starts(b *browser, flowID string) (runID string) {
	h.t.Helper()
	a := b.post("/flows/"+flowID+"/run", url.Values{"filled": {"1"}}).is(http.StatusSeeOther)
	_, runID, _ = strings.Cut(a.header.Get("Location"), "?run=")
	return runID
}

func TestRunEventsLive(t *testing.T) {
	t.Parallel()
	h := setup(t)
	b := h.as(flow.MemberEditor)
	t.Run("tell of a step that begins and ends", func(t *testing.T) {
		id, let := h.waiting()
		run := h.starts(b, id)
		resp, err := b.client.Get(b.base + "/flows/" + id + "/runs/" + run + "/events")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var seen []string
		for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
			if !strings.HasPrefix(lines.Text(), "data: ") {
				continue
			}
			if seen = append(seen, lines.Text()); len(seen) < 100 && strings.Contains(lines.Text(), `"node":"get"`) && strings.Contains(lines.Text(), `"state":"running"`) {
				let <- http.StatusOK
			}
		}
		all := strings.Join(seen, "\n")
		for _, want := range []string{`"text":"done"`, `"state":"running"`, `data-command=\"stop\"`, `data-command=\"rerun\"`} {
			if !strings.Contains(all, want) {
				t.Errorf("%s is missing in %s", want, all)
			}
		}
	})
	t.Run("end when the run is stopped", func(t *testing.T) {
		id, _ := h.waiting()
		run := h.starts(b, id)
		b.post("/flows/"+id+"/runs/"+run+"/cancel", nil).see("/flows/" + id + "?run=" + run)
		if events := b.runStream("/flows/" + id + "/runs/" + run + "/events"); !strings.Contains(strings.Join(events["run"], ""), `"state":"canceled"`) {
			t.Errorf("%v", events)
		}
		b.part().post("/flows/"+id+"/runs/"+run+"/cancel", nil).is(http.StatusNoContent)
	})
	t.Run("end when the server drains", func(t *testing.T) {
		h := setup(t)
		b := h.as(flow.MemberEditor)
		id, let := h.waiting()
		run := h.starts(b, id)
		h.server.Drain()
		if events := b.runStream("/flows/" + id + "/runs/" + run + "/events"); len(events["over"]) != 0 || len(events["run"]) == 0 {
			t.Errorf("%v", events)
		}
		let <- http.StatusOK
	})
}

func TestReplay(t *testing.T) {
	t.Parallel()
	h := setup(t)
	b, id := h.as(flow.MemberEditor), h.flow(routing)
	run := h.ran(b, id, url.Values{"filled": {"1"}, "until": {"hello"}, "in.ticket": {"there"}})
	b.get("/flows/"+id+"?run="+run.ID).is(200).has(`data-run="`+run.ID, `data-id="again"`).lacks("Back to the draft", "data-replay=\""+run.ID+"\">\n")
	other := strings.Replace(routing, "Hello {{ticket}}", "Bye {{ticket}}", 1)
	if err := h.store.UpdateDraft(context.Background(), flow.DefaultWorkspace, id, "Route", "", []byte(other)); err != nil {
		t.Fatal(err)
	}
	b.get("/flows/"+id+"?run="+run.ID).is(200).has("Back to the draft", "data-readonly", "Hello {{ticket}}").lacks(`data-id="again"`, "Bye {{ticket}}")
	b.get("/flows/" + id + "?run=run_unknown").is(404)
	t.Run("shows all parts as they were", func(t *testing.T) {
		b, at := b.part(), "/flows/"+id
		b.get(at + "/outline?node=hello&run=" + run.ID).is(200).has("hello").lacks("data-edit")
		b.get(at + "/outline?node=hello").is(200).has("data-edit")
		b.get(at + "/node/hello?run=" + run.ID).is(200).has("Hello {{ticket}}").has("data-readonly").lacks("Bye {{ticket}}")
		b.get(at + "/node/hello").is(200).has("Bye {{ticket}}").lacks("data-readonly")
		b.get(at + "/face?node=hello&run=" + run.ID).is(200).has("Hello {{ticket}}").lacks("Bye {{ticket}}")
		b.get(at + "/overview?run=" + run.ID).is(200)
		b.get(at + "/outline?run=run_unknown").is(404)
		b.get(at + "/outline?version=7").is(404)
	})
}

func TestData(t *testing.T) {
	t.Parallel()
	h := setup(t)
	b, id := h.as(flow.MemberEditor), h.flow(routing)
	b.part().get("/flows/" + id + "/data/hello").is(200).has("has not run yet")
	run := h.ran(b, id, ticket("there"))
	b.part().get("/flows/"+id+"/data/hello").is(200).has("Hello there", "Input", "Output", run.ID)
	b.get("/flows/"+id+"/data/hello").is(200).has("<html", "Hello there")
	b.part().get("/flows/" + id + "/data/nobody").is(404)
	branch := "/flows/" + id + "/data/hello?run=" + run.ID + "&side=output&port="
	b.part().get(branch + "text&at=").is(200).has("Hello there")
	b.part().get(branch + "none").is(404)
	b.part().get(branch + "text&at=/deeper").is(404)
}

func TestFlowRuns(t *testing.T) {
	t.Parallel()
	h := setup(t)
	b, id := h.as(flow.MemberEditor), h.flow(routing)
	b.part().get("/flows/" + id + "/runs").is(200).has("has not run yet")
	run := h.ran(b, id, ticket("there"))
	b.part().get("/flows/"+id+"/runs?run="+run.ID).is(200).has("?run="+run.ID, "succeeded", "Builder", `aria-current`)
	b.get("/flows/" + id + "/runs").see("/flows/" + id)
}
