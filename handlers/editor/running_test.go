package editor_test

import (
	"bufio"
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"sluice/flow"
	"sluice/flow/inflight"
	"sluice/handlers"
	"sluice/handlers/webtest"
)

func TestRuns_of_a_flow_are_listed_without_their_content(t *testing.T) {
	t.Parallel()
	const size = 300 << 10
	h := webtest.Setup(t, func(c *handlers.Config) { c.Memory = inflight.New(30*size, t.TempDir()) })
	b, id := h.As(flow.MemberEditor), h.Flow(webtest.Routing)
	var run *flow.Run
	for range 4 { // one fits into the memory of a request
		run = h.RunDraft(b, id, webtest.Ticket(strings.Repeat("x", size)))
	}
	b.Fragment().Get("/flows/" + id + "/runs").Is(200).Has(string(run.ID))
	b.Fragment().Get("/flows/" + id + "/run").Is(200).Has("data-ran")
}

func TestRunForm(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	b, id := h.As(flow.MemberEditor), h.Flow(webtest.Routing)
	path := "/flows/" + id + "/run"
	t.Run("asks for the inputs of the draft", func(t *testing.T) {
		b.Fragment().Get(path).Is(200).Has(`name="in.ticket"`, `placeholder="I was charged twice."`, `type="number"`, `value="2"`, `max="5"`, "Use example").Lacks("<html")
	})
	t.Run("is a page without scripts", func(t *testing.T) { b.Get(path).Is(200).Has("<html", "<h1>Run draft</h1>", `name="in.ticket"`) })
	t.Run("asks only for inputs that the target node depends on", func(t *testing.T) {
		b.Fragment().Get(path+"?until=hello").Is(200).Has("Run to hello", "No webhooks are sent", "in.ticket").Lacks("in.times")
	})
	t.Run("says that webhooks are sent", func(t *testing.T) {
		b.Fragment().Get("/flows/" + h.Flow(webtest.WebhookFlow("https://example.com/hook")) + "/run").Is(200).Has("Runs the draft. 1 webhook will be sent.").Lacks("isn’t affected")
	})
	t.Run("keeps submitted values with their errors", func(t *testing.T) {
		form := url.Values{"filled": {"1"}, "in.ticket": {""}, "in.times": {"9"}}
		b.Fragment().Post(path, form).Is(422).Has("Required.", `value="9"`, "at most 5").Lacks("<html")
		b.Post(path, form).Is(422).Has("<html", "Required.", `value="9"`)
	})
	t.Run("starts a run and remembers its inputs", func(t *testing.T) {
		run := h.RunDraft(b, id, webtest.Ticket("there"))
		if run.Outputs.Get("reply") != "Hello there!" || run.Trigger != flow.TriggerBuilder || !run.Draft || run.UserID == "" {
			t.Errorf("%+v", run)
		}
		b.Fragment().Get(path).Is(200).Has(">there</textarea>", `value="3"`, "data-ran")
	})
	t.Run("redirects to the run without scripts", func(t *testing.T) {
		a := b.Post(path, webtest.Ticket("there")).Is(http.StatusSeeOther)
		if to := a.Header.Get("Location"); !strings.HasPrefix(to, "/flows/"+id+"?run=run_") {
			t.Errorf("leads to %q", to)
		}
	})
	t.Run("lists the problems of the draft", func(t *testing.T) {
		broken := h.Flow(webtest.Routing)
		b.PostJSON("/flows/"+broken+"/ops", `{"base":1,"tab":"t","txid":"x1","ops":[{"op":"deledge","edge":{"from":"ticket.value","to":"hello.ticket"}}]}`)
		d, err := h.Store.FindFlow(context.Background(), flow.DefaultWorkspace, flow.FlowID(broken))
		if err != nil {
			t.Fatal(err)
		}
		cut := strings.Replace(string(d.Draft), `{"from":"ticket.value","to":"hello.ticket"},`, "", 1)
		if err := h.Store.UpdateDraft(context.Background(), flow.DefaultWorkspace, flow.FlowID(broken), "Route", "", []byte(cut)); err != nil {
			t.Fatal(err)
		}
		b.Fragment().Get("/flows/"+broken+"/run").Is(200).Has("Fix 1 problem to run", `data-jump="hello"`).Lacks("in.ticket")
		b.Fragment().Post("/flows/"+broken+"/run", webtest.Ticket("x")).Is(422).Has("Fix 1 problem to run")
		b.Fragment().Get("/flows/" + broken + "/run?until=count").Is(200).Has("in.times").Lacks("to run:")
	})
}

