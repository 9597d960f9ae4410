package api

import (
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"sluice/e2e/need"
	"sluice/flow"
)

// serve passes a request to the server without a network, so that it can be one that no
// client library sends.
func (w *env) serve(r *http.Request) *reply {
	rec := httptest.NewRecorder()
	w.edge.ServeHTTP(rec, r)
	return &reply{status: rec.Code, header: rec.Header(), raw: rec.Body.Bytes()}
}

// fuzzer generates requests that are almost valid.
type fuzzer struct {
	*rand.Rand
	m     *matrix
	keys  []string
	flows []string
	runs  []string
}

func one[T any](f *fuzzer, list ...T) T { return list[f.IntN(len(list))] }

// often returns the good value most of the time.
func often[T any](f *fuzzer, good T, bad ...T) T {
	if f.IntN(4) > 0 {
		return good
	}
	return one(f, bad...)
}

var oddTexts = []string{
	"", " ", "a", "\x00", "\u202e", "ünïcödé", "'; DROP TABLE runs; --", "../../etc/passwd", "%00", "{{ticket}}", "<script>", "null", "true", "-1", "1e999",
	"99999999999999999999999", "2026-13-01T00:00:00Z", "draft", "slu_", strings.Repeat("a", 5000), "🦆", "\\", "\"", "\n\r\n", "NaN", "0x10", "run_", "flow_",
}

func (f *fuzzer) value(depth int) any {
	switch f.IntN(9) {
	case 0:
		return nil
	case 1:
		return f.IntN(2) == 0
	case 2:
		return json.Number(one(f, "0", "-0", "1", "3", "1.5", "-7", "1e400", "1e-400", "123456789012345678901234567890"))
	case 3, 4, 5:
		return one(f, oddTexts...)
	case 6:
		list := []any{}
		for range f.IntN(4) {
			if depth < 4 {
				list = append(list, f.value(depth+1))
			}
		}
		return list
	}
	m := map[string]any{}
	for range f.IntN(4) {
		if depth < 4 {
			m[one(f, "ticket", "tone", "url", "secret", "version", "webhook", "metadata", "save", "timeout_s", "", "run_options", "x/y~z")] = f.value(depth + 1)
		}
	}
	return m
}

func (f *fuzzer) body() string {
	m := map[string]any{"ticket": "a"}
	if f.IntN(2) == 0 {
		m["run_options"] = map[string]any{"metadata": f.value(1)}
	}
	for range f.IntN(3) {
		m[one(f, "ticket", "tone", "times", "tickt", "from", "inputs", "run_options")] = f.value(0)
	}
	if o, ok := m["run_options"].(map[string]any); ok {
		o[one(f, "version", "webhook", "metadata", "timeout_s", "save", "other")] = f.value(0)
	}
	text := string(flow.EncodeJSON(m))
	switch f.IntN(12) {
	case 0:
		return text[:f.IntN(len(text))]
	case 1:
		return text + one(f, "{}", "x", "\x00", " \n")
	case 2:
		i := f.IntN(len(text))
		return text[:i] + string(rune(f.IntN(256))) + text[i:]
	case 3:
		return one(f, "", "null", "[]", "3", `"x"`, "{", strings.Repeat("[", 100), `{"a":1,"a":2}`, "\xff", "{\"\xed\xa0\x80\":1}", `{"ticket":"\ud800"}`, strings.Repeat(" ", 2<<20))
	}
	return text
}

