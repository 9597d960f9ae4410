package handlers_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/flow"
	"sluice/handlers/webtest"
)

// pastChild is run for each item of the list of pastFlow.
const pastChild = `{"schema":"sluice.flow/v1","name":"Item","nodes":[
	{"id":"n","kind":"input","config":{"name":"n","type":"number"}},
	{"id":"call","kind":"http_request","config":{"method":"GET","url":"%[1]s/item?n={{n}}"}},
	{"id":"out","kind":"output","config":{"name":"tag"}}],
	"edges":[{"from":"n.value","to":"call.n"},{"from":"call.body","to":"out.value"}]}`

// pastFlow reads a file, sends a secret, runs another flow for each item, asks a person, and posts.
const pastFlow = `{"schema":"sluice.flow/v1","name":"Past","nodes":[
	{"id":"in","kind":"input","config":{"name":"word","type":"text"}},
	{"id":"file","kind":"input","config":{"name":"file","type":"file"}},
	{"id":"token","kind":"input","config":{"name":"token","type":"text","secret":true}},
	{"id":"list","kind":"input","config":{"name":"list","type":"list"}},
	{"id":"read","kind":"document","config":{}},
	{"id":"get","kind":"http_request","config":{"method":"GET","url":"%[1]s/get?word={{word}}","headers":{"X-Token":"{{token}}"}}},
	{"id":"each","kind":"map","config":{"flow":"%[2]s","over":["n"]}},
	{"id":"code","kind":"code","config":{"inputs":["text"],"code":"export default () => ({at: Date.now(), random: Math.random()})"}},
	{"id":"ask","kind":"approval","config":{"title":"Go?","audience":"anyone with the link","values":["draft"],"editable":["draft"],"self_approve":true}},
	{"id":"post","kind":"http_request","config":{"method":"POST","url":"%[1]s/post","body":"{{draft}} {{seen}} {{code}}"}},
	{"id":"text","kind":"output","config":{"name":"text"}},
	{"id":"answer","kind":"output","config":{"name":"answer"}},
	{"id":"tags","kind":"output","config":{"name":"tags"}},
	{"id":"posted","kind":"output","config":{"name":"posted"}},
	{"id":"hook","kind":"webhook","config":{"url":"%[1]s/hook","outputs":["answer"]}}],
	"edges":[{"from":"in.value","to":"get.word"},{"from":"token.value","to":"get.token"},{"from":"file.value","to":"read.file"},{"from":"read.text","to":"text.value"},
	{"from":"get.body","to":"answer.value"},{"from":"list.value","to":"each.input.n"},{"from":"each.tag","to":"tags.value"},{"from":"read.text","to":"code.text"},{"from":"read.text","to":"ask.draft"},
	{"from":"ask.draft","to":"post.draft"},{"from":"get.body","to":"post.seen"},{"from":"code.result","to":"post.code"},{"from":"post.body","to":"posted.value"}]}`

// fromRuns makes cases from runs.
func (c *testClient) fromRuns(body string) (list []struct {
	RunID   flow.RunID `json:"run_id"`
	ID      *string
	Created bool
	Skipped string
	Case    map[string]any
	text    string
}) {
	c.h.T.Helper()
	var o struct{ Cases json.RawMessage }
	if err := json.Unmarshal([]byte(c.must(200, "POST", "/cases/from-runs", body)), &o); err != nil {
		c.h.T.Fatal(err)
	}
	if err := json.Unmarshal(o.Cases, &list); err != nil {
		c.h.T.Fatal(err)
	}
	return list
}

// run starts a run and waits until it ends or waits for a person.
func (c *testClient) run(body string) flow.RunID {
	c.h.T.Helper()
	var r struct {
		RunID flow.RunID `json:"run_id"`
	}
	status, _, raw := c.send("POST", "/v1/flow/"+c.flow+"/run", body)
	if err := json.Unmarshal([]byte(raw), &r); err != nil || status != 202 {
		c.h.T.Fatalf("%d %s", status, raw)
	}
	return r.RunID
}