func TestRunAccess(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id, foreign := h.Flow(webtest.Routing), h.FlowElsewhere()
	editor, viewer := h.As(flow.MemberEditor), h.As(flow.MemberViewer)
	run := h.RunDraft(editor, id, webtest.Ticket("there"))
	for _, path := range []string{"/run", "/pin/hello", "/unpin/hello", "/runs/" + string(run.ID) + "/cancel"} {
		viewer.Post("/flows/"+id+path, webtest.Ticket("x")).Is(http.StatusForbidden)
	}
	for _, path := range []string{"?run=" + string(run.ID), "/data/hello?run=" + string(run.ID), "/runs/" + string(run.ID) + "/events"} {
		viewer.Get("/flows/" + id + path).Is(http.StatusOK)
	}
	viewer.Fragment().Get("/flows/" + id + "/runs").Is(http.StatusOK).Has(string(run.ID)).Lacks("data-command")
	unknown := editor.Get("/flows/flow_unknown/run").Is(http.StatusNotFound).Body
	if got := editor.Get("/flows/" + foreign + "/run").Is(http.StatusNotFound).Body; got != unknown {
		t.Errorf("a foreign flow says %s", got)
	}
	for _, path := range []string{"/runs", "/data/hello", "/runs/" + string(run.ID) + "/events", "?run=" + string(run.ID)} {
		editor.Get("/flows/" + foreign + path).Is(http.StatusNotFound)
	}
	editor.Get("/flows/" + id + "/runs/run_unknown/events").Is(http.StatusNotFound)
	h.Anonymous().Post("/flows/"+id+"/run", webtest.Ticket("x")).Is(http.StatusUnauthorized)
}

func TestRunUntilAndFrom(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	b, id := h.As(flow.MemberEditor), h.Flow(webtest.Routing)
	part := h.RunDraft(b, id, url.Values{"filled": {"1"}, "until": {"hello"}, "in.ticket": {"there"}})
	if got := stepStates(h, part); got != "hello succeeded, ticket succeeded" {
		t.Errorf("run to here: %s", got)
	}
	whole := h.RunDraft(b, id, webtest.Ticket("there"))
	again := h.RunDraft(b, id, url.Values{"parent": {string(whole.ID)}, "from": {"again"}})
	if got := stepStates(h, again); got != "again succeeded, count reused, hello reused, reply succeeded, ticket reused, times reused" {
		t.Errorf("run from here: %s", got)
	}
	if again.ParentRunID != whole.ID || again.Outputs.Get("reply") != "Hello there!" {
		t.Errorf("%+v", again)
	}
	rerun := h.RunDraft(b, id, url.Values{"parent": {string(part.ID)}, "filled": {"1"}, "in.ticket": {"there"}, "in.times": {"1"}})
	if got := stepStates(h, rerun); got != "again succeeded, count succeeded, hello reused, reply succeeded, ticket reused, times succeeded" {
		t.Errorf("rerun: %s", got)
	}
	b.Fragment().Post("/flows/"+id+"/run", url.Values{"parent": {string(part.ID)}, "from": {"nobody"}}).Is(422)
	b.Fragment().Post("/flows/"+id+"/run", url.Values{"parent": {"run_unknown"}}).Is(404)
}

