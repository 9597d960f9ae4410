package handlers_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sluice/db"
	"sluice/db/dbtest"
	"sluice/flow"
	"sluice/flow/library"
	"sluice/handlers/webtest"
)

// outsideWorld answers the requests of flows under test, and counts them by method and path.
type outsideWorld struct {
	*httptest.Server
	gets, posts atomic.Int64
}

func newOutsideWorld(t *testing.T) *outsideWorld {
	w := &outsideWorld{}
	w.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		n := w.gets.Add(1)
		if r.Method != http.MethodGet {
			w.posts.Add(1)
		}
		rw.Header().Set("Content-Type", "application/json")
		rw.Header().Set("Set-Cookie", "session=abcdef0123456789")
		fmt.Fprintf(rw, `{"n": %d, "path": %q, "access_token": "s3cr3t-0123456789abcdef"}`, n, r.URL.RequestURI())
	}))
	t.Cleanup(w.Close)
	return w
}

// testedFlow asks a service, a person and the clock, posts, and sends a webhook.
const testedFlow = `{"schema":"sluice.flow/v1","name":"Tested","nodes":[
	{"id":"in","kind":"input","config":{"name":"word","type":"text"}},
	{"id":"get","kind":"http_request","config":{"method":"GET","url":"%[1]s/get?word={{word}}"}},
	{"id":"wait","kind":"delay","config":{"wait":"for a duration","duration":"30d"}},
	{"id":"ask","kind":"approval","config":{"title":"Go?","audience":"anyone with the link","values":["draft"]}},
	{"id":"post","kind":"http_request","config":{"method":"POST","url":"%[1]s/post","body":"{{draft}}"}},
	{"id":"answer","kind":"output","config":{"name":"answer"}},
	{"id":"posted","kind":"output","config":{"name":"posted"}},
	{"id":"hook","kind":"webhook","config":{"url":"%[1]s/hook","outputs":["answer"]}}],
	"edges":[{"from":"in.value","to":"get.word"},{"from":"get.body","to":"wait.value"},{"from":"wait.value","to":"answer.value"},{"from":"wait.value","to":"ask.draft"},
	{"from":"ask.draft","to":"post.draft"},{"from":"post.body","to":"posted.value"}]}`

// testReport is what the tests read of a report.
type testReport struct {
	ID         string
	RunID      flow.RunID `json:"run_id"`
	Status     flow.RunState
	State      string
	Summary    string
	Runs       int
	Candidates []struct {
		Passed, Failed, Errored, Stale, Pending int
		Recorded                                bool
		Worse                                   []string
	}
	Cases []struct {
		ID      string
		Results []struct {
			State, Message string
			RunID          flow.RunID `json:"run_id"`
		}
	}
	Verdicts []struct {
		State, Message string
		Checks         []struct{ Check, State, Reason string }
	}
}

// testClient tests a flow through the API.
type testClient struct {
	*caller
	flow string
}

// must sends a request and returns the body of its response, which must have the status.
func (c *testClient) must(status int, method, path, body string) string {
	c.h.T.Helper()
	got, _, raw := c.send(method, "/v1/flow/"+c.flow+path, body)
	for deadline := time.Now().Add(2 * time.Minute); got == http.StatusServiceUnavailable && method != http.MethodPost && time.Now().Before(deadline); { // the machine is busy
		got, _, raw = c.send(method, "/v1/flow/"+c.flow+path, body)
	}
	if got != status {
		c.h.T.Fatalf("%s %s: %d %s, wanted %d", method, path, got, raw, status)
	}
	return raw
}

// test runs a test to its end.
func (c *testClient) test(body string) (r testReport) {
	c.h.T.Helper()
	if err := json.Unmarshal([]byte(c.must(202, "POST", "/tests", body)), &r); err != nil {
		c.h.T.Fatal(err)
	}
	return c.ended(r)
}

