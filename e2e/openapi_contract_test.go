package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// contract is a server behind Prism, which validates every response against the OpenAPI
// document.
type contract struct {
	t        *testing.T
	s        *server
	document object
	base     string          // of Prism
	seen     map[string]bool // operation and status
	ids      map[string]string
	keys     map[string]string
}

// contractKeys are the keys of the test: one with all scopes, and others that lack some.
var contractKeys = map[string][]string{
	"all": {"--scope", "run,read,manage,edit,approve,admin"}, "approve": {"--scope", "approve"}, "manage": {"--scope", "manage"}, "read": {"--scope", "read"}, "run": {"--scope", "run"},
}

func newContract(t *testing.T) *contract {
	t.Helper()
	modules := openAPIJudges(t)
	k := &contract{t: t, s: newServer(t), seen: map[string]bool{}, ids: map[string]string{}, keys: map[string]string{"wrong": "slu_wrong"}}
	for name, args := range contractKeys {
		k.keys[name] = k.s.key(args...)
	}
	k.document = k.s.client("").want(200, "GET", "/v1/openapi.json", nil).object(t)
	k.startPrism(modules)
	return k
}

// startPrism starts Prism with a document that describes /readyz incorrectly, which shows
// that Prism does find mistakes.
func (k *contract) startPrism(modules string) {
	k.t.Helper()
	dir := k.t.TempDir()
	lie := k.s.client("").want(200, "GET", "/v1/openapi.json", nil).object(k.t)
	content := func(path, method, status string) object {
		return lie["paths"].(object)[path].(object)[method].(object)["responses"].(object)[status].(object)["content"].(object)["application/json"].(object)
	}
	content("/readyz", "get", "200")["schema"] = object{"type": "object", "required": []string{"never"}}
	// Prism treats application/problem+json as application/json if both are described.
	mcp := content("/mcp", "post", "400")
	mcp["schema"] = object{"anyOf": []any{mcp["schema"], object{"$ref": "#/components/schemas/Problem"}}}
	file := filepath.Join(dir, "api.json")
	if err := os.WriteFile(file, must1(json.Marshal(lie)), 0o600); err != nil {
		k.t.Fatal(err)
	}
	l := must1(net.Listen("tcp", "127.0.0.1:0"))
	address := l.Addr().String()
	_ = l.Close()
	host, port, _ := net.SplitHostPort(address)
	cmd := exec.Command("node", filepath.Join(modules, "@stoplight", "prism-cli", "dist", "index.js"), "proxy", file, k.s.base(), "--errors", "--validate-request", "false", "--host", host, "--port", port)
	cmd.Env = environment("HOME="+dir, "CI=1")
	dieWithTests(cmd)
	if err := cmd.Start(); err != nil {
		k.t.Fatal(err)
	}
	k.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	k.base = "http://" + address
	waitUntil(k.t, "Prism answers", func() bool {
		_, err := k.through("").try("GET", "/livez", nil)
		return err == nil
	})
	if a := k.through("").do("GET", "/readyz", nil); a.status != 500 || !strings.Contains(string(a.body), "VIOLATIONS") {
		k.t.Fatalf("Prism does not find a lie in the document: %d %s", a.status, a.body)
	}
}

func (k *contract) through(key string) *client {
	return &client{t: k.t, base: func() string { return k.base }, key: key}
}

// ask sends a request through Prism and records the response.
func (k *contract) ask(key, method, path string, body any, headers ...string) *response {
	k.t.Helper()
	c := k.through(k.keys[key])
	if method == http.MethodHead { // Prism expects a body of the described media type, and HEAD has none
		c = k.s.client(k.keys[key])
	}
	a := c.do(method, path, body, headers...)
	if strings.Contains(string(a.body), "stoplight.io/prism") {
		k.t.Errorf("%s %s %v: %s", method, path, headers, a.body)
		return a
	}
	if responses := k.document["paths"].(object)[k.template(path)].(object)[strings.ToLower(method)].(object)["responses"].(object); responses[strconv.Itoa(a.status)] == nil {
		k.t.Errorf("%s %s %v: %d is not described", method, path, headers, a.status)
	}
	if a.status == http.StatusNotModified || a.header.Get("X-Request-Id") != "" {
		k.seen[fmt.Sprint(method, " ", k.template(path), " ", a.status)] = true
	}
	return a
}