// await waits for the end of a run.
func (c *testClient) await(id flow.RunID) *flow.Run {
	c.h.T.Helper()
	run, err := c.h.Runner.AwaitRun(c.h.T.Context(), flow.DefaultWorkspace, flow.FlowID(c.flow), id, 5*time.Minute)
	if err != nil || !run.State.Ended() {
		c.h.T.Fatalf("%+v %v", run, err)
	}
	return run
}

func TestCases_from_a_run_replay_to_passed(t *testing.T) {
	onBothStores(t, func(t *testing.T, h *webtest.Env) {
		world := newOutsideWorld(t)
		child := h.PublishedFlow(fmt.Sprintf(pastChild, world.URL))
		c := &testClient{newCaller(h, nil, flow.Key{Scopes: flow.Scopes}), h.PublishedFlow(fmt.Sprintf(pastFlow, world.URL, child))}
		file, err := h.Store.SaveFile(t.Context(), flow.NewFile{WorkspaceID: flow.DefaultWorkspace, Name: "letter.txt", MIME: "text/plain"}, strings.NewReader("Dear reader"))
		if err != nil {
			t.Fatal(err)
		}
		numbers := make([]int, 50)
		for i := range numbers {
			numbers[i] = i
		}
		items, _ := json.Marshal(numbers)
		id := c.run(fmt.Sprintf(`{"word":"a","token":"the-secret-of-the-caller","file":{"file":%q},"list":%s}`, file.ID, items))
		for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
			open, err := h.Store.ListApprovals(t.Context(), flow.DefaultWorkspace, id)
			if err != nil || time.Now().After(deadline) {
				t.Fatal("no question is asked", err)
			}
			if len(open) == 1 {
				break
			}
		}
		c.must(409, "POST", "/cases/from-runs", `{"runs":["`+string(id)+`"]}`)
		if status, _, raw := c.send("POST", "/v1/flow/"+c.flow+"/run/"+string(id)+"/approvals/ask", `{"decision":"approved","values":{"draft":"Edited"},"comment":"fine"}`); status != 200 {
			t.Fatalf("%d %s", status, raw)
		}
		if run := c.await(id); run.State != flow.RunSucceeded {
			t.Fatalf("%+v", run.Error)
		}
		asked, posted := world.gets.Load(), world.posts.Load()

		preview := c.fromRuns(`{"runs":["` + string(id) + `"],"preview":true}`)
		if len(preview) != 1 || preview[0].ID == nil || preview[0].Created {
			t.Fatalf("%+v", preview)
		}
		if raw := c.must(200, "GET", "/cases", ""); strings.Contains(raw, *preview[0].ID) {
			t.Fatal("a preview stored the case")
		}
		made := c.fromRuns(`{"runs":["` + string(id) + `"],"secrets":{"token":"crm"}}`)
		if len(made) != 1 || !made[0].Created {
			t.Fatalf("%+v", made)
		}
		text, _ := json.Marshal(made[0].Case)
		for _, secret := range []string{"the-secret-of-the-caller", "s3cr3t-0123456789abcdef"} {
			if strings.Contains(string(text), secret) {
				t.Errorf("the case has the secret %s: %s", secret, text)
			}
		}
		if !strings.Contains(string(text), `"token":{"credential":"crm"}`) || !strings.Contains(string(text), `"draft":"Edited"`) || len(made[0].Case["checks"].([]any)) != 4 {
			t.Errorf("the case: %s", text)
		}
		r := c.test(`{"mode":"replay"}`)
		if r.State != "passed" || r.Candidates[0].Passed != 1 {
			t.Fatalf("%+v", r)
		}
		if world.gets.Load() != asked || world.posts.Load() > posted+1 { // the webhook of the run may arrive late
			t.Errorf("the replay sent requests")
		}
		// The same inputs again are no other case.
		if again := c.fromRuns(`{"runs":["` + string(id) + `"]}`); again[0].ID != nil || !strings.Contains(again[0].Skipped, "same inputs") {
			t.Errorf("%+v", again)
		}
		// Erasing the run lists the case, and erases it on request.
		_, _, raw := c.send("DELETE", "/v1/flow/"+c.flow+"/run/"+string(id), "")
		if !strings.Contains(raw, *made[0].ID) || !strings.Contains(raw, `"erased":false`) {
			t.Errorf("erasing: %s", raw)
		}
		if _, _, raw = c.send("DELETE", "/v1/flow/"+c.flow+"/run/"+string(id)+"?cases=erase", ""); !strings.Contains(raw, `"erased":true`) {
			t.Errorf("erasing the cases: %s", raw)
		}
		c.must(404, "GET", "/cases/"+*made[0].ID, "")
		if last, err := h.Store.FindLastRecording(t.Context(), flow.DefaultWorkspace, flow.FlowID(c.flow), "get"); err != nil || last != nil {
			t.Errorf("a recording is left: %+v %v", last, err)
		}
	})
}