func (f *fuzzer) request() *http.Request {
	r := f.m.server.routes[f.IntN(len(f.m.server.routes))]
	path := strings.NewReplacer(
		":flow_id", often(f, f.m.echo, f.flows...), ":run_id", often(f, f.m.run, f.runs...), ":delivery_id", often(f, f.m.delivery, "whd_x", f.m.run),
		":file_id", often(f, f.m.file, f.m.foreignFile, "file_x", f.m.run),
	).Replace(r.Path)
	if f.IntN(20) == 0 {
		path += one(f, "/", "/x", "%2f", ";a=b", "//")
	}
	query := url.Values{}
	for range f.IntN(3) {
		name := one(f, "wait", "limit", "cursor", "status", "created_after", "created_before", "expires", "signature", "key", "x", "")
		query.Add(name, one(f, append([]string{"0", "1", "100", "failed", "succeeded,failed", "2026-01-31T12:00:00Z", *newCursor(f.m.run)}, oddTexts...)...))
	}
	target := path
	if len(query) > 0 {
		target += "?" + often(f, query.Encode(), "%zz", "a=%", ";", "&&&=")
	}
	u, err := url.ParseRequestURI(target)
	if err != nil {
		u = &url.URL{Path: path}
	}
	req := httptest.NewRequest(http.MethodGet, "/", strings.NewReader(f.body()))
	req.Method, req.URL, req.RequestURI = often(f, r.Method, "GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "TRACE", "X"), u, target
	req.Header.Set("Authorization", "Bearer "+often(f, f.keys[0], f.keys...))
	if r.Path == "/v1/files" {
		f.form(req)
		return req
	}
	if r.Path == "/mcp" {
		f.message(req)
	}
	req.Header.Set("Content-Type", often(f, "application/json", "application/json; charset=UTF-8", "application/json; charset", "text/plain", "", ";"))
	f.headers(req.Header)
	if f.IntN(10) == 0 {
		req.ContentLength = -1
	}
	return req
}

// message makes the request an almost valid one of the Model Context Protocol.
func (f *fuzzer) message(req *http.Request) {
	params := map[string]any{"name": often(f, "answer_a_ticket", oddTexts...), "arguments": map[string]any{"ticket": f.value(0)}}
	for range f.IntN(3) {
		params[one(f, "name", "arguments", "_meta", "cursor", "protocolVersion", "capabilities", "clientInfo", "requestId", "level", "uri", "ref", "notifications")] = f.value(0)
	}
	m := map[string]any{"jsonrpc": "2.0", "id": 1, "method": often(f, "tools/call", "tools/list", "initialize", "ping", "server/discover", "notifications/cancelled", "logging/setLevel", "completion/complete", "prompts/get", "resources/read", "subscriptions/listen", "x"), "params": params}
	for range f.IntN(2) {
		m[one(f, "jsonrpc", "id", "method", "params", "result")] = f.value(0)
	}
	body := f.body()
	if f.IntN(5) > 0 {
		body = string(flow.EncodeJSON(m))
	}
	req.Body, req.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
	if f.IntN(2) == 0 {
		req.Header.Set("Mcp-Protocol-Version", one(f, "2025-11-25", "2026-07-28", "2024-11-05", "2099-01-01", "x"))
		req.Header.Set("Mcp-Session-Id", one(f, oddTexts...))
	}
}

// form makes the request an almost valid upload.
func (f *fuzzer) form(req *http.Request) {
	parts := []formPart{}
	for range 1 + f.IntN(2) {
		parts = append(parts, formPart{often(f, "file", oddTexts...), often(f, "a.png", oddTexts...), one(f, "", "image/png", "text/html", "a/b; c=", ";"), []byte(one(f, append(oddTexts, string(pngBytes))...))})
	}
	body, contentType := form(parts[:often(f, 1, len(parts))]...)
	if i := f.IntN(len(body)); f.IntN(5) == 0 {
		body = one(f, body[:i], body[:i]+one(f, oddTexts...)+body[i:], strings.Repeat(body[:i], 3), body+body)
	}
	req.Body, req.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
	req.Header.Set("Content-Type", often(f, contentType, "multipart/form-data", "multipart/form-data; boundary="+one(f, oddTexts...), "multipart/mixed; boundary=x", "application/json"))
	f.headers(req.Header)
}

func (f *fuzzer) headers(h http.Header) {
	for range f.IntN(4) {
		name := one(f, "Accept", "Prefer", "Idempotency-Key", "Last-Event-ID", "If-None-Match", "X-Request-Id", "Content-Encoding", "Cookie", "Authorization", "Host", "Range", "If-Range", "If-Match", "If-Modified-Since")
		values := append([]string{"application/json", "text/event-stream", "*/*;q=0", "wait=1", "respond-async; foo, wait=5", "wait=99", "k1", "k2", "3", "gzip", "bytes=0-1", "bytes=9-,-3,1-2", "bytes=99-", "*", `W/"x"`}, oddTexts...)
		h.Add(name, one(f, values...))
	}
}

// TestRandomRequests_never_cause_5xx checks that no random request gets a 5xx, that each
// response is described, and that rejected requests store nothing.
func TestRandomRequests_never_cause_5xx(t *testing.T) {
	t.Parallel()
	need.Time(t)
	m := setupMatrix(t)
	all := []flow.Scope{flow.ScopeRun, flow.ScopeRead, flow.ScopeManage}
	f := &fuzzer{
		Rand: rand.New(rand.NewPCG(20260131, 7)), m: m,
		keys:  []string{m.addKey(flow.Key{Scopes: all}), m.key, m.addKey(flow.Key{Scopes: []flow.Scope{flow.ScopeRun}}), m.addKey(flow.Key{Scopes: all, Flows: []string{m.failing}}), m.addKey(flow.Key{WorkspaceID: "ws_other", Scopes: all}), flow.NewKeyText(), "", "x"},
		flows: []string{m.failing, m.unpublished, m.foreign, "flow_x", m.run, "%20"},
		runs:  []string{m.foreignRun, "run_x", m.echo, "%20"},
	}
	byStatus := map[int]int{}
	for i := range 6000 {
		if i%100 == 0 { // some of the requests erase them
			m.file = m.uploaded("a.txt", "text/plain", []byte("hello"))
			path := m.endedRun(m.echo, `{"ticket": "a"}`)
			m.run = path[strings.LastIndexByte(path, '/')+1:]
		}
		r := f.request()
		a := m.serve(r)
		byStatus[a.status]++
		if a.status >= 500 || r.URL.Path == "/mcp" && inside.Match(a.raw) {
			t.Fatalf("request %d: %s %s %v answers %d %s\n%s", i, r.Method, r.RequestURI, r.Header, a.status, a.raw, m.log)
		}
		wholeAPI().check(t, r.Method, r.URL.Path, a)
	}
	t.Log("statuses", byStatus)
	if byStatus[202] == 0 || byStatus[422] == 0 || byStatus[404] == 0 || byStatus[400] == 0 {
		t.Errorf("the requests are not varied: %v", byStatus)
	}
}

// FuzzStartRun tries bodies and headers of a start.
func FuzzStartRun(f *testing.F) {
	f.Add([]byte(`{"ticket": "a", "run_options": {"version": 1, "webhook": {"url": "https://example.com"}}}`), "application/json", "*/*", "wait=1", "k", "1", "id", "")
	f.Add([]byte(`{"ticket": "a", "ticket": 1}`), "application/json; charset=utf-8", "text/event-stream", "respond-async", "", "x", "", "key=1")
	f.Add([]byte("{\"\\ud800\": [[[{}]]]}"), "text/json", "application/json;q=0.1, */*;q=0", `wait="5"`, "\x7f", "-1", "\n", "%zz")
	w := setup(f)
	f.Fuzz(func(t *testing.T, body []byte, contentType, accept, prefer, idempotency, lastEvent, requestID, query string) {
		r := httptest.NewRequest(http.MethodPost, "/v1/flow/"+w.echo+"/run", strings.NewReader(string(body)))
		r.URL.RawQuery = query
		for name, v := range map[string]string{
			"Content-Type": contentType, "Accept": accept, "Prefer": prefer, "Idempotency-Key": idempotency, "Last-Event-ID": lastEvent, "X-Request-Id": requestID,
		} {
			if v != "" {
				r.Header.Set(name, v)
			}
		}
		r.Header.Set("Authorization", "Bearer "+w.key)
		a := w.serve(r)
		if a.status >= 500 {
			t.Errorf("answers %d %s", a.status, a.raw)
		}
		wholeAPI().check(t, r.Method, r.URL.Path, a)
	})
}

// inside matches implementation details, which no response may reveal.
var inside = regexp.MustCompile(`\*?\b(mcp|jsonrpc2?|handlers|flow)\.[A-Z]|goroutine \d|\.go:\d`)

// FuzzMCP tries messages of the Model Context Protocol.
func FuzzMCP(f *testing.F) {
	f.Add([]byte(`{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "answer_a_ticket", "arguments": {"ticket": "a"}, "_meta": {"progressToken": 1}}}`), "2025-11-25", "a")
	f.Add([]byte(`{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"cursor": "x", "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}}}`), "2026-07-28", "")
	f.Add([]byte(`{"jsonrpc": "2.0", "id": "x", "method": "initialize", "params": {"protocolVersion": "1", "capabilities": {"roots": 1}, "clientInfo": {"name": 1}}}`), "", "")
	w := setup(f)
	f.Fuzz(func(t *testing.T, body []byte, version, session string) {
		r := httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader(string(body)))
		r.Header.Set("Authorization", "Bearer "+w.key)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		r.Header.Set("Mcp-Protocol-Version", version)
		r.Header.Set("Mcp-Session-Id", session)
		a := w.serve(r)
		if a.status >= 500 || inside.Match(a.raw) {
			t.Errorf("answers %d %s", a.status, a.raw)
		}
		wholeAPI().check(t, r.Method, r.URL.Path, a)
	})
}