// template returns the described path that matches a path.
func (k *contract) template(path string) string {
	path, _, _ = strings.Cut(path, "?")
	if k.document["paths"].(object)[path] != nil {
		return path // such as /v1/flow/validate, which /v1/flow/{flow_id} matches too
	}
	parts := strings.Split(path, "/")
	for template := range k.document["paths"].(object) {
		names := strings.Split(template, "/")
		if len(names) == len(parts) && !slices.ContainsFunc(slices.Collect(indexes(names)), func(i int) bool {
			return names[i] != parts[i] && !strings.HasPrefix(names[i], "{")
		}) {
			return template
		}
	}
	return path
}

func indexes(list []string) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for i := range list {
			if !yield(i) {
				return
			}
		}
	}
}

// fill replaces the parameters of a path template by IDs.
func fill(template string, ids map[string]string) string {
	for name, id := range ids {
		template = strings.ReplaceAll(template, "{"+name+"}", id)
	}
	return template
}

// TestOpenAPIContract provokes every response of every operation that its document
// describes, as far as a client can, and then sends random requests.
func TestOpenAPIContract(t *testing.T) {
	t.Parallel()
	if raceEnabled {
		t.Skip("the answers are the same under the race detector")
	}
	k := newContract(t)
	k.seed()
	k.eachRefusal()
	k.starts()
	k.reads()
	k.files()
	k.protocol()
	k.authoring()
	k.approvals()
	k.children()
	k.credentials()
	k.manageKeys()
	k.atRandom(100)
	k.erasures()
	k.missing()
}

// seed creates one object of each kind.
func (k *contract) seed() {
	hook := newReceiver(k.t, nil)
	k.ids["flow_id"] = k.s.publish(documentOf("Greet", []object{
		input("name"), node("greet", "template", object{"template": "Hello {{name}}!"}), output("text"), node("hook", "webhook", object{"url": hook.URL + "/hook"}),
	}, "name.value > greet.name", "greet.text > out_text.value"))
	c := k.s.client(k.keys["all"])
	r := c.succeed(k.ids["flow_id"], object{"name": "Ada"})
	k.ids["run_id"] = r.ID
	hook.await(k.t, "/hook", 1)
	log := c.want(200, "GET", "/v1/flow/"+k.ids["flow_id"]+"/deliveries", nil).object(k.t)
	k.ids["delivery_id"] = log["deliveries"].([]any)[0].(object)["delivery_id"].(string)
	k.ids["file_id"] = k.upload("hello")
	k.ids["key_id"] = c.want(201, "POST", "/v1/keys", object{"name": "made"}).object(k.t)["id"].(string)
	k.ids["path"], k.ids["name"] = "ask", "hook"
	k.ids["failing"] = k.s.publish(calling("http://127.0.0.1:1"))
}

// upload sends a form through Prism.
func (k *contract) upload(content string) (id string) {
	k.t.Helper()
	body := "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\nContent-Type: text/plain\r\n\r\n" + content + "\r\n--x--\r\n"
	a := k.ask("all", "POST", "/v1/files", []byte(body), "Content-Type: multipart/form-data; boundary=x")
	id, _ = a.object(k.t)["file"].(string)
	return id
}

// eachRefusal provokes the errors that all operations with a key have in common.
func (k *contract) eachRefusal() {
	unknown := map[string]string{}
	for name, id := range k.ids {
		prefix, _, _ := strings.Cut(id, "_")
		unknown[name] = prefix + "_" + strings.Repeat("0", 26)
	}
	for template, item := range k.document["paths"].(object) {
		for method, op := range item.(object) {
			if security, open := op.(object)["security"].([]any); open && len(security) == 0 {
				continue
			}
			method, path := strings.ToUpper(method), fill(template, k.ids)
			body, headers := any(object{}), []string{}
			if method == "GET" || method == "HEAD" || method == "DELETE" {
				body = nil
			}
			if strings.HasSuffix(template, "/events") {
				headers = append(headers, "Accept: text/event-stream")
			}
			k.ask("all", method, path+"?key=x", body, headers...)
			k.ask("wrong", method, path, body, headers...)
			for _, key := range []string{"manage", "read"} {
				if method != "DELETE" || key == "read" { // nothing may be gone afterwards
					k.ask(key, method, path, body, headers...)
				}
			}
			if path != template {
				k.ask("all", method, fill(template, unknown), body, headers...)
			}
			if method != "DELETE" {
				k.ask("all", method, path, body, "Accept: image/png")
			}
			k.keys["once"] = k.s.key("--scope", "run,read", "--rpm", "1")
			for range 2 {
				k.ask("once", method, fill(template, unknown), body, headers...)
			}
		}
	}
}

