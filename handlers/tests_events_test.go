package handlers_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"sluice/flow"
	"sluice/handlers/webtest"
)

// requestFlow takes two texts, a text from a header, a list with members of all names, and a secret.
const requestFlow = `{"schema":"sluice.flow/v1","name":"Request","nodes":[
	{"id":"word","kind":"input","config":{"name":"word","type":"text"}},{"id":"who","kind":"input","config":{"name":"who","type":"text"}},
	{"id":"order","kind":"input","config":{"name":"order","type":"json"}},{"id":"token","kind":"input","config":{"name":"token","type":"text","secret":true}},
	{"id":"out","kind":"output","config":{"name":"answer"}}],"edges":[{"from":"word.value","to":"out.value"}]}`

func TestCases_from_requests_have_neither_secrets_nor_headers(t *testing.T) {
	onBothStores(t, func(t *testing.T, h *webtest.Env) {
		c := &testClient{newCaller(h, nil, flow.Key{Scopes: flow.Scopes}), h.PublishedFlow(requestFlow)}
		var hook struct{ URL string }
		made := c.must(200, "PUT", "/hooks/orders", `{"verify":{"scheme":"none"},"once":"body.id","inputs":{"word":{"cel":"body.word"},"who":{"cel":"headers['x-person']"},"order":{"cel":"body.order"},"token":{"cel":"body.token"}}}`)
		if err := json.Unmarshal([]byte(made), &hook); err != nil {
			t.Fatal(err)
		}
		c.must(200, "POST", "/hooks/orders/capture", `{"on":true}`)
		at, err := url.Parse(hook.URL)
		if err != nil {
			t.Fatal(err)
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.Http.URL+at.Path, bytes.NewReader([]byte(`{"id":"order-1","word":"yes","token":"canary-input","order":{"item":"cup","api_key":"canary-member"}}`)))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-Person", "canary-header")
		sent, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		sent.Body.Close()
		if sent.StatusCode != 200 {
			t.Fatalf("the webhook answers with %d", sent.StatusCode)
		}
		request := `{"hook":"orders","event":"order-1"`
		preview := c.must(200, "POST", "/cases/from-event", request+`,"preview":true}`)
		if strings.Contains(c.must(200, "GET", "/cases", ""), "order-1") {
			t.Error("a preview stores the case")
		}
		saved := c.must(200, "POST", "/cases/from-event", request+`}`)
		for what, raw := range map[string]string{"the preview": preview, "the answer": saved, "the list": c.must(200, "GET", "/cases", "")} {
			if strings.Contains(raw, "canary") {
				t.Errorf("%s has a secret: %s", what, raw)
			}
			if !strings.Contains(raw, `"word":"yes"`) || !strings.Contains(raw, `"item":"cup"`) || !strings.Contains(raw, `"credential":"token"`) {
				t.Errorf("%s lacks inputs: %s", what, raw)
			}
		}
		if !strings.Contains(saved, `"left_out":["who"]`) {
			t.Errorf("the answer does not say what it left out: %s", saved)
		}
		if again := c.must(200, "POST", "/cases/from-event", request+`}`); !strings.Contains(again, `"id":null`) {
			t.Errorf("the same event makes a second case: %s", again)
		}
		c.must(404, "POST", "/cases/from-event", `{"hook":"orders","event":"order-2"}`)
		reader := newCaller(h, nil, flow.Key{Scopes: []flow.Scope{flow.ScopeRead}})
		if status, code, _ := reader.send("POST", "/v1/flow/"+c.flow+"/cases/from-event", request+`}`); status != 403 {
			t.Errorf("a key that only reads gets %d %s", status, code)
		}
	})
}