// ended waits for the end of a test.
func (c *testClient) ended(r testReport) testReport {
	c.h.T.Helper()
	for deadline := time.Now().Add(5 * time.Minute); ; {
		if err := json.Unmarshal([]byte(c.must(200, "GET", "/tests/"+r.ID+"?case=one", "")), &r); err != nil {
			c.h.T.Fatal(err)
		}
		if r.Status.Ended() || time.Now().After(deadline) {
			return r
		}
		if _, err := c.h.Runner.AwaitRun(c.h.T.Context(), flow.DefaultWorkspace, flow.FlowID(c.flow), r.RunID, 10*time.Second); err != nil {
			c.h.T.Fatal(err)
		}
	}
}

func onBothStores(t *testing.T, test func(t *testing.T, h *webtest.Env)) {
	t.Parallel()
	for name, store := range map[string]func(testing.TB, ...func(*db.Config)) *db.Store{"SQLite": dbtest.SQLite, "PostgreSQL": dbtest.Postgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := webtest.SetupOn(t, store(t))
			h.Add("founder@example.com", flow.DefaultWorkspace, flow.MemberOwner)
			test(t, h)
		})
	}
}

func TestTests_replay_what_they_recorded(t *testing.T) {
	onBothStores(t, func(t *testing.T, h *webtest.Env) {
		world := newOutsideWorld(t)
		c := &testClient{newCaller(h, nil, flow.Key{Scopes: flow.Scopes}), h.PublishedFlow(fmt.Sprintf(testedFlow, world.URL))}
		c.must(200, "PUT", "/cases/one", `{"inputs":{"word":"a"},"answers":{"ask":{"decision":"approved","values":{"draft":"edited"}}},"stubs":{"post":{"outputs":{"status":200,"body":"stubbed"}}},
			"checks":[{"output":"posted","equals":"stubbed"},{"steps":{"post":"succeeded","hook":"succeeded"}},{"expression":"outputs.answer.path == '/get?word=a'"},{"sends":{"hook":{"answer":{"path":"/get?word=a"}}},"ignore":["/answer/n","/answer/access_token"]},{"limits":{"ms":60000}}]}`)
		c.must(200, "PUT", "/cases/two", `{"inputs":{"word":"b"},"answers":{"ask":{"decision":"rejected"}},"checks":[{"steps":{"post":"skipped"}}]}`)
		c.must(200, "PUT", "/cases/unstubbed", `{"inputs":{"word":"c"},"answers":{"ask":{"decision":"approved"}}}`)

		if r := c.test(`{"mode":"replay"}`); r.State != "stale" || r.Candidates[0].Stale != 3 || !strings.Contains(r.Cases[0].Results[0].Message, "get has no recorded result. Run the test with the mode fill") {
			t.Fatalf("without recordings: %+v", r)
		}
		if n := world.gets.Load(); n != 0 {
			t.Fatalf("a replay sent %d requests", n)
		}
		if raw := c.must(202, "POST", "/tests", `{"mode":"replay"}`); !strings.Contains(raw, `"estimate":{"steps":3,"recorded":0,"calls":0,"usd":0}`) {
			t.Errorf("the estimate: %s", raw)
		}
		r := c.test(`{"mode":"fill"}`)
		if r.Candidates[0].Passed != 2 || r.Candidates[0].Stale != 1 || !strings.Contains(r.Cases[2].Results[0].Message, "post has no recorded result. It may change something") {
			t.Fatalf("filled: %+v", r)
		}
		if gets, posts := world.gets.Load(), world.posts.Load(); gets != 3 || posts != 0 {
			t.Fatalf("filling sent %d requests, %d of them writes, wanted 3 reads", gets, posts)
		}
		for range 2 {
			if again := c.test(`{"mode":"replay","cases":["one","two"]}`); again.State != "passed" || !again.Candidates[0].Recorded || again.Runs != 2 {
				t.Fatalf("replayed: %+v", again)
			}
		}
		if n := world.gets.Load(); n != 3 {
			t.Fatalf("replays sent %d more requests", n-3)
		}
		run, err := h.Store.FindRun(t.Context(), flow.DefaultWorkspace, "", r.Cases[0].Results[0].RunID)
		if err != nil {
			t.Fatal(err)
		}
		if text := string(flow.EncodeJSON(run.Outputs)); strings.Contains(text, "s3cr3t") {
			t.Errorf("a recording has a secret: %s", text)
		}

		c.must(200, "PUT", "/cases/one", `{"inputs":{"word":"a changed"},"answers":{"ask":{"decision":"rejected"}}}`)
		if r := c.test(`{"mode":"replay","cases":["one"]}`); r.State != "stale" || !strings.Contains(r.Verdicts[0].Message, "changed at character") {
			t.Errorf("after a change: %+v", r)
		}
		if _, _, raw := c.send("GET", "/v1/flow/"+c.flow+"/runs", ""); strings.Contains(raw, string(r.RunID)) || strings.Contains(raw, string(r.Cases[0].Results[0].RunID)) {
			t.Error("the list of runs has runs of tests")
		}
	})
}

