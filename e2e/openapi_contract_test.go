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

	"sluice/providers/hosted/hostedtest"
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
	platform := hostedtest.New(t)
	platform.AddModel(hostedtest.Model{Owner: "acme", Name: "paint", Schemas: paint})
	s := newServer(t, "SLUICE_REPLICATE_URL="+platform.URL, "REPLICATE_API_TOKEN="+hostedtest.Secret, "SLUICE_TRUSTED_PROXIES=127.0.0.0/8")
	k := &contract{t: t, s: s, seen: map[string]bool{}, ids: map[string]string{}, keys: map[string]string{"wrong": "slu_wrong"}}
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

// template returns the described path that matches a path: of several, the one with the fewest parameters.
func (k *contract) template(path string) string {
	path, _, _ = strings.Cut(path, "?")
	if k.document["paths"].(object)[path] != nil {
		return path // such as /v1/flow/validate, which /v1/flow/{flow_id} matches too
	}
	parts, found := strings.Split(path, "/"), path
	for template := range k.document["paths"].(object) {
		names := strings.Split(template, "/")
		if len(names) == len(parts) && !slices.ContainsFunc(slices.Collect(indexes(names)), func(i int) bool {
			return names[i] != parts[i] && !strings.HasPrefix(names[i], "{")
		}) {
			if found == path || strings.Count(template, "{") < strings.Count(found, "{") {
				found = template
			}
		}
	}
	return found
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
	k.triggers()
	k.batches()
	k.tests()
	k.companions()
	k.alarms()
	k.knowledge()
	k.children()
	k.credentials()
	k.operators()
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
	k.ids["node"], k.ids["workspace_id"], k.ids["provider"], k.ids["owner"], k.ids["model"] = "hook", "default", "openai", "acme", "paint"
	c.want(200, "PUT", "/v1/flow/"+k.ids["flow_id"]+"/hooks/site", object{"verify": object{"scheme": "none"}})
	c.want(200, "PUT", "/v1/flow/"+k.ids["flow_id"]+"/triggers/nightly", object{"every": "1d"})
	c.want(200, "PUT", "/v1/alarms/loud", object{"kind": "failed", "flow": k.ids["flow_id"]})
	k.ids["alarm"] = "loud"
	c.want(201, "POST", "/v1/knowledge", object{"slug": "help"})
	k.ids["knowledge"], k.ids["document_id"] = "help", "doc_none"
	k.ids["hook"], k.ids["trigger"], k.ids["companion"] = "site", "nightly", "triggers"
	k.ids["failing"] = k.s.publish(calling("http://127.0.0.1:1"))
}

// eachRefusal provokes the errors that all operations with a key have in common.
func (k *contract) eachRefusal() {
	unknown := map[string]string{}
	for name, id := range k.ids {
		prefix, _, _ := strings.Cut(id, "_")
		unknown[name] = prefix + "_" + strings.Repeat("0", 26)
	}
	strangers := 0
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
			if strings.HasSuffix(template, "/events") && !strings.Contains(template, "/triggers/") {
				headers = append(headers, "Accept: text/event-stream")
			}
			k.ask("all", method, path+"?key=x", body, headers...)
			strangers++ // the requests with an invalid key are limited by address
			k.ask("wrong", method, path, body, append(headers, fmt.Sprintf("X-Forwarded-For: 198.51.100.%d", strangers%250))...)
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

const changedMeanwhile = "two changes at the same moment"

// unprovoked are the responses that a client cannot provoke, with the reasons.
var unprovoked = map[string]string{
	"POST /v1/flow/{flow_id}/tests/{test}/marks 204":  "needs a judge; a test of handlers has one",
	"POST /v1/flow/{flow_id}/tests/{test}/retry 409":  "needs a test that is running at that moment",
	"POST /v1/flow/{flow_id}/tests/{test}/retry 410":  "needs a test whose run was deleted after the retention time",
	"POST /v1/flow/{flow_id}/tests/{test}/retry 422":  "needs two requests with one key that differ, or a full queue",
	"POST /v1/flow/{flow_id}/tests/{test}/expect 409": "needs a test that is running at that moment",
	"POST /v1/flow/{flow_id}/cases/from-runs 409":     "needs a run that waits; a test of handlers has one",
	"500": "an internal error", "503": "a full disk, an overload or a shutdown",
	"PUT /v1/credentials/{name} 404": "it creates what is missing", "GET /v1/webhook-secret 403": "any scope will do, and every key has one", "GET /v1/kinds 403": "every key has some scope",
	"PUT /v1/flow/{flow_id}/triggers/{trigger} 412": changedMeanwhile, "DELETE /v1/flow/{flow_id}/triggers/{trigger} 412": changedMeanwhile, "PUT /v1/flow/{flow_id}/hooks/{hook} 412": changedMeanwhile,
	"POST /v1/flow/{flow_id}/triggers/{trigger}/pause 412": changedMeanwhile, "POST /v1/flow/{flow_id}/triggers/{trigger}/resume 412": changedMeanwhile,
	"PUT /v1/timezone 412": changedMeanwhile, "PUT /v1/alarms/{alarm} 412": changedMeanwhile, "DELETE /v1/alarms/{alarm} 412": changedMeanwhile, "POST /v1/alarms/{alarm}/pause 412": changedMeanwhile,
	"POST /v1/alarms/{alarm}/resume 412": changedMeanwhile, "POST /v1/alarms/{alarm}/test 412": changedMeanwhile, "GET /v1/alarms/{alarm}/secret 412": changedMeanwhile,
	"POST /v1/knowledge 503": "an older instance", "PATCH /v1/knowledge/{knowledge} 409": "a rebuild that ends meanwhile", "POST /v1/knowledge/{knowledge}/search 429": "a queue", "POST /v1/knowledge/{knowledge}/documents 429": "a queue", "POST /v1/knowledge/{knowledge}/rebuild 429": "a queue", "PUT /v1/knowledge/{knowledge}/documents 429": "a queue",
	"GET /v1/files/{file_id} 307": "object storage with SLUICE_FILES_REDIRECT=on", "POST /v1/alarms/{alarm}/rotate 412": changedMeanwhile,
	"402": "spending money", "413": "Prism hangs when it is answered before it has sent all; the tests of handlers/api hold these answers against the document",
}

// missing returns the described responses that were never seen.
func (k *contract) missing() {
	for template, item := range k.document["paths"].(object) {
		for method, op := range item.(object) {
			for status := range op.(object)["responses"].(object) {
				at := strings.ToUpper(method) + " " + template + " " + status
				if !k.seen[at] && unprovoked[status] == "" && unprovoked[at] == "" && unprovoked[template] == "" && template != "/readyz" {
					k.t.Errorf("%s is described and was never seen", at)
				}
			}
		}
	}
	k.t.Logf("%d kinds of answers", len(k.seen))
}
