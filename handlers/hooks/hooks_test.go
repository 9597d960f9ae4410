package hooks_test

import (
	"bytes"
	"compress/gzip"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/db"
	"sluice/db/dbtest"
	"sluice/flow"
	"sluice/flow/hooks"
	"sluice/flow/signature"
	"sluice/flow/triggers"
	"sluice/flow/value"
	"sluice/handlers"
	"sluice/handlers/webtest"
	"sluice/nodes/expression"
)

// issues is a flow with two inputs whose outputs are the inputs.
const issues = `{"schema":"sluice.flow/v1","name":"Issues","nodes":[
 {"id":"t","kind":"input","config":{"name":"title","type":"text"}},{"id":"n","kind":"input","config":{"name":"number","type":"number","default":0}},
 {"id":"o","kind":"output","config":{"name":"title"}},{"id":"p","kind":"output","config":{"name":"number"}}],
 "edges":[{"from":"t.value","to":"o.value"},{"from":"n.value","to":"p.value"}]}`

// env is a server with a webhook.
type env struct {
	*webtest.Env
	trigger *triggers.Trigger
	url     string
}

const secret = "It's a Secret to Everybody"

// setup starts a server on a store with a webhook that GitHub's signatures protect.
func setup(t *testing.T, store *db.Store, set ...func(*hooks.Config)) *env {
	t.Helper()
	h := webtest.SetupOn(t, store, func(c *handlers.Config) {
		c.Scope = func(variables map[string]any) hooks.Eval { return expression.NewScope(variables).Eval }
		c.Compile = func(source string, names ...string) error { _, err := expression.Compile(source, names...); return err }
	})
	h.Add("founder@example.com", flow.DefaultWorkspace, flow.MemberOwner)
	e := &env{Env: h}
	id := h.PublishedFlow(issues)
	if err := h.Store.SaveCredential(t.Context(), flow.Credential{WorkspaceID: flow.DefaultWorkspace, Name: "github-hook"}, secret); err != nil {
		t.Fatal(err)
	}
	e.trigger = &triggers.Trigger{
		ID: flow.NewIDs().New(flow.PrefixTrigger), WorkspaceID: flow.DefaultWorkspace, FlowID: flow.FlowID(id), Name: "github", Kind: triggers.Hook, On: true, CreatedAt: h.Store.Now(),
		HookState: triggers.HookState{Token: triggers.NewToken(), Hook: hooks.Config{Verify: hooks.Verify{Config: signature.Config{Scheme: "github"}, Secrets: []string{"github-hook"}}}},
	}
	for _, f := range set {
		f(&e.trigger.Hook)
	}
	if err := h.Store.CreateTrigger(t.Context(), e.trigger); err != nil {
		t.Fatal(err)
	}
	e.url = h.Http.URL + triggers.HookPath(e.trigger.Token)
	return e
}

// answer is the response to a request.
type answer struct {
	status int
	body   string
	header http.Header
}