func TestTests_send_nothing_but_what_they_allow(t *testing.T) {
	onBothStores(t, func(t *testing.T, h *webtest.Env) {
		world := newOutsideWorld(t)
		c := &testClient{newCaller(h, nil, flow.Key{Scopes: flow.Scopes}), h.PublishedFlow(fmt.Sprintf(testedFlow, world.URL))}
		c.must(200, "PUT", "/cases/one", `{"inputs":{"word":"a"},"answers":{"ask":{"decision":"approved","values":{"draft":"x"}}}}`)
		for _, mode := range []string{"replay", "fill", "live"} {
			if r := c.test(`{"mode":"` + mode + `"}`); r.State != "stale" {
				t.Errorf("%s: %+v", mode, r)
			}
		}
		if n := world.posts.Load(); n != 0 {
			t.Errorf("%d writes left", n)
		}
		// A person is asked as always before a node that may write; canceling ends the wait.
		var r testReport
		if err := json.Unmarshal([]byte(c.must(202, "POST", "/tests", `{"mode":"live","allow":["post"]}`)), &r); err != nil {
			t.Fatal(err)
		}
		asked := func() bool {
			list, err := h.Store.ListChildren(t.Context(), flow.DefaultWorkspace, r.RunID)
			if err != nil || len(list) == 0 {
				return false
			}
			runs, err := h.Store.ReadChildren(t.Context(), flow.DefaultWorkspace, list[0].Caller, 0, 1)
			if err != nil || len(runs) == 0 {
				return false
			}
			open, err := h.Store.ListApprovals(t.Context(), flow.DefaultWorkspace, runs[0].RunID)
			return err == nil && len(open) == 1
		}
		for deadline := time.Now().Add(5 * time.Minute); !asked(); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("nobody is asked")
			}
		}
		c.must(200, "POST", "/tests/"+r.ID+"/cancel", "")
		if n := world.posts.Load(); n != 0 {
			t.Errorf("%d writes left before anybody approved", n)
		}
	})
}

