package handlers_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"sluice/flow"
	"sluice/flow/value"
	"sluice/handlers/webtest"
)

// requestedFlow asks a service about what a request has, and gives it back. A step gets a secret input.
const requestedFlow = `{"schema":"sluice.flow/v1","slug":"requested","name":"Requested","nodes":[
	{"id":"word","kind":"input","config":{"name":"word","type":"text"}},{"id":"who","kind":"input","config":{"name":"who","type":"text","default":"nobody"}},
	{"id":"order","kind":"input","config":{"name":"order","type":"json"}},{"id":"token","kind":"input","config":{"name":"token","type":"text","secret":true}},
	{"id":"get","kind":"http_request","config":{"method":"GET","url":"%s/look?word={{word}}","query":{},"headers":{"Authorization":{"credential":"token"}}}},
	{"id":"words","kind":"template","config":{"template":"{{word}} {{who}} {{order}}"}},
	{"id":"out","kind":"output","config":{"name":"answer"}},{"id":"out2","kind":"output","config":{"name":"said"}}],
	"edges":[{"from":"word.value","to":"get.word"},{"from":"get.body","to":"out.value"},{"from":"word.value","to":"words.word"},{"from":"who.value","to":"words.who"},{"from":"order.value","to":"words.order"},{"from":"words.text","to":"out2.value"}]}`

// TestCases_from_requests_show_no_secret_anywhere makes a case of a captured request with secrets in its body and its headers, tests it, and reads
// everything that shows inputs of the case or its runs.
func TestCases_from_requests_show_no_secret_anywhere(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Set-Cookie", "session=canary-cookie")
		fmt.Fprintf(w, `{"word": %q, "access_token": "canary-answer", "sent": %q}`, r.URL.Query().Get("word"), r.Header.Get("Authorization"))
	}))
	t.Cleanup(service.Close)
	at, err := url.Parse(service.URL)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Store.SaveCredential(t.Context(), flow.Credential{WorkspaceID: flow.DefaultWorkspace, Name: "token", Hosts: []string{at.Host}}, "canary-credential"); err != nil {
		t.Fatal(err)
	}
	c := &testClient{newCaller(h, nil, flow.Key{Scopes: flow.Scopes}), h.PublishedFlow(fmt.Sprintf(requestedFlow, service.URL))}
	made := c.must(200, "PUT", "/hooks/orders", `{"verify":{"scheme":"none"},"once":"body.id","inputs":{"word":{"cel":"body.word"},"who":{"cel":"headers['x-person']"},"order":{"cel":"body.order"},"token":{"cel":"body.token"}}}`)
	v, err := value.Decode([]byte(made))
	if err != nil {
		t.Fatal(err)
	}
	o, _ := flow.AsObject(v)
	hook, err := url.Parse(flow.Text(o.Get("url")))
	if err != nil {
		t.Fatal(err)
	}
	c.must(200, "POST", "/hooks/orders/capture", `{"on":true}`)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.Http.URL+hook.Path, bytes.NewReader([]byte(`{"id":"order-1","word":"yes","token":"canary-input","order":{"item":"cup","api_key":"canary-member","deep":[{"password":"canary-deep"}]}}`)))
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
	c.must(200, "POST", "/cases/from-event", `{"hook":"orders","event":"order-1"}`)
	list := c.must(200, "GET", "/cases", "")
	_, id, _ := strings.Cut(list, `"id":"`)
	id, _, _ = strings.Cut(id, `"`)
	// The checks fail, so that reports quote values.
	c.must(200, "PUT", "/cases/"+id, strings.Replace(c.must(200, "GET", "/cases/"+id, ""), `"inputs":`, `"expected":{"answer":{"word":"no"},"said":"nothing"},"inputs":`, 1))
	_, tag := c.file("")
	c.file(`{"schema":"sluice.tests/v1","defaults":{"checks":[{"output":"answer","equals":{"word":"no"}},{"output":"said","equals":"nothing"}]},"cases":[]}`, tag)
	var report testReport
	for _, mode := range []string{"fill", "replay"} {
		report = c.test(`{"mode":"` + mode + `","candidates":[{"version":"live"},{"version":"draft"}]}`)
	}
	if report.Candidates[0].Failed != 1 {
		t.Fatalf("%+v", report)
	}
	seen := map[string]string{"the list": list}
	for _, path := range []string{"/cases", "/cases/" + id, "/companions/tests", "/recordings", "/tests", "/tests/" + report.ID + "?case=" + id, "/tests/" + report.ID + "?format=csv", "/tests/" + report.ID + "?format=junit", "/tests/" + report.ID + "?format=markdown"} {
		seen["GET "+path] = c.must(200, "GET", path, "")
	}
	for _, result := range report.Cases[0].Results {
		seen["the run of the case"] = c.must(200, "GET", "/run/"+string(result.RunID)+"?include=steps", "")
	}
	for _, tool := range []string{`{"name":"list_cases","arguments":{"flow":"` + c.flow + `"}}`, `{"name":"read_report","arguments":{"flow":"` + c.flow + `","test":"` + report.ID + `","case":"` + id + `"}}`} {
		_, _, seen[tool] = c.send("POST", "/mcp?tools=authoring", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":`+tool+`}`)
	}
	b, tests := h.As(flow.MemberOwner), "/flows/"+c.flow+"/tests"
	for _, path := range []string{tests, tests + "?case=" + id, tests + "/cases/" + id, tests + "/grid", tests + "/compare", tests + "/reports/" + report.ID + "?case=" + id, tests + "/reports/" + report.ID + "?case=" + id + "&with=1", "/runs/" + string(report.Cases[0].Results[0].RunID), "/settings/audit"} {
		seen["the page "+path] = b.Get(path).Is(http.StatusOK).Body
	}
	for what, text := range seen {
		if at := strings.Index(text, "canary"); at >= 0 {
			t.Errorf("%s has a secret: %.300s", what, text[max(0, at-100):])
		}
	}
	for _, what := range []string{"GET /tests/" + report.ID + "?format=markdown", "GET /tests/" + report.ID + "?format=junit", "the page " + tests + "?case=" + id} {
		if !strings.Contains(seen[what], "cup") && !strings.Contains(seen[what], "yes") {
			t.Errorf("%s shows nothing of the case, so it proves nothing: %.300s", what, seen[what])
		}
	}
}