// starts starts runs in every way.
func (k *contract) starts() {
	path := "/v1/flow/" + k.ids["flow_id"] + "/run"
	body, wait := object{"name": "Ada"}, "Prefer: wait=30"
	k.ask("all", "POST", path, body)
	k.ask("all", "POST", path, body, wait)
	k.ask("all", "POST", path, body, "Accept: text/event-stream")
	rerun := path + "/" + k.ids["run_id"] + "/rerun"
	k.ask("all", "POST", rerun, object{})
	k.ask("all", "POST", rerun, object{}, wait)
	k.ask("all", "POST", rerun, object{}, "Accept: text/event-stream")
	for _, at := range []string{path, rerun} {
		k.ask("all", "POST", at, []any{})
		k.ask("all", "POST", at, body, "Prefer: wait=99")
		k.ask("all", "POST", at, body, "Content-Type: text/plain")
		k.ask("all", "POST", at, object{"name": 3, "inputs": 3})
	}
	unpublished := k.s.must("flow", "import", writeFile(k.t, "draft.json", greeting()))
	k.ask("all", "POST", "/v1/flow/"+unpublished+"/run", body)
	k.ask("all", "GET", "/v1/flow/"+unpublished+"/openapi.json", nil)

	gate := make(chan struct{})
	slow := newReceiver(k.t, func(http.ResponseWriter, string, int) { <-gate })
	open := k.s.client(k.keys["all"]).start(k.s.publish(calling(slow.URL)), object{"n": "1"}).path()
	k.ask("all", "GET", open+"/result", nil)
	k.ask("all", "DELETE", open, nil)
	k.ask("all", "POST", open+"/rerun", object{})
	k.ask("all", "POST", open+"/cancel", nil)
	close(gate)
}

// reads sends every kind of read request.
func (k *contract) reads() {
	run := runPath(k.ids["flow_id"], k.ids["run_id"])
	for _, path := range []string{"/livez", "/v1/openapi.json", "/v1/flow", "/v1/flow?limit=1", "/v1/flow?limit=0", "/v1/runs", "/v1/runs?limit=0", "/v1/kinds", "/v1/usage", "/v1/usage?by=flow", "/v1/usage?by=x", "/v1/schema/flow.json", "/v1/flow/" + k.ids["flow_id"], "/v1/flow/" + k.ids["flow_id"] + "/openapi.json",
		"/v1/flow/" + k.ids["flow_id"] + "/runs?status=succeeded,failed&limit=1", "/v1/flow/" + k.ids["flow_id"] + "/runs?status=eaten", run + "?wait=1", run + "?wait=x", run + "/result", run + "/steps",
		"/v1/flow/" + k.ids["flow_id"] + "/deliveries", "/v1/flow/" + k.ids["flow_id"] + "/deliveries?limit=x"} {
		k.ask("all", "GET", path, nil)
	}
	tag := k.ask("all", "GET", run, nil).header.Get("ETag")
	k.ask("all", "GET", run, nil, "If-None-Match: "+tag)
	k.ask("all", "GET", run+"/events", nil, "Accept: text/event-stream")
	k.ask("all", "GET", run+"/events", nil, "Accept: text/event-stream", "Last-Event-ID: 999")
	k.ask("all", "GET", run+"/events", nil, "Accept: text/event-stream", "Last-Event-ID: x")
	k.ask("all", "POST", run+"/cancel", nil)
	failed := k.ask("all", "POST", "/v1/flow/"+k.ids["failing"]+"/run", object{"n": "1"}, "Prefer: wait=30").run(k.t)
	k.ask("all", "GET", failed.path(), nil)
	k.ask("all", "GET", failed.path()+"/result", nil)
	k.ask("all", "POST", "/v1/deliveries/"+k.ids["delivery_id"]+"/redeliver", nil)
}