func TestTests_compare_candidates(t *testing.T) {
	onBothStores(t, func(t *testing.T, h *webtest.Env) {
		c := &testClient{newCaller(h, nil, flow.Key{Scopes: flow.Scopes}), h.PublishedFlow(webtest.Greeting)}
		c.must(200, "PUT", "/cases/one", `{"inputs":{"who":"Ann"},"checks":[{"output":"text","equals":"Hello Ann, 3 times"}]}`)
		c.must(200, "PUT", "/cases/two", `{"inputs":{"who":"Bob"},"checks":[{"output":"text","contains":"Bob"}],"repeat":3,"pass":2}`)
		r := c.test(`{"candidates":[{"version":"draft","set":{"words.template":"Bye {{who}}, {{count}} times"}}],"baseline":{"version":"live"}}`)
		if want := "1 case got worse than version 1 (one). 1 of 2 pass."; !strings.HasPrefix(r.Summary, want) || r.State != "failed" || r.Runs != 8 {
			t.Fatalf("%+v, wanted %s", r, want)
		}
		if len(r.Verdicts) != 2 || r.Verdicts[0].Checks[1].Reason != `wanted "Hello Ann, 3 times", got "Bye Ann, 3 times"` {
			t.Errorf("verdicts: %+v", r.Verdicts)
		}
		for format, want := range map[string][]string{
			"json": {`"summary":"1 case got worse`}, "csv": {"one,,,\"the draft with words.template = Bye {{who}}, {{count}} times\",false,failed,0,1,0.5,0,"},
			"junit":    {`<failure message="text equals: wanted`, `tests="2" failures="1" errors="0"`},
			"markdown": {":** 1 case got worse than version 1 (one). 1 of 2 pass.", "<pre>text: <del>Hello</del><ins>Bye</ins> Ann, 3 times</pre>"},
		} {
			raw := c.must(200, "GET", "/tests/"+r.ID+"?format="+format, "")
			for _, text := range want {
				if !strings.Contains(raw, text) {
					t.Errorf("the report as %s lacks %s:\n%s", format, text, raw)
				}
			}
		}
		c.must(422, "GET", "/tests/"+r.ID+"?format=pdf", "")
		if _, _, raw := c.send("GET", "/v1/flow/"+c.flow+"/tests", ""); !strings.Contains(raw, r.ID) {
			t.Errorf("the list of tests lacks %s: %s", r.ID, raw)
		}
	})
}

func TestTests_are_erased_with_their_runs(t *testing.T) {
	onBothStores(t, func(t *testing.T, h *webtest.Env) {
		world := newOutsideWorld(t)
		c := &testClient{newCaller(h, nil, flow.Key{Scopes: flow.Scopes}), h.PublishedFlow(fmt.Sprintf(testedFlow, world.URL))}
		c.must(200, "PUT", "/cases/one", `{"inputs":{"word":"a"},"answers":{"ask":{"decision":"rejected"}},"checks":[{"output":"answer","equals":1}]}`)
		r := c.test(`{"mode":"fill"}`)
		if r.State != "failed" || len(r.Verdicts[0].Checks) != 2 {
			t.Fatalf("%+v", r)
		}
		if err := h.Store.EraseRun(t.Context(), flow.DefaultWorkspace, flow.FlowID(c.flow), r.Cases[0].Results[0].RunID, flow.CodeResultNotSaved); err != nil {
			t.Fatal(err)
		}
		if last, err := h.Store.FindLastRecording(t.Context(), flow.DefaultWorkspace, flow.FlowID(c.flow), "get"); err != nil || last != nil {
			t.Errorf("a recording is left: %+v %v", last, err)
		}
		if raw := c.must(200, "GET", "/tests/"+r.ID+"?case=one", ""); strings.Contains(raw, "get?word") || !strings.Contains(raw, `"failed":1`) {
			t.Errorf("the report: %s", raw)
		}
	})
}

