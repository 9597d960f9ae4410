package api

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"sluice/flow"
)

// agent is a client of the Model Context Protocol that sends plain HTTP.
type agent struct {
	*env
	key     string
	headers []string
	calls   int
}

func (w *env) agent(key string, headers ...string) *agent {
	return &agent{env: w, key: key, headers: append([]string{"Accept", "application/json, text/event-stream", "Mcp-Protocol-Version", "2025-11-25"}, headers...)}
}

// rpc is a JSON-RPC message.
type rpc struct {
	ID     any
	Method string
	Params map[string]any
	Result map[string]any
	Error  *struct {
		Code    int
		Message string
	}
}

// text returns the text content of a tool result.
func (r rpc) text() string {
	var b strings.Builder
	content, _ := r.Result["content"].([]any)
	for _, c := range content {
		text, _ := c.(map[string]any)["text"].(string)
		b.WriteString(text)
	}
	return b.String()
}

func (a *agent) body(method string, params map[string]any) string {
	a.calls++
	return string(flow.EncodeJSON(map[string]any{"jsonrpc": "2.0", "id": a.calls, "method": method, "params": params}))
}

// open sends a request and returns the response without reading its body.
func (a *agent) open(method string, params map[string]any) *http.Response {
	a.t.Helper()
	return a.env.open(request{method: "POST", path: "/mcp", key: a.key, headers: a.headers, body: a.body(method, params)})
}

// ask sends a request and returns the response and the notifications before it.
func (a *agent) ask(method string, params map[string]any) (answer rpc, told []rpc) {
	a.t.Helper()
	all := a.read(a.open(method, params))
	return all[len(all)-1], all[:len(all)-1]
}

func (a *agent) read(resp *http.Response) (all []rpc) {
	a.t.Helper()
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 8<<20)
	for lines.Scan() {
		data, found := strings.CutPrefix(lines.Text(), "data: ")
		if found || strings.HasPrefix(data, "{") {
			var m rpc
			if err := json.Unmarshal([]byte(data), &m); err != nil {
				a.t.Fatalf("%v in %s", err, data)
			}
			all = append(all, m)
		}
	}
	if len(all) == 0 {
		a.t.Fatalf("status %d and no message", resp.StatusCode)
	}
	return all
}

func (a *agent) call(tool string, arguments map[string]any) rpc {
	a.t.Helper()
	answer, _ := a.ask("tools/call", map[string]any{"name": tool, "arguments": arguments})
	return answer
}

// list reads all pages.
func (a *agent) list() (tools []map[string]any) {
	a.t.Helper()
	for cursor := any(""); cursor != nil; {
		params := map[string]any{}
		if cursor != "" {
			params["cursor"] = cursor
		}
		answer, _ := a.ask("tools/list", params)
		for _, t := range answer.Result["tools"].([]any) {
			tools = append(tools, t.(map[string]any))
		}
		cursor = answer.Result["nextCursor"]
	}
	return tools
}

func (a *agent) names() (names []string) {
	a.t.Helper()
	for _, t := range a.list() {
		names = append(names, t["name"].(string))
	}
	return names
}

func (r rpc) wantError(t *testing.T, parts ...string) {
	t.Helper()
	if r.Result["isError"] != true {
		t.Fatalf("no error: %+v", r)
	}
	for _, part := range parts {
		if !strings.Contains(r.text(), part) {
			t.Errorf("%q is not in %q", part, r.text())
		}
	}
}

func TestMCPInitialize(t *testing.T) {
	t.Parallel()
	w := setup(t)
	a := w.agent(w.key)
	resp := a.open("initialize", map[string]any{"protocolVersion": "2025-11-25", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "test", "version": "1"}})
	if resp.Header.Get("Mcp-Session-Id") == "" || resp.Header.Get("Content-Type") != "application/json" {
		t.Errorf("headers %v", resp.Header)
	}
	answer := a.read(resp)[0]
	if dig(answer.Result, "serverInfo", "name") != "sluice" || dig(answer.Result, "capabilities", "tools") == nil || dig(answer.Result, "capabilities", "logging") != nil {
		t.Errorf("answer %v", answer.Result)
	}
	if r, _ := a.ask("prompts/list", nil); r.Error == nil || r.Error.Code != -32601 {
		t.Errorf("a method that is not there: %+v", r)
	}
	told := w.post("/mcp", `{"jsonrpc": "2.0", "method": "notifications/initialized"}`, a.headers...)
	if told.status != 202 || len(told.raw) > 0 {
		t.Errorf("a notification is answered with %d %s", told.status, told.raw)
	}
}