func (k *contract) files() {
	path := "/v1/files/" + k.ids["file_id"]
	tag := k.ask("all", "GET", path, nil).header.Get("ETag")
	for _, method := range []string{"GET", "HEAD"} {
		for _, h := range []string{"Accept: */*", "Range: bytes=0-1", "Range: bytes=99-", "If-None-Match: " + tag, `If-Match: "other"`} {
			k.ask("all", method, path, nil, h)
		}
	}
	k.ask("all", "POST", "/v1/files", []byte("--x--"), "Content-Type: multipart/form-data; boundary=x")
	k.ask("all", "DELETE", "/v1/files/"+k.upload("gone"), nil)
}

// protocol calls the methods of the Model Context Protocol.
func (k *contract) protocol() {
	message := func(method string, params object) object {
		return object{"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
	}
	newest := []string{"Mcp-Protocol-Version: 2026-07-28"}
	meta := object{"_meta": object{"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": object{}}}
	k.ask("all", "POST", "/mcp", message("tools/list", object{}))
	k.ask("all", "POST", "/mcp", message("tools/call", object{"name": "greet", "arguments": object{"name": "Ada"}}), "Accept: text/event-stream")
	k.ask("all", "POST", "/mcp", object{"jsonrpc": "2.0", "method": "notifications/initialized"})
	k.ask("all", "POST", "/mcp", message("tools/eat", meta), newest...)
	k.ask("all", "POST", "/mcp", message("tools/list", object{}), newest...)
	k.ask("all", "POST", "/mcp?tools=other", message("tools/list", object{}))
	k.ask("all", "POST", "/mcp", []any{})
	k.ask("all", "POST", "/mcp", message("tools/list", nil), "Content-Type: text/plain")
	k.ask("all", "POST", "/mcp", message("tools/list", nil), "Origin: https://elsewhere.test")
}

// authoring makes, changes and publishes flows.
func (k *contract) authoring() {
	text := "Content-Type: text/plain"
	draft := func(slug, out string) []byte {
		return []byte(`{"schema":"sluice.flow/v1","slug":"` + slug + `","name":"Author","nodes":[{"id":"i","kind":"input","config":{"name":"n"}},{"id":"o","kind":"output","config":{"name":"` + out + `"}}],"edges":[{"from":"i.value","to":"o.value"}]}`)
	}
	invalid := []byte(`{"schema":"sluice.flow/v1","name":"Author","nodes":[{"id":"o","kind":"nothing"}],"edges":[]}`)
	a := k.ask("all", "POST", "/v1/flow", draft("author", "a"))
	path := "/v1/flow/" + a.object(k.t)["flow_id"].(string)
	for _, body := range [][]byte{draft("author", "a"), []byte(`{"schema":"sluice.flow/v1"}`)} {
		k.ask("all", "POST", "/v1/flow", body)
	}
	k.ask("all", "POST", "/v1/flow", draft("other", "a"), text)
	k.ask("run", "POST", "/v1/flow/validate", draft("author", "a"))
	k.ask("all", "POST", "/v1/flow/validate", draft("author", "a"), text)
	for _, end := range []string{"/versions", "/diff", "/document"} {
		k.ask("run", "GET", path+end, nil)
	}
	for _, end := range []string{"/document", "/document?version=draft", "/document?version=x", "/diff", "/diff?from=x", "/diff?from=live&to=draft", "/diff?from=draft&to=live"} {
		k.ask("all", "GET", path+end, nil)
	}

	tag := func() string {
		return "If-Match: " + k.ask("all", "GET", path+"/document?version=draft", nil).header.Get("ETag")
	}
	k.ask("all", "PUT", path, draft("author", "a"))
	k.ask("all", "PUT", path, draft("author", "a"), `If-Match: "other"`)
	k.ask("all", "PUT", path, draft("author", "a"), tag(), text)
	k.ask("all", "PUT", path, []byte(`{"schema":"sluice.flow/v1"}`), tag())
	k.ask("all", "POST", "/v1/flow", draft("second", "a"))
	k.ask("all", "PUT", path, draft("second", "a"), tag())
	k.ask("all", "PUT", path, draft("author", "a"), tag())
	k.ask("all", "POST", path+"/publish", object{})
	k.ask("all", "POST", path+"/publish", object{}, text)
	k.ask("all", "POST", path+"/publish", object{"version": "x"})
	k.ask("all", "PUT", path, draft("author", "b"), tag())
	k.ask("all", "POST", path+"/publish", object{}) // callers would miss the output
	k.ask("all", "GET", path+"/diff", nil)

	k.ask("all", "POST", "/v1/apply", object{"documents": []any{json.RawMessage(draft("applied", "a"))}, "publish": true})
	k.ask("all", "POST", "/v1/apply", object{"documents": []any{json.RawMessage(draft("applied", "b"))}, "publish": true})
	k.ask("all", "POST", "/v1/apply", object{"documents": []any{json.RawMessage(invalid)}, "publish": true})
	k.ask("all", "POST", "/v1/apply", object{}, text)
	k.ask("all", "POST", path+"/archive", object{})
	k.ask("all", "POST", path+"/restore", object{})
}

// approvals asks people and answers.
func (k *contract) approvals() {
	c := k.s.client(k.keys["all"])
	asking := k.s.publish(approving("", nil))
	run := c.start(asking, object{"draft": "a"})
	k.s.waitUntil("the run asks", func() bool { return c.do("GET", run.path(), nil).run(k.t).Status == "waiting" })
	path, yes := run.path()+"/approvals/ask", object{"decision": "approved"}
	k.ask("all", "POST", path, yes) // of its own run
	k.ask("approve", "GET", run.path()+"/approvals", nil)
	k.ask("approve", "POST", path, object{"decision": "perhaps"})
	k.ask("approve", "POST", path, yes, "Content-Type: text/plain")
	k.ask("approve", "POST", path, yes, "Accept: text/html")
	k.ask("approve", "POST", run.path()+"/approvals/other", yes)
	k.ask("approve", "POST", path, yes)
	k.ask("approve", "POST", path, yes)
	c.await(run)
	c.want(204, "DELETE", run.path(), nil)
	k.ask("approve", "GET", run.path()+"/approvals", nil)
	k.ask("approve", "POST", path, yes)
}

// children maps a list through another flow.
func (k *contract) children() {
	c := k.s.client(k.keys["all"])
	double := k.s.publish(documentOf("Echo", []object{input("n"), output("double")}, "n.value > out_double.value"))
	run := c.await(c.start(k.s.publish(mapping(double, nil)), object{"list": []any{"1", "2", "3"}}))
	path := run.path() + "/children"
	k.ask("all", "GET", path, nil)
	k.ask("all", "GET", path+"?limit=2&status=succeeded", nil)
	k.ask("all", "GET", path+"?limit=0", nil)
	var page struct {
		Children []struct {
			RunID string `json:"run_id"`
		}
		NextCursor string `json:"next_cursor"`
	}
	if err := json.Unmarshal(c.want(200, "GET", path+"?limit=2", nil).body, &page); err != nil || len(page.Children) != 2 || page.NextCursor == "" {
		k.t.Fatalf("the page is %+v, %v", page, err)
	}
	k.ask("all", "GET", path+"?cursor="+page.NextCursor, nil)
	k.ask("all", "GET", runPath(double, page.Children[0].RunID), nil)
	c.want(204, "DELETE", run.path(), nil)
	k.ask("all", "GET", path, nil)
}

// credentials sets, tests and removes a credential.
func (k *contract) credentials() {
	path, hook := "/v1/credentials/hook", object{"secret": "a secret of the test", "hosts": []string{"api.example.com"}}
	k.ask("all", "PUT", path, hook)
	k.ask("all", "PUT", path, object{})
	k.ask("all", "PUT", path, hook, "Content-Type: text/plain")
	k.ask("all", "PUT", path, []any{})
	k.ask("all", "GET", path, nil)
	k.ask("all", "POST", path+"/test", nil)
	k.ask("all", "DELETE", path, nil)
}

func (k *contract) manageKeys() {
	all, one := "/v1/keys", "/v1/keys/"+k.ids["key_id"]
	k.ask("all", "POST", all, object{"name": "another", "scopes": []string{"run"}, "rpm": 5})
	k.ask("all", "POST", all, object{})
	k.ask("all", "GET", all, nil)
	k.ask("all", "GET", all+"?limit=0", nil)
	k.ask("all", "GET", one, nil)
	k.ask("all", "PATCH", one, object{"usd_per_day": 2.5})
	k.ask("all", "PATCH", one, object{"rpm": 0})
	k.ask("all", "POST", one+"/rotate", nil)
	k.ask("all", "POST", one+"/rotate", object{"overlap_s": -1})
	for _, at := range [][2]string{{"POST", all}, {"PATCH", one}, {"POST", one + "/rotate"}} {
		k.ask("all", at[0], at[1], object{}, "Content-Type: text/plain")
		k.ask("all", at[0], at[1], []any{})
	}
	k.ask("all", "DELETE", one+"?cascade=x", nil)
	k.ask("all", "DELETE", one+"?cascade=true", nil)
	k.ask("all", "GET", "/v1/credentials", nil)
	k.ask("all", "GET", "/v1/users", nil)
}

// atRandom sends requests with values that are almost valid.
func (k *contract) atRandom(n int) {
	r := rand.New(rand.NewPCG(20260131, 8))
	odd := []string{"", "0", "-1", "x", "null", "%C3%BCn", "%00", "2026-01-31T12:00:00Z", "succeeded", "99999999999999999999"}
	one := func(list ...string) string { return list[r.IntN(len(list))] }
	paths := []string{}
	for template := range k.document["paths"].(object) {
		if !strings.HasSuffix(template, "/archive") { // the flow is still needed
			paths = append(paths, template)
		}
	}
	slices.Sort(paths)
	for range n {
		template := one(paths...)
		for _, method := range []string{"GET", "POST"} {
			if _, there := k.document["paths"].(object)[template].(object)[strings.ToLower(method)]; !there || template == "/readyz" {
				continue
			}
			path := fill(template, k.ids) + "?" + one("wait", "limit", "cursor", "status", "created_after", "x") + "=" + one(odd...)
			var body any
			if method == "POST" {
				body = object{one("name", "nam", "from", "inputs", "run_options"): []any{one(odd...), r.IntN(9), nil, object{one(odd...): 1}, []any{}}[r.IntN(5)]}
			}
			k.ask(one("all", "run", "read"), method, path, body, one("Accept: */*", "Prefer: wait="+one(odd[:4]...), "If-None-Match: *", "Last-Event-ID: "+one(odd[:4]...)))
		}
	}
}

// erasures deletes objects and requests them again.
func (k *contract) erasures() {
	run := runPath(k.ids["flow_id"], k.ids["run_id"])
	c := k.s.client(k.keys["all"])
	once := []string{"Prefer: wait=30", "Idempotency-Key: a"}
	path := "/v1/flow/" + k.ids["flow_id"] + "/run"
	twin := k.ask("all", "POST", path, object{"name": "Ada"}, once...).run(k.t)
	k.ask("all", "POST", path, object{"name": "Bob"}, once...)
	again := k.ask("all", "POST", run+"/rerun", object{}, "Prefer: wait=30", "Idempotency-Key: b").run(k.t)
	c.want(204, "DELETE", again.path(), nil)
	k.ask("all", "POST", run+"/rerun", object{}, "Prefer: wait=30", "Idempotency-Key: b")
	k.ask("all", "DELETE", twin.path(), nil)
	k.ask("all", "POST", path, object{"name": "Ada"}, once...)
	c.want(204, "DELETE", run, nil)
	for _, end := range []string{"", "/result", "/steps"} {
		k.ask("all", "GET", run+end, nil)
	}
	k.ask("all", "GET", run+"/events", nil, "Accept: text/event-stream")
	k.ask("all", "POST", "/v1/deliveries/"+k.ids["delivery_id"]+"/redeliver", nil)
}

// unprovoked are the responses that a client cannot provoke, with the reasons.
var unprovoked = map[string]string{
	"500": "an internal error", "503": "a full disk, an overload or a shutdown",
	"PUT /v1/credentials/{name} 404": "it creates what is missing", "GET /v1/webhook-secret 403": "any scope will do, and every key has one", "GET /v1/kinds 403": "every key has some scope",
	"402": "spending money", "413": "Prism hangs when it is answered before it has sent all; the tests of handlers/api hold these answers against the document",
}

// missing returns the described responses that were never seen.
func (k *contract) missing() {
	for template, item := range k.document["paths"].(object) {
		for method, op := range item.(object) {
			for status := range op.(object)["responses"].(object) {
				at := strings.ToUpper(method) + " " + template + " " + status
				if !k.seen[at] && unprovoked[status] == "" && unprovoked[at] == "" && template != "/readyz" {
					k.t.Errorf("%s is described and was never seen", at)
				}
			}
		}
	}
	k.t.Logf("%d kinds of answers", len(k.seen))
}