func TestCases_are_checked(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	world := newOutsideWorld(t)
	c := &testClient{newCaller(h, nil, flow.Key{Scopes: flow.Scopes}), h.PublishedFlow(fmt.Sprintf(testedFlow, world.URL))}
	for _, r := range []struct {
		method, path, body string
		status             int
		text               string
	}{
		{"PUT", "/cases/Bad", `{}`, 422, "/id"},
		{"PUT", "/cases/a", `{"checks":[{"output":"x"}]}`, 422, "needs one of"},
		{"PUT", "/cases/a", `{"checks":[{"expression":"nothing("}]}`, 422, "/checks/0/expression"},
		{"GET", "/cases/a", "", 404, "not_found"},
		{"DELETE", "/cases/a", "", 404, "not_found"},
		{"POST", "/tests", `{}`, 422, "the flow has no cases"},
		{"PUT", "/cases/a", `{"inputs":{"word":"x"},"tags":["must"]}`, 200, `"created":true`},
		{"PUT", "/cases/a", `{"inputs":{"word":"x"},"tags":["must"]}`, 200, `"created":false`},
		{"GET", "/cases", "", 200, `"id":"a"`},
		{"POST", "/tests", `{"tags":["other"]}`, 422, "no case has one of these tags"},
		{"POST", "/tests", `{"cases":["b"]}`, 422, "the flow has no case"},
		{"POST", "/tests", `{"mode":"fast"}`, 422, "/mode"},
		{"POST", "/tests", `{"candidates":[{"version":9}]}`, 422, "no version 9"},
		{"POST", "/tests", `{"candidates":[{"set":{"gone.url":"x"}}]}`, 422, "there is no node"},
		{"POST", "/tests", `{"candidates":[{"set":{"get.method":"EAT"}}]}`, 422, "document_invalid"},
		{"GET", "/tests/test_01m7z26njgm1r68xj6qyhfyvty", "", 404, "not_found"},
		{"DELETE", "/cases/a", "", 204, ""},
	} {
		status, _, raw := c.send(r.method, "/v1/flow/"+c.flow+r.path, r.body)
		if status != r.status || !strings.Contains(raw, r.text) {
			t.Errorf("%s %s %s: %d %s, wanted %d with %q", r.method, r.path, r.body, status, raw, r.status, r.text)
		}
	}
	c.must(200, "PUT", "/cases/a", `{"inputs":{"word":"x"}}`)
	runner := newCaller(h, nil, flow.Key{Scopes: []flow.Scope{flow.ScopeRun}})
	for body, want := range map[string]int{`{"mode":"replay"}`: 202, `{"mode":"live"}`: 403, `{"candidates":[{"version":"draft"}]}`: 403, `{"candidates":[{"set":{"get.url":"https://example.com"}}]}`: 403, `{"allow":["post"]}`: 403} {
		if status, _, raw := runner.send("POST", "/v1/flow/"+c.flow+"/tests", body); status != want {
			t.Errorf("a key with the scope run, %s: %d %s, wanted %d", body, status, raw, want)
		}
	}
}

