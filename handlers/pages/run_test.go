package pages

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sluice/flow"
)

// fetching asks a server, sorts by what it says, and has a branch that is not
// taken.
func fetching(server string) string {
	return `{"schema": "sluice.flow/v1", "name": "Ask around", "nodes": [
	{"id": "q", "kind": "input", "position": {"x": 0, "y": 0}, "config": {"name": "q", "type": "text"}},
	{"id": "trim", "kind": "template", "label": "Polite", "position": {"x": 280, "y": 0}, "config": {"template": "{{q}}, please"}},
	{"id": "ask", "kind": "http_request", "label": "Ask the server", "retry": {"attempts": 3, "backoff_s": 0.02}, "position": {"x": 560, "y": 0}, "config": {"url": "` + server + `/?q={{text}}"}},
	{"id": "out", "kind": "output", "position": {"x": 840, "y": 0}, "config": {"name": "answer"}}],
	"edges": [{"from": "q.value", "to": "trim.q"}, {"from": "trim.text", "to": "ask.text"}, {"from": "ask.body", "to": "out.value"}]}`
}

// asked is a server that fails so many times first.
func asked(t *testing.T, fails int32) (url string) {
	var n atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1) <= fails {
			http.Error(w, "not now", http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte("you said " + r.FormValue("q")))
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func (h *house) publish(id string) {
	h.t.Helper()
	if _, _, err := h.library.Publish(context.Background(), flow.DefaultWorkspace, id, "cli"); err != nil {
		h.t.Fatal(err)
	}
}

func TestRunPage(t *testing.T) {
	t.Parallel()
	h := setup(t)
	viewer := h.as(flow.MemberViewer)
	t.Run("that succeeded at the second attempt", func(t *testing.T) {
		id := h.flow(fetching(asked(t, 1)))
		h.publish(id)
		run, err := h.call(id, h.key("production"), map[string]any{"q": "it's <b>"})
		if err != nil || run.State != flow.RunSucceeded {
			t.Fatalf("%v %+v", err, run.Error)
		}
		page := viewer.get("/runs/"+run.ID).is(200).has("Ask around", run.ID, "succeeded", "v1", "production", "4 of 4 done",
			"you said it&#39;s &lt;b&gt;, please", `attempt 1: retrying`, `attempt 2: succeeded`, "Copy as cURL").lacks("Rerun", "Cancel run", "run-live-")
		if !strings.Contains(page.body, `class="box g-source succeeded"`) {
			t.Error("the picture has no states")
		}
		step := viewer.get("/runs/"+run.ID+"?step=ask").has("Attempts", "http_failed: ", `aria-current`)
		if strings.Index(step.body, "http_failed") < strings.Index(step.body, "Steps") {
			t.Error("a run that succeeded has an error box")
		}
		viewer.get("/flows/" + id + "/runs/" + run.ID).see("/runs/" + run.ID)
		viewer.get("/flows/flow_00000000000000000000000000/runs/" + run.ID).is(404)
	})
	t.Run("that failed says what to do", func(t *testing.T) {
		id := h.flow(fetching(asked(t, 99)))
		h.publish(id)
		run, err := h.call(id, nil, map[string]any{"q": "hello"})
		if err != nil || run.State != flow.RunFailed {
			t.Fatalf("%v %+v", err, run)
		}
		viewer.get("/runs/"+run.ID).is(200).has(`role="alert"`, "http_failed", "Ask the server", "retries help with what passes", "attempt 3: failed", `id="step"`, "not reached").lacks("Rerun from")
		editor := h.as(flow.MemberEditor)
		editor.get("/runs/"+run.ID).has("Rerun from “Ask the server”", "reuses 2 finished steps")
		to := editor.post("/runs/"+run.ID+"/rerun", url.Values{"from": {"ask"}}).is(303).header.Get("Location")
		h.ended(strings.TrimPrefix(to, "/runs/"))
		editor.get(to).is(200).has("Rerun of", run.ID, "from “Ask the server”", "taken over from the run before", ">you<")
		editor.post("/runs/"+run.ID+"/rerun", url.Values{"from": {"nobody"}}).is(422)
	})
	t.Run("that is erased says so", func(t *testing.T) {
		id := h.flow(greet)
		h.publish(id)
		run, _ := h.call(id, h.key("k2"), map[string]any{"who": "Ada"})
		if err := h.store.EraseRun(context.Background(), flow.DefaultWorkspace, id, run.ID, flow.CodeRunExpired); err != nil {
			t.Fatal(err)
		}
		h.as(flow.MemberEditor).get("/runs/"+run.ID).is(200).has("The content of this run is gone", "succeeded", "v1").lacks("Ada,", "Inputs and outputs", "Rerun", "cURL")
	})
}

// ended waits until a run has.
func (h *house) ended(runID string) *flow.Run {
	h.t.Helper()
	watch := h.runner.WatchRun(runID)
	defer watch.Stop()
	for over := time.After(10 * time.Second); ; {
		run, err := h.store.FindRun(context.Background(), flow.DefaultWorkspace, "", runID)
		if err != nil {
			h.t.Fatal(err)
		}
		if run.State.Ended() {
			return run
		}
		select {
		case <-watch.Changes:
		case <-over:
			h.t.Fatalf("%s is still %s", runID, run.State)
		}
	}
}

func TestRunPageFollows(t *testing.T) {
	t.Parallel()
	h := setup(t)
	asked, answer := make(chan struct{}), make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(asked)
		select {
		case <-answer:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(s.Close)
	id := h.flow(fetching(s.URL))
	h.publish(id)
	out, err := h.runner.StartRun(context.Background(), flow.Start{WorkspaceID: flow.DefaultWorkspace, FlowID: id, Trigger: flow.TriggerAPI, Given: map[string]any{"q": "x"}})
	if err != nil {
		t.Fatal(err)
	}
	<-asked
	editor, path := h.as(flow.MemberEditor), "/runs/"+out.Run.ID
	page := editor.get(path+"?step=ask").is(200).has("running", "Cancel run", `data-hx-trigger="load`, "step=ask")
	seen := strings.Split(strings.SplitAfter(page.body, "events?seen=")[1], "&")[0]
	news := make(chan *answerOf, 1)
	go func() { news <- &answerOf{editor.part().get(path + "/events?step=ask&seen=" + seen)} }()
	editor.post(path+"/cancel", nil).see(path)
	got := <-news
	got.is(200).has(`id="run"`).lacks("<html")
	h.ended(out.Run.ID)
	editor.part().get(path+"/events?seen=0&step=ask").has("canceled").lacks("run-live-", "Cancel run")
	editor.post(path+"/cancel", nil).see(path)
	close(answer)
}

// answerOf carries an answer over a channel.
type answerOf struct{ *answer }

func TestRunPageIsForMembers(t *testing.T) {
	t.Parallel()
	h := setup(t)
	foreign := h.foreignFlow()
	h.publishIn("foreign", foreign)
	out, err := h.runner.StartRun(context.Background(), flow.Start{WorkspaceID: "foreign", FlowID: foreign, Trigger: flow.TriggerAPI, Given: map[string]any{"who": "x"}, Wait: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	owner, viewer := h.as(flow.MemberOwner), h.as(flow.MemberViewer)
	missing := owner.get("/runs/run_00000000000000000000000000").is(404).body
	for _, path := range []string{"/runs/" + out.Run.ID, "/runs/nonsense", "/runs/" + out.Run.ID + "/events"} {
		if owner.get(path).is(404).body != missing {
			t.Errorf("%s answers otherwise than a run that is missing", path)
		}
	}
	for _, act := range []string{"/cancel", "/rerun"} {
		owner.post("/runs/"+out.Run.ID+act, nil).is(404)
		viewer.post("/runs/"+out.Run.ID+act, nil).is(403)
	}
}

func (h *house) publishIn(ws, id string) {
	h.t.Helper()
	if _, _, err := h.library.Publish(context.Background(), ws, id, "cli"); err != nil {
		h.t.Fatal(err)
	}
}

// TestCURL gives the command to a real shell whose curl writes its arguments.
func TestCURL(t *testing.T) {
	t.Parallel()
	hostile := "it's $(touch /nowhere) `x` \"q\" \\ \n new <b> !!"
	run := &flow.Run{FlowID: "flow_1", Draft: true, Inputs: map[string]any{"text": hostile}}
	s := &Server{Config: Config{PublicURL: "https://flows.example.com"}}
	command, err := s.curl(run)
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "sh", "-c", `curl() { for a in "$@"; do printf '%s\0' "$a"; done; }; `+command).Output()
	if err != nil {
		t.Fatal(err)
	}
	args := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	for _, want := range []string{"https://flows.example.com/v1/flow/flow_1/run", "Authorization: Bearer slu_YOUR_KEY", "Prefer: wait=30"} {
		if !slices.Contains(args, want) {
			t.Errorf("%q is missing in %q", want, args)
		}
	}
	body, err := flow.DecodeJSON([]byte(args[len(args)-1]))
	if want := map[string]any{"text": hostile, "run_options": map[string]any{"version": "draft"}}; err != nil || !reflect.DeepEqual(body, any(want)) {
		t.Errorf("the body is %q, want %v", args[len(args)-1], want)
	}
	run.Inputs["text"] = strings.Repeat("x", maxCURL)
	if command, err := s.curl(run); command != "" || err != nil {
		t.Error("a command that no shell takes")
	}
}

func TestAdvice(t *testing.T) {
	t.Parallel()
	for _, code := range []flow.Code{
		flow.CodeProviderAuth, flow.CodeProviderRateLimited, flow.CodeProviderRejected, flow.CodeProviderUnavailable, flow.CodeModelNotFound,
		flow.CodeModelIncompatible, flow.CodeOutputInvalid, flow.CodeStepTimeout, flow.CodeRunTimeout, flow.CodeInputInvalid, flow.CodeExpressionFailed,
		flow.CodeCodeFailed, flow.CodeDestinationBlocked, flow.CodeHTTPFailed, flow.CodeBudgetExceeded, flow.CodePoisoned, flow.CodeInternal,
	} {
		if advice[code] == "" {
			t.Errorf("nobody is told what to do about %s", code)
		}
	}
}
