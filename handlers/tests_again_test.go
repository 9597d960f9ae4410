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

	"sluice/flow"
	"sluice/handlers/webtest"
)

// TestRecordings_move_to_another_flow records results of one flow, and replays them in a copy of it.
func TestRecordings_move_to_another_flow(t *testing.T) {
	onBothStores(t, func(t *testing.T, h *webtest.Env) {
		world := newOutsideWorld(t)
		first := &testClient{newCaller(h, nil, flow.Key{Scopes: flow.Scopes}), h.PublishedFlow(fmt.Sprintf(testedFlow, world.URL))}
		second := &testClient{first.caller, h.PublishedFlow(fmt.Sprintf(testedFlow, world.URL))}
		for _, c := range []*testClient{first, second} {
			c.must(200, "PUT", "/cases/one", `{"inputs":{"word":"a"},"answers":{"ask":{"decision":"rejected"}}}`)
			c.must(200, "PUT", "/cases/two", `{"inputs":{"word":"b"},"answers":{"ask":{"decision":"rejected"}}}`)
		}
		if r := first.test(`{"mode":"fill"}`); r.State != "passed" {
			t.Fatalf("%+v", r)
		}
		var all []json.RawMessage
		for path := "/recordings?limit=1"; path != ""; {
			var page struct {
				Recordings []json.RawMessage
				NextCursor *string `json:"next_cursor"`
			}
			if err := json.Unmarshal([]byte(first.must(200, "GET", path, "")), &page); err != nil || len(page.Recordings) != 1 {
				t.Fatalf("%v %+v", err, page)
			}
			all, path = append(all, page.Recordings...), ""
			if page.NextCursor != nil {
				path = "/recordings?limit=1&cursor=" + *page.NextCursor
			}
		}
		if len(all) != 2 || !strings.Contains(string(all[0]), `"node":"get"`) || strings.Contains(string(all[0]), "s3cr3t") {
			t.Fatalf("%s", all)
		}
		body, _ := json.Marshal(map[string]any{"recordings": all})
		if got := second.must(200, "POST", "/recordings", string(body)); !strings.Contains(got, `"added":2`) {
			t.Fatal(got)
		}
		if got := second.must(200, "POST", "/recordings", string(body)); !strings.Contains(got, `"added":0`) {
			t.Errorf("added again: %s", got)
		}
		if r := second.test(`{"mode":"replay"}`); r.State != "passed" || !r.Candidates[0].Recorded {
			t.Errorf("replayed: %+v", r)
		}
		if n := world.gets.Load(); n != 2 {
			t.Errorf("%d requests, wanted 2", n)
		}
		for body, want := range map[string]string{
			`{"recordings":[{"schema":"sluice.recording/v2"}]}`: "/recordings/0/schema", `{"recordings":[1]}`: "must be an object", `{}`: "is missing",
			`{"recordings":[{"schema":"sluice.recording/v1","node":"x","node_hash":"zz","input_hash":"00000000000000000000","outputs":{},"more":1}]}`: "/recordings/0/node_hash",
		} {
			if got := second.must(422, "POST", "/recordings", body); !strings.Contains(got, want) {
				t.Errorf("%s: %s", body, got)
			}
		}
		second.must(422, "GET", "/recordings?cursor=x", "")
		reader := &testClient{newCaller(h, nil, flow.Key{Scopes: []flow.Scope{flow.ScopeRead}}), second.flow}
		reader.must(403, "GET", "/recordings", "")
	})
}

// TestTests_run_again_what_failed repeats a test after an outage: runs that succeeded are reused, and the first report stays.
func TestTests_run_again_what_failed(t *testing.T) {
	onBothStores(t, func(t *testing.T, h *webtest.Env) {
		var down atomic.Bool
		var asked atomic.Int64
		down.Store(true)
		service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if asked.Add(1); down.Load() && strings.Contains(r.URL.RawQuery, "b") {
				w.WriteHeader(http.StatusNotFound)
				return
			}
			_, _ = io.WriteString(w, "fine")
		}))
		t.Cleanup(service.Close)
		c := &testClient{newCaller(h, nil, flow.Key{Scopes: flow.Scopes}), h.PublishedFlow(fmt.Sprintf(`{"schema":"sluice.flow/v1","name":"Ask","nodes":[{"id":"in","kind":"input","config":{"name":"word","type":"text"}},
			{"id":"get","kind":"http_request","config":{"method":"GET","url":"%s/?word={{word}}"}},{"id":"out","kind":"output","config":{"name":"answer"}}],
			"edges":[{"from":"in.value","to":"get.word"},{"from":"get.body","to":"out.value"}]}`, service.URL))}
		c.must(200, "PUT", "/cases/one", `{"inputs":{"word":"a"},"checks":[{"output":"answer","equals":"fine"}]}`)
		c.must(200, "PUT", "/cases/two", `{"inputs":{"word":"b"}}`)
		first := c.test(`{"mode":"fill"}`)
		if first.State == "passed" || first.Candidates[0].Passed != 1 {
			t.Fatalf("%+v", first)
		}
		down.Store(false)
		before := asked.Load()
		var again testReport
		if err := json.Unmarshal([]byte(c.must(202, "POST", "/tests/"+first.ID+"/retry", "")), &again); err != nil || again.ID == first.ID {
			t.Fatalf("%v %+v", err, again)
		}
		again = c.ended(again)
		if again.State != "passed" || again.Cases[0].Results[0].RunID != first.Cases[0].Results[0].RunID || again.Cases[1].Results[0].RunID == first.Cases[1].Results[0].RunID {
			t.Errorf("again: %+v, first: %+v", again, first)
		}
		if n := asked.Load() - before; n != 1 {
			t.Errorf("%d requests, wanted 1", n)
		}
		if old := c.ended(first); old.State != first.State {
			t.Errorf("the first report has changed: %+v", old)
		}
	})
}