func TestCases_from_runs_that_failed_count_once_a_person_says_what_is_right(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	c := &testClient{newCaller(h, nil, flow.Key{Scopes: flow.Scopes}), h.PublishedFlow(`{"schema":"sluice.flow/v1","name":"Strict","nodes":[
		{"id":"in","kind":"input","config":{"name":"word","type":"text"}},
		{"id":"code","kind":"code","config":{"inputs":["word"],"code":"export default ({word}) => { if (word === 'bad') throw new Error('no'); return word + '!' }"}},
		{"id":"out","kind":"output","config":{"name":"text"}}],
		"edges":[{"from":"in.value","to":"code.word"},{"from":"code.result","to":"out.value"}]}`)}
	failed := c.run(`{"word":"bad"}`)
	if run := c.await(failed); run.State != flow.RunFailed {
		t.Fatalf("%+v", run)
	}
	var good []string
	for _, word := range []string{"one", "two", "two", "three"} {
		id := c.run(`{"word":"` + word + `"}`)
		c.await(id)
		good = append(good, string(id))
	}
	unsaved := c.run(`{"word":"four","run_options":{"save":false}}`)
	c.await(unsaved)
	erased := c.run(`{"word":"five"}`)
	c.await(erased)
	if status, _, raw := c.send("DELETE", "/v1/flow/"+c.flow+"/run/"+string(erased), ""); status != 204 {
		t.Fatalf("%d %s", status, raw)
	}
	for id, code := range map[flow.RunID]string{unsaved: "result_not_saved", erased: "result_not_saved"} {
		if _, got, raw := c.send("POST", "/v1/flow/"+c.flow+"/cases/from-runs", `{"runs":["`+string(id)+`"]}`); got != code {
			t.Errorf("%s: %s", id, raw)
		}
	}
	// As many of each state: the failed run is among the first two.
	made := c.fromRuns(`{"sample":2,"spread":"status","tags":["must"]}`)
	var ids []string
	for _, m := range made {
		if m.ID != nil {
			ids = append(ids, string(m.RunID))
		}
	}
	if len(ids) != 2 || !slices.Contains(ids, string(failed)) {
		t.Fatalf("%+v", made)
	}
	name := strings.ReplaceAll(string(failed), "_", "-")
	if raw := c.must(200, "GET", "/cases/"+name, ""); strings.Contains(raw, `"expected":{`) {
		t.Fatalf("the failed run has expected outputs: %s", raw)
	}
	if r := c.test(`{"mode":"replay"}`); r.Runs != 1 || r.State != "passed" {
		t.Fatalf("a case without expected outputs counts: %+v", r)
	}
	if r := c.test(`{"mode":"replay","cases":["` + name + `"]}`); r.State == "passed" {
		t.Fatalf("it passes: %+v", r)
	}
	c.must(200, "PUT", "/cases/"+name, `{"inputs":{"word":"bad"},"expected":{"text":"bad!"},"checks":[{"expected":true}],"from_run":"`+string(failed)+`"}`)
	if r := c.test(`{"mode":"replay"}`); r.Runs != 2 || r.State != "failed" {
		t.Fatalf("%+v", r)
	}
	// All of them: duplicates are left out.
	n := 0
	for _, m := range c.fromRuns(`{"filter":{"status":["succeeded"]}}`) {
		if m.ID != nil {
			n++
		}
	}
	if n != 2 {
		t.Errorf("%d more cases of %v", n, good)
	}
	reader := newCaller(h, nil, flow.Key{Scopes: []flow.Scope{flow.ScopeEdit}})
	if status, _, raw := reader.send("POST", "/v1/flow/"+c.flow+"/cases/from-runs", `{}`); status != 403 {
		t.Errorf("a key that may not read runs: %d %s", status, raw)
	}
}