func TestPins(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	b, id := h.As(flow.MemberEditor), h.Flow(webtest.Routing)
	path := "/flows/" + id
	b.Fragment().Post(path+"/pin/hello", nil).Is(422).Has("has no outputs yet")
	run := h.RunDraft(b, id, webtest.Ticket("there"))
	b.Fragment().Get(path+"/data/hello?run="+string(run.ID)).Is(200).Has("Pin output", "Hello there")
	b.Fragment().Post(path+"/pin/hello", url.Values{"run": {string(run.ID)}}).Is(200).Has("Unpin", "Pinned output")
	if got := stepStates(h, h.RunDraft(b, id, webtest.Ticket("you"))); !strings.Contains(got, "hello reused") {
		t.Errorf("with a pin: %s", got)
	}
	b.Fragment().Post(path+"/pin/hello", url.Values{"outputs": {`{"text": "Mine"}`}}).Is(200)
	if run := h.RunDraft(b, id, webtest.Ticket("you")); run.Outputs.Get("reply") != "Mine!" {
		t.Errorf("with an edited pin: %v", run.Outputs)
	}
	b.Fragment().Post(path+"/pin/hello", url.Values{"outputs": {`{"text"`}}).Is(422).Has("This is not valid JSON", "{&#34;text&#34;")
	b.Fragment().Post(path+"/pin/hello", url.Values{"outputs": {`[1]`}}).Is(422).Has("Write an object")
	b.Fragment().Post(path+"/pin/hello", url.Values{"outputs": {`{"text": {"file": "file_00000000000000000000000000"}}`}}).Is(422).Has("does not exist")
	b.Fragment().Post(path+"/pin/ticket", url.Values{"outputs": {`{"value": "x"}`}}).Is(422)
	b.Post(path+"/pin/nobody", nil).Is(404)
	b.Post(path+"/unpin/hello", nil).Is(http.StatusSeeOther)
	b.Fragment().Post(path+"/unpin/hello", nil).Is(200).Has("Pin a custom output")
	if run := h.RunDraft(b, id, webtest.Ticket("you")); run.Outputs.Get("reply") != "Hello you!" {
		t.Errorf("without the pin: %v", run.Outputs)
	}
}

func TestRunEvents(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	b := h.As(flow.MemberViewer)
	run := h.RunDraft(h.As(flow.MemberEditor), h.Flow(webtest.Routing), webtest.Ticket("there"))
	events := runStream(b, "/flows/"+string(run.FlowID)+"/runs/"+string(run.ID)+"/events")
	if len(events["over"]) != 1 || len(events["steps"]) != 1 || len(events["run"]) != 1 {
		t.Fatalf("%v", events)
	}
	for _, want := range []string{`"node":"hello"`, `"state":"succeeded"`, `"text":"Hello there"`} {
		if !strings.Contains(events["steps"][0], want) {
			t.Errorf("%s is missing in %s", want, events["steps"][0])
		}
	}
	if !strings.Contains(events["run"][0], `"steps":"6 steps"`) || strings.Contains(events["run"][0], `data-command=\"stop\"`) {
		t.Errorf("%s", events["run"][0])
	}
}

// TestRunBar_counts_skipped_steps_and_says_what_was_free: what the pill of a finished run sums up is
// the same in the stream and on the page.
func TestRunBar_counts_skipped_steps_and_says_what_was_free(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	b := h.As(flow.MemberEditor)
	id := h.Flow(`{"schema": "sluice.flow/v1", "name": "Greet", "nodes": [
		{"id": "who", "kind": "input", "position": {"x": 0, "y": 0}, "config": {"name": "who"}},
		{"id": "hello", "kind": "template", "position": {"x": 240, "y": 0}, "config": {"template": "Hello {{who}}"}},
		{"id": "bye", "kind": "template", "disabled": true, "position": {"x": 240, "y": 200}, "config": {"template": "Bye {{who}}"}},
		{"id": "reply", "kind": "output", "position": {"x": 480, "y": 0}, "config": {"name": "reply"}}],
		"edges": [{"from": "who.value", "to": "hello.who"}, {"from": "who.value", "to": "bye.who"}, {"from": "hello.text", "to": "reply.value"}]}`)
	run := h.RunDraft(b, id, url.Values{"filled": {"1"}, "in.who": {"Sam"}})
	path := "/flows/" + id
	events := runStream(b, path+"/runs/"+string(run.ID)+"/events")
	if last := events["run"][0]; !strings.Contains(last, `"steps":"3 steps, 1 skipped"`) || !strings.Contains(last, `"cost":"$0"`) {
		t.Errorf("the event is %s", last)
	}
	b.Get(path+"?run="+string(run.ID)).Is(200).Has("3 steps, 1 skipped", "data-cost>$0<")
}