// send sends a signed event.
func (e *env) send(delivery, body string, change ...func(*http.Request)) answer {
	e.T.Helper()
	r, err := http.NewRequestWithContext(e.T.Context(), http.MethodPost, e.url, strings.NewReader(body))
	if err != nil {
		e.T.Fatal(err)
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	r.Header.Set("X-GitHub-Delivery", delivery)
	r.Header.Set("X-GitHub-Event", "issues")
	for _, f := range change {
		f(r)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		e.T.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		e.T.Fatal(err)
	}
	return answer{res.StatusCode, string(text), res.Header}
}

// is fails the test unless the answer has a status and contains a text.
func (a answer) is(t *testing.T, status int, text string) answer {
	t.Helper()
	if a.status != status || !strings.Contains(a.body, text) {
		t.Errorf("%d %s, want %d and %s", a.status, a.body, status, text)
	}
	return a
}

func (e *env) events() []triggers.Event {
	e.T.Helper()
	list, err := e.Store.ListEvents(e.T.Context(), e.trigger, "", "", 100)
	if err != nil {
		e.T.Fatal(err)
	}
	return list
}

func (e *env) runs() []flow.Run {
	e.T.Helper()
	list, err := e.Store.ListRuns(e.T.Context(), flow.RunFilter{WorkspaceID: flow.DefaultWorkspace, FlowID: e.trigger.FlowID, Limit: 100})
	if err != nil {
		e.T.Fatal(err)
	}
	return list
}

// event returns the event with a state, a code and a text in its reason.
func (e *env) event(state triggers.State, code flow.Code, text string) triggers.Event {
	e.T.Helper()
	list := e.events()
	for _, ev := range list {
		if ev.State == state && ev.Code == code && strings.Contains(ev.Detail, text) {
			return ev
		}
	}
	e.T.Fatalf("events %+v, want %s %s %s", list, state, code, text)
	return triggers.Event{}
}

func TestHook_starts_a_run_for_a_signed_event(t *testing.T) {
	t.Parallel()
	e := setup(t, dbtest.SQLite(t))
	a := e.send("d1", `{"title":"Bug","number":7,"other":1}`).is(t, 200, `{"run_id":"run_`)
	runs := e.runs()
	if len(runs) != 1 || !strings.Contains(a.body, string(runs[0].ID)) {
		t.Fatalf("%d runs, %s", len(runs), a.body)
	}
	run, err := e.Store.FindRun(t.Context(), flow.DefaultWorkspace, e.trigger.FlowID, runs[0].ID)
	if err != nil || run.Trigger != flow.TriggerHook || run.TriggerID != e.trigger.ID || run.TriggerName != "github" || run.EventKey != "d1" || run.KeyID != "" ||
		string(value.Canonical(run.Inputs)) != `{"number":7,"title":"Bug"}` {
		t.Errorf("run %+v, %v", run, err)
	}
	if ev := e.event(triggers.Started, "", ""); ev.Key != "d1" || ev.RunID != run.ID || ev.Request != "" {
		t.Errorf("event %+v", ev)
	}
	e.send("d1", `{"title":"Bug","number":7,"other":1}`).is(t, 200, a.body)
	if ev := e.event(triggers.Started, "", ""); ev.Repeats != 1 || len(e.runs()) != 1 {
		t.Errorf("a repeated event: %+v, %d runs", ev, len(e.runs()))
	}
}

func TestHook_starts_one_run_for_fifty_equal_events_at_once(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(testing.TB, ...func(*db.Config)) *db.Store{"sqlite": dbtest.SQLite, "postgres": dbtest.Postgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := setup(t, open(t))
			var all sync.WaitGroup
			answers := make([]answer, 50)
			for i := range answers {
				all.Go(func() { answers[i] = e.send("d1", `{"title":"Bug"}`) })
			}
			all.Wait()
			for _, a := range answers {
				if a.status != 200 || a.body != answers[0].body {
					t.Errorf("%d %s, want %s", a.status, a.body, answers[0].body)
				}
			}
			if runs, list := e.runs(), e.events(); len(runs) != 1 || len(list) != 1 || list[0].Repeats != 49 || list[0].RunID != runs[0].ID {
				t.Errorf("%d runs, events %+v", len(runs), list)
			}
		})
	}
}

func TestHook_refuses_what_is_not_signed(t *testing.T) {
	t.Parallel()
	e := setup(t, dbtest.SQLite(t))
	unsigned := func(r *http.Request) { r.Header.Del("X-Hub-Signature-256") }
	e.send("d1", `{"title":"Bug"}`, unsigned).is(t, 401, `{"code":"signature_invalid"}`)
	ev := e.event(triggers.Rejected, flow.CodeSignatureInvalid, "X-Hub-Signature-256 is missing; 15 bytes")
	if ev.Key == "d1" || !strings.Contains(ev.Request, `Bug`) {
		t.Errorf("event %+v", ev)
	}
	e.send("d1", `{"title":"Bug"}`, func(r *http.Request) {
		r.Header.Set("X-Hub-Signature-256", "sha256=00")
		r.Header.Set("Authorization", "Bearer canary")
	}).is(t, 401, "")
	if ev = e.event(triggers.Rejected, flow.CodeSignatureInvalid, "doesn't match: checked 15 bytes with HMAC SHA-256, secret github-hook"); strings.Contains(ev.Request, "canary") || strings.Contains(ev.Request, "sha256=") {
		t.Errorf("a secret header is stored: %s", ev.Request)
	}
	if len(e.runs()) != 0 {
		t.Error("a run was started")
	}
	e.send("d1", `{"title":"Bug"}`).is(t, 200, "run_id") // the sender's ID was not taken by the refused one
}