func TestTests_run_on_recent_runs(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	world := newOutsideWorld(t)
	c := &testClient{newCaller(h, nil, flow.Key{Scopes: flow.Scopes}), h.PublishedFlow(fmt.Sprintf(`{"schema":"sluice.flow/v1","name":"Recent","nodes":[
		{"id":"in","kind":"input","config":{"name":"word","type":"text"}},
		{"id":"get","kind":"http_request","config":{"method":"GET","url":"%[1]s/get?word={{word}}"}},
		{"id":"words","kind":"template","config":{"template":"Found {{n}}"}},
		{"id":"out","kind":"output","config":{"name":"text"}}],
		"edges":[{"from":"in.value","to":"get.word"},{"from":"get.body","to":"words.n"},{"from":"words.text","to":"out.value"}]}`, world.URL))}
	c.must(422, "POST", "/tests", `{"cases":{"runs":{}}}`)
	for _, word := range []string{"a", "b", "b", "c"} {
		c.await(c.run(`{"word":"` + word + `"}`))
	}
	asked := world.gets.Load()
	r := c.test(`{"candidates":[{"version":"live"},{"version":"live","set":{"words.template":"Seen {{n}}"}}],"mode":"replay","cases":{"runs":{"limit":10}}}`)
	if r.Candidates[0].Passed != 3 || r.Candidates[1].Failed != 3 || world.gets.Load() != asked {
		t.Fatalf("%+v, %d requests", r, world.gets.Load()-asked)
	}
	if raw := c.must(200, "GET", "/cases", ""); !strings.Contains(raw, `"cases":[]`) {
		t.Errorf("cases are stored: %s", raw)
	}
	if two := c.test(`{"mode":"replay","cases":{"runs":{"limit":2,"filter":{"status":["succeeded"]}}}}`); two.Runs != 2 {
		t.Errorf("%+v", two)
	}
	c.must(422, "POST", "/tests", `{"cases":{"rums":{}}}`)
	if status, _, raw := newCaller(h, nil, flow.Key{Scopes: []flow.Scope{flow.ScopeRun}}).send("POST", "/v1/flow/"+c.flow+"/tests", `{"cases":{"runs":{}}}`); status != 403 {
		t.Errorf("a key that may not read runs: %d %s", status, raw)
	}
}