// TestResult_leads_to_the_runs_beside_it: from the newest run to older ones and back.
func TestResult_leads_to_the_runs_beside_it(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	b := h.As(flow.MemberEditor)
	id := h.Flow(webtest.Routing)
	h.RunDraft(b, h.Flow(webtest.Routing), webtest.Ticket("of another flow"))
	var runs []string
	for _, text := range []string{"one", "two", "three", "four"} {
		runs = append(runs, string(h.RunDraft(b, id, webtest.Ticket(text)).ID))
	}
	link := func(run, title string) string {
		return `href="/flows/` + id + `?run=` + run + `" title="` + title + `"`
	}
	result := func(run string) *webtest.Answer {
		return b.Fragment().Get("/flows/" + id + "/runs/" + run + "/result").Is(200)
	}
	result(runs[3]).Has(link(runs[2], "Older run"), `aria-label="Newer run" disabled`)
	result(runs[1]).Has(link(runs[0], "Older run"), link(runs[2], "Newer run"))
	result(runs[0]).Has(link(runs[1], "Newer run"), `aria-label="Older run" disabled`)
}

// TestRunEventsItems checks that the number of items is reported by output port, because
// the canvas shows it on edges.
func TestRunEventsItems(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	run := h.RunDraft(h.As(flow.MemberEditor), h.Flow(`{"schema":"sluice.flow/v1","name":"List","nodes":[
 {"id":"words","kind":"input","config":{"name":"words","type":"list","default":["a","b","c"]}},
 {"id":"all","kind":"output","config":{"name":"all"}}],
 "edges":[{"from":"words.value","to":"all.value"}]}`), url.Values{})
	events := runStream(h.As(flow.MemberViewer), "/flows/"+string(run.FlowID)+"/runs/"+string(run.ID)+"/events")
	if all := strings.Join(events["steps"], ""); !strings.Contains(all, `"items":{"value":3}`) {
		t.Errorf("no items by port in %s", all)
	}
}