func TestHook_maps_filters_and_names_wrong_inputs(t *testing.T) {
	t.Parallel()
	e := setup(t, dbtest.SQLite(t), func(c *hooks.Config) {
		c.When = "body.action == 'opened'"
		inputs, _ := flow.DecodeJSON([]byte(`{"title":{"cel":"body.issue.title"},"number":{"cel":"body.issue.number"}}`))
		c.Inputs = inputs.(*flow.Object)
	})
	e.send("d1", `{"action":"closed"}`).is(t, 200, `"ignored":true`)
	e.event(triggers.Ignored, "", "filter")
	e.send("d2", `{"action":"opened","issue":{"title":"x"}}`).is(t, 422, `{"code":"expression_failed"}`)
	e.event(triggers.Rejected, flow.CodeExpressionFailed, "The input number")
	e.send("d2", `{"action":"opened","issue":{"title":"x","number":"y"}}`).is(t, 422, `{"code":"input_invalid"}`)
	if ev := e.event(triggers.Rejected, flow.CodeInputInvalid, "number"); ev.Key != "d2" || ev.Repeats != 1 || strings.Count(ev.Detail, "number, got") != 1 {
		t.Errorf("event %+v", ev)
	}
	e.send("d2", `{"action":"opened","issue":{"title":"x","number":3}}`).is(t, 200, "run_id") // a rejected event may come again
	e.event(triggers.Started, "", "")
	if len(e.runs()) != 1 {
		t.Errorf("%d runs", len(e.runs()))
	}
}

func TestHook_answers_with_outputs(t *testing.T) {
	t.Parallel()
	e := setup(t, dbtest.SQLite(t), func(c *hooks.Config) {
		c.Reply, c.WaitS, c.Response = hooks.ReplyOutputs, 60, &hooks.Response{Body: "title", Type: "text/xml"}
	})
	a := e.send("d1", `{"title":"<Response/>"}`)
	if a.is(t, 200, ""); a.body != "<Response/>" || a.header.Get("Content-Type") != "text/xml; charset=utf-8" {
		t.Errorf("%s %s", a.header.Get("Content-Type"), a.body)
	}
	if again := e.send("d1", `{"title":"<Response/>"}`); again.body != a.body {
		t.Errorf("the second answer is %s", again.body)
	}
}

func TestHook_answers_handshakes_without_a_run(t *testing.T) {
	t.Parallel()
	e := setup(t, dbtest.SQLite(t))
	e.send("d1", `{"zen":"x"}`, func(r *http.Request) { r.Header.Set("X-GitHub-Event", "ping") }).is(t, 200, "{}")
	e.send("d1", `{"zen":"x"}`, func(r *http.Request) { r.Header.Set("X-GitHub-Event", "ping"); r.Header.Del("X-Hub-Signature-256") }).is(t, 401, "")
	e.send("", "", func(r *http.Request) { r.Method = http.MethodGet }).is(t, 404, "not_found")
	if len(e.runs()) != 0 {
		t.Error("a run was started")
	}
}

