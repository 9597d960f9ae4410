package console_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/db/core"
	"sluice/db/gen"
	"sluice/flow"
	"sluice/flow/value"
	"sluice/handlers/console"
	"sluice/handlers/web"
	"sluice/handlers/webtest"
	consoleview "sluice/views/console"
)

func TestRunPage(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	viewer := h.As(flow.MemberViewer)
	t.Run("shows the attempts of a successful run", func(t *testing.T) {
		id := h.Flow(webtest.RequestFlow(webtest.FlakyServer(t, 1)))
		h.Publish(id)
		run, err := h.Call(id, h.Key("production"), map[string]any{"q": "it's <b>"})
		if err != nil || run.State != flow.RunSucceeded {
			t.Fatalf("%v %+v", err, run.Error)
		}
		page := viewer.Get("/runs/"+string(run.ID)).Is(200).Has("Ask around", string(run.ID), "succeeded", "v1", "production", "4 done",
			"you said it&#39;s &lt;b&gt;, please", `attempt 1: retrying`, `attempt 2: succeeded`, "Copy as cURL").Lacks("Rerun", "Cancel run", "run-live-")
		if !strings.Contains(page.Body, `class="box g-source succeeded`) {
			t.Error("the picture has no states")
		}
		step := viewer.Get("/runs/"+string(run.ID)+"?step=ask&tab=attempts").Has("Attempts", "http_failed", `aria-current`)
		if strings.Index(step.Body, "http_failed") < strings.Index(step.Body, "Steps") {
			t.Error("a run that succeeded has an error box")
		}
		viewer.Get("/flows/" + id + "/runs/" + string(run.ID)).RedirectsTo("/runs/" + string(run.ID))
		viewer.Get("/flows/flow_00000000000000000000000000/runs/" + string(run.ID)).Is(404)
	})
	t.Run("shows lost calls", func(t *testing.T) {
		id := h.Flow(webtest.PublishGreeting)
		h.Publish(id)
		run, err := h.Call(id, h.Key("k3"), map[string]any{"who": "Ada"})
		if err != nil {
			t.Fatal(err)
		}
		err = h.Store.Write(context.Background(), core.Durable, func(tx *core.Tx) error {
			_, err := tx.DBTX.ExecContext(tx.Ctx, "UPDATE steps SET unpriced_steps = 1, attempts = $1 WHERE run_id = $2 AND path = 'say'",
				`[{"number":1,"started_at":"2026-03-14T15:09:26Z","unpriced":true,"lost":true}]`, run.ID)
			return errors.Join(err, tx.Queries.AddUnpricedSteps(tx.Ctx, gen.AddUnpricedStepsParams{ID: run.ID, Steps: 1}))
		})
		if err != nil {
			t.Fatal(err)
		}
		viewer.Get("/runs/"+string(run.ID)+"?step=say&tab=attempts").Is(200).Has("· 1 step without a price (1 lost)", "lost call, bill unknown", `<span class="cost">lost</span>`, consoleview.LostHelp).Lacks("price unknown", "unpriced")
	})
	t.Run("indents steps inside of nodes", func(t *testing.T) {
		id := h.Flow(webtest.PublishGreeting)
		h.Publish(id)
		run, err := h.Call(id, h.Key("k4"), map[string]any{"who": "Ada"})
		if err != nil {
			t.Fatal(err)
		}
		const columns = "workspace_id, node, kind, state, attempt, failures, node_hash, input_hash, input_tokens, output_tokens, cost_nano_usd, seq, output_seq, started_at, ended_at, wait_until, error, saved, input, outputs, attempts"
		err = h.Store.Write(context.Background(), core.Durable, func(tx *core.Tx) (err error) {
			for _, name := range []string{"10", "2", "2.1"} {
				_, e := tx.DBTX.ExecContext(tx.Ctx, "INSERT INTO steps (run_id, path, "+columns+") SELECT run_id, 'say."+name+"', "+columns+" FROM steps WHERE run_id = $1 AND path = 'say'", run.ID)
				err = errors.Join(err, e)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		body := viewer.Get("/runs/"+string(run.ID)+"?step=say.2.1").Is(200).Has("4 done", `id="step-name" dir="auto">Template 2.1<`, "in Say hello").Body
		at := 0
		for _, row := range []string{`depth-0 succeeded" id="row-say"`, `depth-1 succeeded inside" id="row-say.2"`, `depth-2 succeeded current inside" id="row-say.2.1"`, `depth-1 succeeded inside" id="row-say.10"`, `id="row-out"`} {
			next := strings.Index(body, row)
			if next <= at {
				t.Errorf("%s is missing or in another place", row)
			}
			at = next
		}
	})
	t.Run("advises on a failed run", func(t *testing.T) {
		id := h.Flow(webtest.RequestFlow(webtest.FlakyServer(t, 99)))
		h.Publish(id)
		run, err := h.Call(id, nil, map[string]any{"q": "hello"})
		if err != nil || run.State != flow.RunFailed {
			t.Fatalf("%v %+v", err, run)
		}
		viewer.Get("/runs/"+string(run.ID)).Is(200).Has(`role="alert"`, "http_failed", "Ask the server", "give the node retries", "attempt 3: failed", `id="step"`, "Not started").Lacks("Rerun from")
		editor := h.As(flow.MemberEditor)
		editor.Get("/runs/"+string(run.ID)).Has("Rerun from “Ask the server”", "Rerunning from here reuses 2 finished steps at no cost.")
		to := editor.Post("/runs/"+string(run.ID)+"/rerun", url.Values{"from": {"ask"}}).Is(303).Header.Get("Location")
		h.Ended(flow.RunID(strings.TrimPrefix(to, "/runs/")))
		editor.Get(to).Is(200).Has("Rerun of", string(run.ID), "from “Ask the server”", "Reused from the previous run", "<dd>you")
		editor.Post("/runs/"+string(run.ID)+"/rerun", url.Values{"from": {"nobody"}}).Is(422)
	})
	t.Run("explains an erased run", func(t *testing.T) {
		id := h.Flow(webtest.PublishGreeting)
		h.Publish(id)
		run, _ := h.Call(id, h.Key("k2"), map[string]any{"who": "Ada"})
		if err := h.Store.EraseRun(context.Background(), flow.DefaultWorkspace, flow.FlowID(id), run.ID, flow.CodeRunExpired); err != nil {
			t.Fatal(err)
		}
		h.As(flow.MemberEditor).Get("/runs/"+string(run.ID)).Is(200).Has("The content of this run is gone", "succeeded", "v1").Lacks("Ada,", "run-outputs", "Rerun", "cURL")
	})
}

func TestRunPage_follows_run(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	asked, answer := make(chan struct{}), make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(asked)
		select {
		case <-answer:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(s.Close)
	id := h.Flow(webtest.RequestFlow(s.URL))
	h.Publish(id)
	out, err := h.Runner.StartRun(context.Background(), flow.Start{WorkspaceID: flow.DefaultWorkspace, FlowID: flow.FlowID(id), Trigger: flow.TriggerAPI, Given: value.FromMap(map[string]any{"q": "x"})})
	if err != nil {
		t.Fatal(err)
	}
	<-asked
	editor, path := h.As(flow.MemberEditor), "/runs/"+string(out.Run.ID)
	page := editor.Get(path+"?step=ask").Is(200).Has("running", "Cancel run", `data-hx-trigger="load`, "step=ask")
	seen := strings.Split(strings.SplitAfter(page.Body, "events?seen=")[1], "&")[0]
	news := make(chan *answerOf, 1)
	go func() { news <- &answerOf{editor.Fragment().Get(path + "/events?step=ask&seen=" + seen)} }()
	editor.Post(path+"/cancel", nil).RedirectsTo(path)
	got := <-news
	got.Is(200).Has(`id="run"`).Lacks("<html")
	h.Ended(out.Run.ID)
	editor.Fragment().Get(path+"/events?seen=0&step=ask").Has("canceled").Lacks("run-live-", "Cancel run")
	editor.Post(path+"/cancel", nil).RedirectsTo(path)
	close(answer)
}

// answerOf sends a response over a channel.
type answerOf struct{ *webtest.Answer }

func TestRunPage_access(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	foreign := foreignFlow(h)
	publishIn(h, "foreign", foreign)
	out, err := h.Runner.StartRun(context.Background(), flow.Start{WorkspaceID: "foreign", FlowID: foreign, Trigger: flow.TriggerAPI, Given: value.FromMap(map[string]any{"who": "x"}), Wait: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	owner, viewer := h.As(flow.MemberOwner), h.As(flow.MemberViewer)
	missing := owner.Get("/runs/run_00000000000000000000000000").Is(404).Body
	for _, path := range []string{"/runs/" + string(out.Run.ID), "/runs/nonsense", "/runs/" + string(out.Run.ID) + "/events"} {
		if owner.Get(path).Is(404).Body != missing {
			t.Errorf("%s answers otherwise than a run that is missing", path)
		}
	}
	for _, act := range []string{"/cancel", "/rerun"} {
		owner.Post("/runs/"+string(out.Run.ID)+act, nil).Is(404)
		viewer.Post("/runs/"+string(out.Run.ID)+act, nil).Is(403)
	}
}

// TestCURL gives the command to a real shell whose curl writes its arguments.
func TestCURL(t *testing.T) {
	t.Parallel()
	hostile := "it's $(touch /nowhere) `x` \"q\" \\ \n new <b> !!"
	run := &flow.Run{FlowID: "flow_1", Draft: true, Inputs: value.FromMap(map[string]any{"text": hostile})}
	s := &console.Server{Site: &web.Site{Config: web.Config{PublicURL: "https://flows.example.com"}}}
	command, err := s.Curl(run)
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
	if want := map[string]any{"text": hostile, "run_options": map[string]any{"version": "draft"}}; err != nil || !flow.EqualValues(body, want) {
		t.Errorf("the body is %q, want %v", args[len(args)-1], want)
	}
	run.Inputs.Set("text", strings.Repeat("x", console.MaxCURL))
	if command, err := s.Curl(run); command != "" || err != nil {
		t.Error("a command that no shell takes")
	}
}