func TestGate_refuses_to_publish_what_does_not_pass(t *testing.T) {
	onBothStores(t, func(t *testing.T, h *webtest.Env) {
		c := &testClient{newCaller(h, nil, flow.Key{Scopes: flow.Scopes}), h.PublishedFlow(webtest.Greeting)}
		c.must(200, "PUT", "/cases/one", `{"inputs":{"who":"Ann"},"checks":[{"output":"text","equals":"Hello Ann, 3 times"}]}`)
		_, tag := c.file("")
		c.file(`{"schema":"sluice.tests/v1","gate":{"pass_rate":1,"no_worse":true},"cases":[]}`, tag)
		publish := func(template string) (status int, code, raw string) {
			t.Helper()
			f, err := h.Store.FindFlow(t.Context(), flow.DefaultWorkspace, flow.FlowID(c.flow))
			if err != nil {
				t.Fatal(err)
			}
			if err := h.Store.UpdateDraft(t.Context(), flow.DefaultWorkspace, f.ID, f.Name, "", []byte(strings.Replace(webtest.Greeting, "Hello {{who}}, {{count}} times", template, 1))); err != nil {
				t.Fatal(err)
			}
			return c.send("POST", "/v1/flow/"+c.flow+"/publish", `{}`)
		}
		await := func(raw string) {
			t.Helper()
			_, id, _ := strings.Cut(raw, "/tests/test_")
			id = "test_" + id[:26]
			for deadline := time.Now().Add(5 * time.Minute); !strings.Contains(c.must(200, "GET", "/tests/"+id, ""), `"status":"succeeded"`); time.Sleep(20 * time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatal("the test does not end")
				}
			}
		}
		status, code, raw := publish("Bye {{who}}, {{count}} times")
		if status != 409 || code != "tests_required" {
			t.Fatalf("%d %s", status, raw)
		}
		await(raw)
		if status, code, raw = publish("Bye {{who}}, {{count}} times"); code != "tests_failed" || !strings.Contains(raw, "/cases/one") {
			t.Fatalf("%d %s", status, raw)
		}
		// An apply and a person meet the same gate.
		f, _ := h.Store.FindFlow(t.Context(), flow.DefaultWorkspace, flow.FlowID(c.flow))
		document := strings.Replace(strings.Replace(webtest.Greeting, "Hello {{who}}, {{count}} times", "Bye {{who}}, {{count}} times", 1), `"name":"Greet"`, `"slug":"`+f.Slug+`","name":"Greet"`, 1)
		if _, code, raw := c.send("POST", "/v1/apply", `{"publish":true,"force":true,"documents":[`+document+`]}`); code != "tests_failed" && code != "tests_required" {
			t.Errorf("apply: %s", raw)
		}
		if _, _, err := h.Library.PublishDraft(t.Context(), f, flow.Actor{ID: "user_x"}, ""); flow.AsError(err).Code != flow.CodeTestsFailed {
			t.Errorf("a person: %v", err)
		}
		// A changed case needs another report.
		c.must(200, "PUT", "/cases/one", `{"inputs":{"who":"Ann"},"checks":[{"output":"text","contains":"Ann"}]}`)
		if _, code, raw = publish("Bye {{who}}, {{count}} times"); code != "tests_required" {
			t.Fatal(raw)
		}
		await(raw)
		if status, _, raw = publish("Bye {{who}}, {{count}} times"); status != 200 {
			t.Fatalf("%d %s", status, raw)
		}
		// Going back needs no test.
		c.must(200, "PUT", "/cases/one", `{"inputs":{"who":"Ann"},"checks":[{"output":"text","contains":"never"}]}`)
		if status, _, raw = c.send("POST", "/v1/flow/"+c.flow+"/publish", `{"version":1}`); status != 200 {
			t.Fatalf("going back: %d %s", status, raw)
		}
		// An owner publishes in spite of it, and the version says why.
		if _, code, raw = publish("So long {{who}}, {{count}} times"); code != "tests_required" {
			t.Fatal(raw)
		}
		f, _ = h.Store.FindFlow(t.Context(), flow.DefaultWorkspace, flow.FlowID(c.flow))
		if v, _, err := library.PublishAnyway(t.Context(), h.Library, f, flow.Actor{ID: "user_x"}, "", "the test is wrong"); err != nil || !strings.Contains(v.Summary, "without passing tests: the test is wrong") {
			t.Errorf("%+v %v", v, err)
		}
	})
}

// file returns the tests file of the flow with its ETag or, with content, replaces it.
func (c *testClient) file(content string, tag ...string) (text, etag string) {
	c.h.T.Helper()
	method := http.MethodGet
	if content != "" {
		method = http.MethodPut
	}
	r, err := http.NewRequestWithContext(c.h.T.Context(), method, c.h.Http.URL+"/v1/flow/"+c.flow+"/companions/tests", strings.NewReader(content))
	if err != nil {
		c.h.T.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+c.text)
	if content != "" {
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("If-Match", tag[0])
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		c.h.T.Fatal(err)
	}
	defer a.Body.Close()
	data, err := io.ReadAll(a.Body)
	if err != nil || a.StatusCode != http.StatusOK {
		c.h.T.Fatalf("%d %s %v", a.StatusCode, data, err)
	}
	return string(data), a.Header.Get("ETag")
}