// FuzzUpload tries forms.
func FuzzUpload(f *testing.F) {
	for _, parts := range [][]formPart{{{"file", "a.png", "image/png", pngBytes}}, {{"file", "a", "", nil}, {"x", "", "", nil}}, nil} {
		body, contentType := form(parts...)
		f.Add([]byte(body), contentType)
	}
	w := setup(f)
	f.Fuzz(func(t *testing.T, body []byte, contentType string) {
		r := httptest.NewRequest(http.MethodPost, "/v1/files", strings.NewReader(string(body)))
		r.Header.Set("Content-Type", contentType)
		r.Header.Set("Authorization", "Bearer "+w.key)
		a := w.serve(r)
		if a.status >= 500 {
			t.Errorf("answers %d %s", a.status, a.raw)
		}
		wholeAPI().check(t, r.Method, r.URL.Path, a)
	})
}

// FuzzLink tries parameters of links to an existing file.
func FuzzLink(f *testing.F) {
	w := setup(f)
	id := w.uploaded("a.txt", "text/plain", []byte("hello"))
	good := w.server.Links.URL("default", id, w.now().Add(1<<40))
	f.Add(id, good[strings.IndexByte(good, '?')+1:], "bytes=0-1")
	f.Add("file_x", "expires=-1&signature=", "")
	f.Fuzz(func(t *testing.T, id, query, ranged string) {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.URL = &url.URL{Path: "/v1/files/" + id, RawQuery: query}
		r.Header.Set("Range", ranged)
		if a := w.serve(r); a.status >= 500 || a.status < 300 && "https://sluice.test"+r.URL.Path+"?"+query != good {
			t.Errorf("%s answers %d %s", r.URL, a.status, a.raw)
		}
	})
}

// FuzzBearer tries Authorization headers and URLs.
func FuzzBearer(f *testing.F) {
	f.Add("Bearer slu_0", "a=b")
	f.Add("bearer\t", "key=slu_x")
	w := setup(f)
	f.Fuzz(func(t *testing.T, authorization, query string) {
		r := httptest.NewRequest(http.MethodGet, "/v1/flow", nil)
		r.URL.RawQuery = query
		r.Header.Set("Authorization", authorization)
		if a := w.serve(r); a.status != 400 && a.status != 401 && authorization != "Bearer "+w.key {
			t.Errorf("%q answers %d %s", authorization, a.status, a.raw)
		}
	})
}