func TestHook_hides_why_there_is_nothing_and_keeps_its_URL_out_of_the_log(t *testing.T) {
	t.Parallel()
	e := setup(t, dbtest.SQLite(t))
	token := e.trigger.Token
	timed := func() answer {
		t.Helper()
		began := time.Now()
		a := e.send("d1", `{}`)
		if took := time.Since(began); took < 50*time.Millisecond {
			t.Errorf("the answer came after %s, which may tell what was looked up", took)
		}
		delete(a.header, "Date")
		delete(a.header, "X-Request-Id")
		return a
	}
	e.url = e.Http.URL + triggers.HookPath(triggers.NewToken())
	unknown := timed().is(t, 404, `{"code":"not_found"}`)
	e.url = e.Http.URL + "/h/short"
	if short := timed(); !reflect.DeepEqual(short, unknown) {
		t.Errorf("got %+v, want %+v", short, unknown)
	}
	e.url = e.Http.URL + triggers.HookPath(token)
	if err := e.Store.ArchiveFlow(t.Context(), flow.DefaultWorkspace, e.trigger.FlowID); err != nil {
		t.Fatal(err)
	}
	if archived := timed(); !reflect.DeepEqual(archived, unknown) {
		t.Errorf("got %+v, want %+v", archived, unknown)
	}
	if strings.Contains(e.Log.String(), token) {
		t.Error("the token is in the log")
	}
}

func TestHook_limits(t *testing.T) {
	t.Parallel()
	t.Run("body", func(t *testing.T) {
		t.Parallel()
		e := setup(t, dbtest.SQLite(t), func(c *hooks.Config) { c.MaxBody = 100 })
		e.send("d1", `{"title":"`+strings.Repeat("x", 100)+`"}`).is(t, 413, "body_too_large")
		e.event(triggers.Rejected, flow.CodeBodyTooLarge, "100")
	})
	t.Run("requests_a_minute", func(t *testing.T) {
		t.Parallel()
		e := setup(t, dbtest.SQLite(t), func(c *hooks.Config) { one := int64(1); c.PerMinute = &one })
		e.send("d1", `{"title":"x"}`).is(t, 200, "")
		if a := e.send("d2", `{"title":"x"}`).is(t, 429, "rate_limited"); a.header.Get("Retry-After") == "" {
			t.Error("Retry-After is missing")
		}
	})
	t.Run("runs_a_day", func(t *testing.T) {
		t.Parallel()
		e := setup(t, dbtest.SQLite(t), func(c *hooks.Config) { one := int64(1); c.PerDay = &one })
		e.send("d0", `{}`).is(t, 422, "") // does not count
		e.send("d1", `{"title":"x"}`).is(t, 200, "")
		e.send("d2", `{"title":"x"}`).is(t, 503, "quota_exceeded")
		e.send("d1", `{"title":"x"}`).is(t, 200, "run_id") // a repeated one needs no run
	})
	t.Run("files_of_the_workspace", func(t *testing.T) {
		t.Parallel()
		e := setup(t, dbtest.SQLite(t))
		f, err := e.Store.SaveFile(t.Context(), flow.NewFile{WorkspaceID: flow.DefaultWorkspace, Name: "a.txt", MIME: "text/plain"}, bytes.NewReader([]byte("x")))
		if err != nil {
			t.Fatal(err)
		}
		e.send("d1", fmt.Sprintf(`{"title":{"id":%q}}`, f.ID)).is(t, 422, "input_invalid")
	})
}

func TestHook_paused_asks_the_sender_to_come_again(t *testing.T) {
	t.Parallel()
	e := setup(t, dbtest.SQLite(t))
	paused, err := e.Store.FindTrigger(t.Context(), flow.DefaultWorkspace, e.trigger.FlowID, e.trigger.ID)
	if err != nil {
		t.Fatal(err)
	}
	paused.On, paused.Reason = false, triggers.ReasonPaused
	if err := e.Store.UpdateTrigger(t.Context(), paused); err != nil {
		t.Fatal(err)
	}
	if a := e.send("d1", `{"title":"x"}`).is(t, 503, "trigger_paused"); a.header.Get("Retry-After") == "" {
		t.Error("Retry-After is missing")
	}
}