func TestLabels_name_wrong_rows_and_store_all_or_none(t *testing.T) {
	onBothStores(t, func(t *testing.T, h *webtest.Env) {
		c := &testClient{newCaller(h, nil, flow.Key{Scopes: flow.Scopes}), h.PublishedFlow(echoFlow)}
		c.must(200, "PUT", "/cases/one", `{"name":"First","inputs":{"word":"a"}}`)
		c.must(200, "PUT", "/cases/two", `{"inputs":{"word":"b"}}`)
		label := func(csv, more string) (a struct {
			Labeled, Changed int
			Problems         []struct {
				Row            int
				Column, Detail string
			}
		}) {
			t.Helper()
			table, _ := json.Marshal(csv)
			if err := json.Unmarshal([]byte(c.must(200, "POST", "/cases/labels", `{"csv":`+string(table)+more+`}`)), &a); err != nil {
				t.Fatal(err)
			}
			return a
		}
		stored := func() string { return c.must(200, "GET", "/cases/one", "") + c.must(200, "GET", "/cases/two", "") }
		before := stored()
		const wrong = "case,answer\r\nFirst,\"yes, \"\"sure\"\"\"\r\n\r\nnone,x\r\ntwo,b\r\n"
		for what, a := range map[string]struct {
			Labeled int
			Row     int
		}{wrong: {0, 4}, "case,reply\none,x\n": {0, 1}, "answer\nx\n": {0, 1}, "case,answer\none,x\nFirst,y\n": {0, 3}, "": {0, 1}} {
			if got := label(what, ""); got.Labeled != a.Labeled || len(got.Problems) != 1 || got.Problems[0].Row != a.Row {
				t.Errorf("%q: %+v, wanted a problem of row %d", what, got, a.Row)
			}
		}
		if got := label("case,answer\none,x\n", `,"preview":true`); got.Labeled != 1 || len(got.Problems) != 0 {
			t.Errorf("a preview: %+v", got)
		}
		if stored() != before {
			t.Errorf("wrong tables or previews changed cases: %s", stored())
		}
		if got := label(wrong, `,"on_invalid":"skip"`); got.Labeled != 2 || got.Changed != 2 || len(got.Problems) != 1 {
			t.Errorf("without the wrong row: %+v", got)
		}
		if now := stored(); !strings.Contains(now, `"answer":"yes, \"sure\""`) || !strings.Contains(now, `"answer":"b"`) {
			t.Errorf("stored: %s", now)
		}
		if got := label("case;answer\none;x\ntwo;\n", ""); got.Labeled != 1 || got.Changed != 1 {
			t.Errorf("a table with semicolons and an empty cell: %+v", got)
		}
		if now := stored(); !strings.Contains(now, `"answer":"x"`) || !strings.Contains(now, `"answer":"b"`) {
			t.Errorf("an empty cell changed its case: %s", now)
		}
	})
}

func TestFinds_is_decided_by_recorded_searches(t *testing.T) {
	onBothStores(t, func(t *testing.T, h *webtest.Env) {
		c := &testClient{newCaller(h, nil, flow.Key{Scopes: flow.Scopes}), ""}
		helpBase(h)
		c.flow = h.PublishedFlow(`{"schema":"sluice.flow/v1","name":"Ask","nodes":[{"id":"q","kind":"input","config":{"name":"q","type":"text"}},
			{"id":"search","kind":"knowledge_search","config":{"knowledge":"help","mode":"words"}},{"id":"out","kind":"output","config":{"name":"answer"}}],
			"edges":[{"from":"q.value","to":"search.query"},{"from":"search.context","to":"out.value"}]}`)
		c.must(200, "PUT", "/cases/found", `{"inputs":{"q":"kept"},"checks":[{"finds":{"node":"search","source":"kept","top":1}}]}`)
		c.must(200, "PUT", "/cases/other", `{"inputs":{"q":"kept"},"checks":[{"finds":{"node":"search","source":"gone"}}]}`)
		c.must(200, "PUT", "/cases/nothing", `{"inputs":{"q":"xyzzy"},"checks":[{"finds":{"source":"kept"}}]}`)
		want := map[string]string{"found": "passed", "other": "failed", "nothing": "failed"}
		check := func(mode string) {
			t.Helper()
			for _, row := range c.test(`{"mode":"` + mode + `"}`).Cases {
				if got := row.Results[0]; got.State != want[row.ID] {
					t.Errorf("%s: %s is %s: %s", mode, row.ID, got.State, got.Message)
				}
			}
		}
		check("fill")
		if status, _, raw := c.send("DELETE", "/v1/knowledge/help/documents?source=kept", ""); status != 200 {
			t.Fatalf("%d %s", status, raw)
		}
		check("replay") // needs no document
		c.must(422, "PUT", "/cases/wrong", `{"inputs":{"q":"x"},"checks":[{"finds":{"top":5}}]}`)
	})
}