func TestTests_use_a_result_as_expected(t *testing.T) {
	onBothStores(t, func(t *testing.T, h *webtest.Env) {
		c := &testClient{newCaller(h, nil, flow.Key{Scopes: flow.Scopes}), h.PublishedFlow(webtest.Greeting)}
		c.must(200, "PUT", "/cases/one", `{"inputs":{"who":"Ann"},"checks":[{"output":"text","equals":"something else"}]}`)
		c.must(200, "PUT", "/cases/two", `{"inputs":{"who":"Bob"}}`)
		r := c.test(`{}`)
		if got := c.must(200, "POST", "/tests/"+r.ID+"/expect", `{"case":"one"}`); !strings.Contains(got, `"checks":[{"output":"text","equals":"Hello Ann, 3 times"}]`) {
			t.Error(got)
		}
		if got := c.must(200, "POST", "/tests/"+r.ID+"/expect", `{"case":"two","candidate":0}`); !strings.Contains(got, `"expected":{"text":"Hello Bob, 3 times"},"checks":[{"expected":true}]`) {
			t.Error(got)
		}
		c.must(422, "POST", "/tests/"+r.ID+"/expect", `{"case":"none"}`)
		c.must(422, "POST", "/tests/"+r.ID+"/expect", `{"case":"one","candidate":1}`)
		if again := c.test(`{}`); again.State != "passed" {
			t.Errorf("%+v", again)
		}
		log, err := h.Store.ListAudit(t.Context(), flow.DefaultWorkspace, "", 2)
		if err != nil || len(log) != 2 || log[0].Action != "case.change" || log[1].Action != "case.change" {
			t.Errorf("the audit log: %+v %v", log, err)
		}
	})
}

// TestTests_start_once_with_an_Idempotency_Key starts a test twice with one key, and waits for its end.
func TestTests_start_once_with_an_Idempotency_Key(t *testing.T) {
	onBothStores(t, func(t *testing.T, h *webtest.Env) {
		c := &testClient{newCaller(h, nil, flow.Key{Scopes: flow.Scopes}), h.PublishedFlow(webtest.Greeting)}
		c.must(200, "PUT", "/cases/one", `{"inputs":{"who":"Ann"}}`)
		start := func(body string) (status int, r testReport, header http.Header) {
			t.Helper()
			req, err := http.NewRequestWithContext(t.Context(), "POST", h.Http.URL+"/v1/flow/"+c.flow+"/tests", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			for name, v := range map[string]string{"Authorization": "Bearer " + c.text, "Content-Type": "application/json", "Idempotency-Key": "one", "Prefer": "wait=60"} {
				req.Header.Set(name, v)
			}
			a, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer a.Body.Close()
			_ = json.NewDecoder(a.Body).Decode(&r) // a problem has other members
			return a.StatusCode, r, a.Header
		}
		status, first, header := start(`{"mode":"replay"}`)
		if status != 202 || first.State != "passed" || header.Get("Preference-Applied") != "wait=60" {
			t.Fatalf("%d %+v", status, first)
		}
		if status, again, _ := start(`{"mode":"replay"}`); status != 202 || again.ID != first.ID {
			t.Errorf("%d %+v", status, again)
		}
		if status, _, _ := start(`{"mode":"fill"}`); status != 422 && status != 409 {
			t.Errorf("another request with the key: %d", status)
		}
		var list struct{ Tests []testReport }
		if err := json.Unmarshal([]byte(c.must(200, "GET", "/tests", "")), &list); err != nil || len(list.Tests) != 1 {
			t.Errorf("%v %+v", err, list)
		}
	})
}