func TestRunEventsLive(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	b := h.As(flow.MemberEditor)
	t.Run("report the start and the end of a step", func(t *testing.T) {
		id, let := h.SlowFlow()
		run := starts(h, b, id)
		resp, err := b.Client.Get(b.Base + "/flows/" + id + "/runs/" + run + "/events")
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
	t.Run("end when the run is canceled", func(t *testing.T) {
		id, _ := h.SlowFlow()
		run := starts(h, b, id)
		b.Post("/flows/"+id+"/runs/"+run+"/cancel", nil).RedirectsTo("/flows/" + id + "?run=" + run)
		if events := runStream(b, "/flows/"+id+"/runs/"+run+"/events"); !strings.Contains(strings.Join(events["run"], ""), `"state":"canceled"`) {
			t.Errorf("%v", events)
		}
		b.Fragment().Post("/flows/"+id+"/runs/"+run+"/cancel", nil).Is(http.StatusNoContent)
	})
	t.Run("end when the server drains", func(t *testing.T) {
		h := webtest.Setup(t)
		b := h.As(flow.MemberEditor)
		id, let := h.SlowFlow()
		run := starts(h, b, id)
		h.Server.Drain()
		if events := runStream(b, "/flows/"+id+"/runs/"+run+"/events"); len(events["over"]) != 0 || len(events["run"]) == 0 {
			t.Errorf("%v", events)
		}
		let <- http.StatusOK
	})
}

func TestReplay(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	b, id := h.As(flow.MemberEditor), h.Flow(webtest.Routing)
	run := h.RunDraft(b, id, url.Values{"filled": {"1"}, "until": {"hello"}, "in.ticket": {"there"}})
	b.Get("/flows/"+id+"?run="+string(run.ID)).Is(200).Has(`data-run="`+string(run.ID), `data-id="again"`).Lacks("data-readonly", "data-replay=\""+string(run.ID)+"\">\n")
	other := strings.Replace(webtest.Routing, "Hello {{ticket}}", "Bye {{ticket}}", 1)
	if err := h.Store.UpdateDraft(context.Background(), flow.DefaultWorkspace, flow.FlowID(id), "Route", "", []byte(other)); err != nil {
		t.Fatal(err)
	}
	b.Get("/flows/"+id+"?run="+string(run.ID)).Is(200).Has("Back to the draft", "data-readonly", "Hello {{ticket}}", `aria-controls="pane-result" aria-selected="true"`, `class="result-pane"`).
		Lacks(`data-id="again"`, "Bye {{ticket}}", `id="publish-button"`, `id="run-button"`)
	b.Get("/flows/" + id + "?run=run_unknown").Is(404)
	t.Run("shows all parts of the past run", func(t *testing.T) {
		b, at := b.Fragment(), "/flows/"+id
		b.Get(at + "/outline?node=hello&run=" + string(run.ID)).Is(200).Has("hello").Lacks("data-edit")
		b.Get(at + "/outline?node=hello").Is(200).Has("data-edit")
		b.Get(at + "/node/hello?run=" + string(run.ID)).Is(200).Has("Hello {{ticket}}").Has("data-readonly").Lacks("Bye {{ticket}}")
		b.Get(at + "/node/hello").Is(200).Has("Bye {{ticket}}").Lacks("data-readonly")
		b.Get(at + "/face?node=hello&run=" + string(run.ID)).Is(200).Has("Hello {{ticket}}").Lacks("Bye {{ticket}}")
		b.Get(at + "/overview?run=" + string(run.ID)).Is(200)
		b.Get(at + "/outline?run=run_unknown").Is(404)
		b.Get(at + "/outline?version=7").Is(404)
	})
}

func TestData(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	b, id := h.As(flow.MemberEditor), h.Flow(webtest.Routing)
	b.Fragment().Get("/flows/" + id + "/data/hello").Is(200).Has("has not run yet")
	run := h.RunDraft(b, id, webtest.Ticket("there"))
	b.Fragment().Get("/flows/"+id+"/data/hello").Is(200).Has("Hello there", "Input", "Output", string(run.ID))
	b.Get("/flows/"+id+"/data/hello").Is(200).Has("<html", "Hello there")
	b.Fragment().Get("/flows/" + id + "/data/nobody").Is(404)
	branch := "/flows/" + id + "/data/hello?run=" + string(run.ID) + "&side=output&port="
	b.Fragment().Get(branch + "text&at=").Is(200).Has("Hello there")
	b.Fragment().Get(branch + "none").Is(404)
	b.Fragment().Get(branch + "text&at=/deeper").Is(404)
}

func TestFlowRuns(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	b, id := h.As(flow.MemberEditor), h.Flow(webtest.Routing)
	b.Fragment().Get("/flows/" + id + "/runs").Is(200).Has("has not run yet")
	run := h.RunDraft(b, id, webtest.Ticket("there"))
	b.Fragment().Get("/flows/"+id+"/runs?run="+string(run.ID)).Is(200).Has("?run="+string(run.ID), "succeeded", "Builder", `aria-current`)
	b.Get("/flows/" + id + "/runs").RedirectsTo("/flows/" + id)
}