// TestMCP_rejects_invalid_requests checks that errors before the protocol begins are problems.
func TestMCP_rejects_invalid_requests(t *testing.T) {
	t.Parallel()
	w := setup(t)
	list := `{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}`
	for name, c := range map[string]struct {
		body    string
		headers []string
		status  int
		code    flow.Code
	}{
		"media type":     {list, []string{"Content-Type", "text/plain"}, 415, flow.CodeUnsupportedMediaType},
		"accept":         {list, []string{"Accept", "text/html"}, 406, flow.CodeNotAcceptable},
		"version":        {list, []string{"Mcp-Protocol-Version", "1999-01-01"}, 400, flow.CodeInvalidHeader},
		"no JSON":        {"{", nil, 400, flow.CodeInvalidJSON},
		"a batch":        {"[" + list + "]", nil, 400, flow.CodeInvalidJSON},
		"twice a name":   {`{"jsonrpc": "2.0", "jsonrpc": "2.0", "method": "x"}`, nil, 400, flow.CodeInvalidJSON},
		"no method":      {`{"jsonrpc": "2.0", "id": 1}`, nil, 400, flow.CodeInvalidJSON},
		"half an ID":     {`{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}`, nil, 400, flow.CodeInvalidJSON},
		"a vast ID":      {`{"jsonrpc": "2.0", "id": 1e30, "method": "ping"}`, nil, 400, flow.CodeInvalidJSON},
		"arguments":      {`{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "a", "arguments": []}}`, nil, 400, flow.CodeInvalidJSON},
		"a vast number":  {`{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": {"a": [{"b": 1e400}]}}}`, nil, 400, flow.CodeInvalidJSON},
		"a batch of one": {"[]", nil, 400, flow.CodeInvalidJSON},
		"too large":      {`{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "x": "` + strings.Repeat("a", MaxBody) + `"}`, nil, 413, flow.CodeBodyTooLarge},
		"origin":         {list, []string{"Origin", "https://evil.test"}, 403, flow.CodeOriginNotAllowed},
		"key in the URL": {list, nil, 400, flow.CodeKeyInURL},
	} {
		path := "/mcp"
		if c.code == flow.CodeKeyInURL {
			path += "?key=" + w.key
		}
		a := w.send(request{method: "POST", path: path, body: c.body, headers: c.headers})
		if a.status != c.status || a.body["code"] != string(c.code) {
			t.Errorf("%s: %d %s", name, a.status, a.raw)
		}
	}
	for _, method := range []string{"GET", "DELETE", "PUT"} {
		a := w.send(request{method: method, path: "/mcp"})
		a.wantCode(t, 405, flow.CodeMethodNotAllowed)
		if !strings.Contains(a.header.Get("Allow"), "POST") {
			t.Errorf("Allow: %q", a.header.Get("Allow"))
		}
	}
}

// TestMCPFiles checks that files are links, and that small images are inline too.
func TestMCPFiles(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.addFlow("default", `{"schema": "sluice.flow/v1", "name": "Look", "nodes": [
		{"id": "in", "kind": "input", "config": {"name": "in", "type": "json"}}, {"id": "out", "kind": "output", "config": {"name": "out"}}],
		"edges": [{"from": "in.value", "to": "out.value"}]}`)
	picture, large := w.uploaded("a.png", "image/png", pngBytes), w.files.put(flow.NewFile{WorkspaceID: "default", Name: "b.png", MIME: "image/png"}, make([]byte, 512<<10+1)).ID
	vector := w.uploaded("c.svg", "image/svg+xml", []byte("<svg xmlns='http://www.w3.org/2000/svg'/>"))
	value := []any{}
	for _, id := range []string{picture, large, vector, w.files.put(flow.NewFile{WorkspaceID: "ws_other", Name: "d.png"}, pngBytes).ID} {
		value = append(value, map[string]any{"file": id})
	}
	content := w.agent(w.key).call("look", map[string]any{"in": value}).Result["content"].([]any)
	var got []string
	for _, c := range content[1:] {
		kind, name := dig(c, "type").(string), dig(c, "name")
		got = append(got, fmt.Sprint(kind, " ", name, " ", dig(c, "mimeType")))
		if kind == "image" && dig(c, "data") != base64.StdEncoding.EncodeToString(pngBytes) {
			t.Error("it is another picture")
		}
	}
	want := []string{"resource_link a.png image/png", "image <nil> image/png", "resource_link b.png image/png", "resource_link c.svg image/svg+xml"}
	if !slices.Equal(got, want) {
		t.Errorf("content %v, wanted %v", got, want)
	}
	link := dig(content[1], "uri").(string)
	a := w.send(request{method: "GET", key: "-", path: strings.TrimPrefix(link, publicURL)})
	if a.status != 200 || string(a.raw) != string(pngBytes) {
		t.Errorf("the link answers %d", a.status)
	}
}

// TestMCPNewProtocol uses the version without sessions, in which errors also have an HTTP
// status.
func TestMCPNewProtocol(t *testing.T) {
	t.Parallel()
	w := setup(t)
	a := w.agent(w.key)
	a.headers = []string{"Accept", "application/json, text/event-stream", "Mcp-Protocol-Version", "2026-07-28"}
	meta := map[string]any{"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": map[string]any{}}
	ask := func(method string, params map[string]any, status int) rpc {
		t.Helper()
		params["_meta"] = meta
		a.headers = append(a.headers[:4:4], "Mcp-Method", method)
		if name, ok := params["name"].(string); ok {
			a.headers = append(a.headers, "Mcp-Name", name)
		}
		resp := a.open(method, params)
		if resp.StatusCode != status {
			t.Errorf("%s answers %d, wanted %d", method, resp.StatusCode, status)
		}
		all := a.read(resp)
		return all[len(all)-1]
	}
	if r := ask("server/discover", map[string]any{}, 200); r.Result["cacheScope"] != "private" {
		t.Errorf("discovery %+v", r)
	}
	if r := ask("tools/list", map[string]any{}, 200); len(r.Result["tools"].([]any)) != 3 || r.Result["cacheScope"] != "private" {
		t.Errorf("tools %+v", r)
	}
	if r := ask("tools/call", map[string]any{"name": "answer_a_ticket", "arguments": map[string]any{"ticket": "a"}}, 200); r.text() != "a" {
		t.Errorf("answer %+v", r)
	}
	if r := ask("tools/call", map[string]any{"name": "nothing"}, 400); r.Error == nil || r.Error.Code != -32602 {
		t.Errorf("answer %+v", r)
	}
	if r := ask("tools/eat", map[string]any{}, 404); r.Error == nil || r.Error.Code != -32601 {
		t.Errorf("answer %+v", r)
	}
}