// Acceptance of what a test may do: a webhook, a POST and an approval. Only nodes in allow send, once, and a person is asked first.
func TestTests_send_what_they_allow_once(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	world := newOutsideWorld(t)
	c := &testClient{newCaller(h, nil, flow.Key{Scopes: flow.Scopes}), h.PublishedFlow(fmt.Sprintf(testedFlow, world.URL))}
	c.must(200, "PUT", "/cases/one", `{"inputs":{"word":"a"},"answers":{"ask":{"decision":"approved"}},"stubs":{"post":{"outputs":{"body":"stubbed"}}}}`)
	for _, mode := range []string{"replay", "fill", "live"} {
		c.test(`{"mode":"` + mode + `"}`)
	}
	if n := world.posts.Load(); n != 0 {
		t.Fatalf("%d writes left", n)
	}
	posted := func(n int64, what string) {
		t.Helper()
		for deadline := time.Now().Add(5 * time.Minute); world.posts.Load() < n; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s was not sent", what)
			}
		}
		if got := world.posts.Load(); got != n {
			t.Errorf("after %s: %d writes, wanted %d", what, got, n)
		}
	}
	if r := c.test(`{"mode":"live","allow":["hook"]}`); r.State != "passed" {
		t.Fatalf("%+v", r)
	}
	posted(1, "the webhook")

	c.must(200, "PUT", "/cases/one", `{"inputs":{"word":"a"},"answers":{"ask":{"decision":"approved"}}}`)
	var r testReport
	if err := json.Unmarshal([]byte(c.must(202, "POST", "/tests", `{"mode":"live","allow":["post"]}`)), &r); err != nil {
		t.Fatal(err)
	}
	asking := func() flow.RunID {
		list, err := h.Store.ListChildren(t.Context(), flow.DefaultWorkspace, r.RunID)
		if err != nil || len(list) == 0 {
			return ""
		}
		runs, err := h.Store.ReadChildren(t.Context(), flow.DefaultWorkspace, list[0].Caller, 0, 1)
		if err != nil || len(runs) == 0 {
			return ""
		}
		if open, err := h.Store.ListApprovals(t.Context(), flow.DefaultWorkspace, runs[0].RunID); err != nil || len(open) != 1 {
			return ""
		}
		return runs[0].RunID
	}
	id := asking()
	for deadline := time.Now().Add(5 * time.Minute); id == "" && time.Now().Before(deadline); id = asking() {
		time.Sleep(20 * time.Millisecond)
	}
	if id == "" || world.posts.Load() != 1 {
		t.Fatalf("no question is asked, or something was sent before: %d writes", world.posts.Load())
	}
	person := newCaller(h, nil, flow.Key{Scopes: []flow.Scope{flow.ScopeApprove}})
	if status, _, raw := person.send("POST", "/v1/flow/"+c.flow+"/run/"+string(id)+"/approvals/ask", `{"decision":"approved"}`); status != 200 {
		t.Fatalf("%d %s", status, raw)
	}
	posted(2, "the POST")
	c.await(r.RunID)
	posted(2, "the test")
}

func TestCases_open_the_credential_that_a_secret_input_names(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	got := make(chan string, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got <- r.Header.Get("X-Token")
		fmt.Fprint(w, "You sent "+r.Header.Get("X-Token"))
	}))
	t.Cleanup(server.Close)
	host := strings.TrimPrefix(server.URL, "http://")
	if err := h.Store.SaveCredential(t.Context(), flow.Credential{WorkspaceID: flow.DefaultWorkspace, Name: "crm", Hosts: []string{host}}, "the-secret-of-the-credential"); err != nil {
		t.Fatal(err)
	}
	c := &testClient{newCaller(h, nil, flow.Key{Scopes: flow.Scopes}), h.PublishedFlow(fmt.Sprintf(`{"schema":"sluice.flow/v1","name":"Secret","nodes":[
		{"id":"token","kind":"input","config":{"name":"token","type":"text","secret":true}},
		{"id":"get","kind":"http_request","config":{"method":"GET","url":"%s/","headers":{"X-Token":"{{token}}"}}},
		{"id":"out","kind":"output","config":{"name":"text"}}],
		"edges":[{"from":"token.value","to":"get.token"},{"from":"get.body","to":"out.value"}]}`, server.URL))}
	c.must(422, "PUT", "/cases/one", `{"inputs":{"token":"a-literal-secret"}}`)
	c.must(200, "PUT", "/cases/one", `{"inputs":{"token":{"credential":"crm"}},"checks":[{"output":"text","equals":"You sent [secret]"}]}`)
	if r := c.test(`{"mode":"fill"}`); r.State != "passed" {
		t.Fatalf("%+v", r)
	}
	if text := <-got; text != "the-secret-of-the-credential" {
		t.Errorf("it sent %q", text)
	}
	if r := c.test(`{"mode":"replay"}`); r.State != "passed" || len(got) != 0 {
		t.Fatalf("%+v", r)
	}
}