func TestHook_rotated_URL_works_until_its_time(t *testing.T) {
	t.Parallel()
	e := setup(t, dbtest.SQLite(t))
	old := e.url
	rotate := func(until time.Time) {
		e.trigger.Token = triggers.NewToken()
		if err := e.Store.SetHookToken(t.Context(), e.trigger, until); err != nil {
			t.Fatal(err)
		}
		if token, err := e.Store.HookToken(t.Context(), flow.DefaultWorkspace, e.trigger.ID); err != nil || token != e.trigger.Token {
			t.Fatal(err)
		}
	}
	rotate(e.Store.Now().Add(time.Hour))
	e.send("d1", `{"title":"x"}`).is(t, 200, "")
	e.url = e.Http.URL + triggers.HookPath(e.trigger.Token)
	e.send("d2", `{"title":"x"}`).is(t, 200, "")
	rotate(time.Time{})
	e.send("d3", `{"title":"x"}`).is(t, 404, "")
	e.url = old
	e.send("d3", `{"title":"x"}`).is(t, 404, "")
}

func TestHook_captures_requests(t *testing.T) {
	t.Parallel()
	e := setup(t, dbtest.SQLite(t))
	if err := e.Store.SetCapture(t.Context(), e.trigger, e.Store.Now().Add(triggers.CaptureFor)); err != nil {
		t.Fatal(err)
	}
	e.send("d1", `{"title":"captured"}`).is(t, 200, "")
	if ev := e.event(triggers.Started, "", ""); !strings.Contains(ev.Request, "captured") || !strings.Contains(ev.Request, "x-github-event") || strings.Contains(ev.Request, "sha256=") {
		t.Errorf("request %s", ev.Request)
	}
}

func TestHook_reads_compressed_and_old_bodies(t *testing.T) {
	t.Parallel()
	e := setup(t, dbtest.SQLite(t))
	gzipped := func(text string) string {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, _ = io.WriteString(w, text) // never fails
		_ = w.Close()
		return b.String()
	}
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	coded := func(coding string) func(*http.Request) { return header("Content-Encoding", coding) }
	e.send("d1", gzipped(`{"title":"packed"}`), coded("gzip")).is(t, 200, "run_id")
	e.send("d2", "{\"title\":\"caf\xe9\"}", header("Content-Type", "application/json; charset=iso-8859-1")).is(t, 200, "run_id")
	e.send("d3", `{"title":"put"}`, func(r *http.Request) { r.Method = http.MethodPut }).is(t, 200, "run_id")
	e.send("d4", "not gzip", coded("gzip")).is(t, 422, "")
	e.send("d5", gzipped(`{"title":"cut"}`)[:20], coded("gzip")).is(t, 422, "")
	e.send("d6", gzipped(`{"title":"`+strings.Repeat("x", 2<<20)+`"}`), coded("gzip")).is(t, 413, "")
	e.send("d7", `{}`, coded("br")).is(t, 415, "unsupported_media_type")
	e.send("d8", `{}`, func(r *http.Request) { r.Method = http.MethodDelete }).is(t, 405, "method_not_allowed")
	e.event(triggers.Rejected, flow.CodeInputInvalid, "not valid gzip")
	e.event(triggers.Rejected, flow.CodeUnsupportedMediaType, "compressed with br")
	titles := map[string]bool{}
	for _, run := range e.runs() {
		full, err := e.Store.FindRun(t.Context(), flow.DefaultWorkspace, run.FlowID, run.ID)
		if err != nil {
			t.Fatal(err)
		}
		title, _ := full.Inputs.Get("title").(string)
		titles[title] = true
	}
	if len(titles) != 3 || !titles["packed"] || !titles["café"] || !titles["put"] {
		t.Errorf("titles %v", titles)
	}
	if err := e.Store.SetCapture(t.Context(), e.trigger, e.Store.Now().Add(triggers.CaptureFor)); err != nil {
		t.Fatal(err)
	}
	e.send("d9", "{\"title\":\"caf\xe9 kept\"}", header("Content-Type", "application/json; charset=iso-8859-1")).is(t, 200, "run_id")
	for _, ev := range e.events() {
		if !strings.Contains(ev.Request, "kept") {
			continue
		}
		r, err := triggers.ReceivedIn(&ev)
		if err != nil {
			t.Fatal(err)
		}
		m, err := r.Message()
		if got := string(value.Encode(m.Body)); err != nil || got != `{"title":"café kept"}` {
			t.Errorf("the kept request reads as %s, %v", got, err)
		}
		return
	}
	t.Error("the request was not kept")
}
