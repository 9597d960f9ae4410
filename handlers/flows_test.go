package handlers_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"sluice/flow"
	"sluice/handlers/webtest"
)

// program calls the API with a key.
type program struct {
	*webtest.Env
	key string
}

func newProgram(h *webtest.Env, scopes []flow.Scope, flows ...string) *program {
	h.T.Helper()
	text := flow.NewKeyText()
	k := &flow.Key{WorkspaceID: flow.DefaultWorkspace, Name: "CI", Prefix: text[:flow.KeyShown], Hash: flow.Hash([]byte(text)), Scopes: scopes, Flows: flows}
	if err := h.Store.CreateKey(h.T.Context(), k); err != nil {
		h.T.Fatal(err)
	}
	return &program{h, text}
}

// send returns the body of a response with the status, and its ETag.
func (p *program) send(status int, method, path, body string, headers ...string) (map[string]any, string) {
	p.T.Helper()
	r, err := http.NewRequestWithContext(p.T.Context(), method, p.Http.URL+"/v1/"+path, strings.NewReader(body))
	if err != nil {
		p.T.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+p.key)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	a, err := p.Http.Client().Do(r)
	if err != nil {
		p.T.Fatal(err)
	}
	defer a.Body.Close()
	data, err := io.ReadAll(a.Body)
	if err != nil {
		p.T.Fatal(err)
	}
	if a.StatusCode != status {
		p.T.Fatalf("%s %s: %d %s, want %d", method, path, a.StatusCode, data, status)
	}
	var v map[string]any
	if err := json.Unmarshal(data, &v); err != nil {
		p.T.Fatalf("%s %s: %v in %s", method, path, err, data)
	}
	return v, a.Header.Get("ETag")
}

func greet(slug, output string) string {
	return fmt.Sprintf(`{"schema":"sluice.flow/v1","slug":%q,"name":"Greet","nodes":[
 {"id":"who","kind":"input","config":{"name":"who","type":"text"}},
 {"id":"out","kind":"output","config":{"name":%q}}],
 "edges":[{"from":"who.value","to":"out.value"}]}`, slug, output)
}

func TestEditFlowsOverHTTP(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	p := newProgram(h, []flow.Scope{flow.ScopeEdit, flow.ScopeRead})

	made, _ := p.send(201, "POST", "flow", greet("greet", "text"))
	if made["slug"] != "greet" {
		t.Errorf("created %v", made)
	}
	if e, _ := p.send(409, "POST", "flow", greet("greet", "text")); e["code"] != "slug_taken" {
		t.Errorf("a second flow with the slug: %v", e)
	}
	document, tag := p.send(200, "GET", "flow/greet/document?version=draft", "")
	if document["slug"] != "greet" || tag == "" {
		t.Errorf("the document is %v, its ETag %q", document, tag)
	}
	p.send(428, "PUT", "flow/greet", greet("greet", "words"))
	p.send(200, "POST", "flow/greet/publish", `{"notes": "first"}`)

	// The draft changes under a new slug; the former one still finds it.
	p.send(200, "PUT", "flow/greet", greet("hello", "words"), "If-Match", tag)
	p.send(412, "PUT", "flow/greet", greet("hello", "text"), "If-Match", tag)
	if f, _ := p.send(200, "GET", "flow/greet", ""); f["slug"] != "hello" || f["flow_id"] != made["flow_id"] {
		t.Errorf("the alias finds %v", f)
	}
	edits, err := h.Store.ListEdits(t.Context(), flow.DefaultWorkspace, flow.FlowID(made["flow_id"].(string)), 0, 10)
	if err != nil || len(edits) != 1 {
		t.Errorf("the edit log has %v, %v", edits, err)
	}

	diff, _ := p.send(200, "GET", "flow/hello/diff", "")
	if b := diff["breaking"].([]any); len(b) != 1 || b[0].(map[string]any)["role"] != "output" || b[0].(map[string]any)["name"] != "text" {
		t.Errorf("the diff is %v", diff)
	}
	refused, _ := p.send(409, "POST", "flow/hello/publish", "")
	if refused["code"] != "breaking_change" || len(refused["diffs"].([]any)) != 1 {
		t.Errorf("a breaking publish: %v", refused)
	}
	if v, _ := p.send(200, "POST", "flow/hello/publish", `{"allow_breaking": true}`); v["version"] != 2.0 {
		t.Errorf("published %v", v)
	}
	if list, _ := p.send(200, "GET", "flow/hello/versions", ""); len(list["versions"].([]any)) != 2 {
		t.Errorf("versions: %v", list)
	}

	p.send(200, "POST", "flow/hello/archive", "")
	p.send(404, "GET", "flow/hello", "")
	p.send(200, "POST", "flow/hello/restore", "")
	p.send(200, "GET", "flow/hello", "")

	bad, _ := p.send(200, "POST", "flow/validate", `{"schema":"sluice.flow/v1","name":"x","slug":"Not A Slug","nodes":[]}`)
	if bad["valid"] != false || len(bad["errors"].([]any)) < 2 {
		t.Errorf("validate: %v", bad)
	}
	log, err := h.Store.ListAudit(t.Context(), flow.DefaultWorkspace, "", 50)
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, e := range log {
		if strings.HasPrefix(e.Actor, flow.PrefixKey) {
			count[e.Action]++
		}
	}
	if got := fmt.Sprint(count); got != "map[flow.archive:1 flow.create:1 flow.edit:1 flow.publish:2 flow.rename:1 flow.restore:1]" {
		t.Errorf("the audit log has %s", got)
	}
}

func TestApply(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	p := newProgram(h, []flow.Scope{flow.ScopeEdit, flow.ScopeRead})
	changes := func(a map[string]any) string {
		var list []string
		for _, f := range a["flows"].([]any) {
			f := f.(map[string]any)
			list = append(list, fmt.Sprint(f["slug"], " ", f["change"], " ", f["version"]))
		}
		return strings.Join(list, "; ")
	}
	apply := func(status int, options string, documents ...string) map[string]any {
		t.Helper()
		a, _ := p.send(status, "POST", "apply", `{"source": "repo", "documents": [`+strings.Join(documents, ",")+`]`+options+`}`)
		return a
	}
	want := func(what string, a map[string]any, want string) {
		t.Helper()
		if got := changes(a); got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	one, two := greet("one", "text"), greet("two", "text")
	want("dry run", apply(200, `, "dry_run": true, "publish": true`, one, two), "one created <nil>; two created <nil>")
	p.send(404, "GET", "flow/one", "")
	want("first", apply(200, `, "publish": true`, one, two), "one created 1; two created 1")
	want("again", apply(200, `, "publish": true`, one, two), "one unchanged 1; two unchanged 1")

	// One bad document, or one breaking change, and nothing is applied.
	if e := apply(422, ``, greet("three", "text"), `{"name": "x"}`); e["code"] != "document_invalid" || !strings.Contains(fmt.Sprint(e["errors"]), "/documents/1/") {
		t.Errorf("an invalid document: %v", e)
	}
	if e := apply(409, `, "publish": true`, greet("three", "text"), greet("one", "words")); e["code"] != "breaking_change" {
		t.Errorf("a breaking change: %v", e)
	}
	p.send(404, "GET", "flow/three", "")

	// An edit outside of apply is not overwritten.
	_, tag := p.send(200, "GET", "flow/two/document?version=draft", "")
	p.send(200, "PUT", "flow/two", greet("two", "edited"), "If-Match", tag)
	if e := apply(409, ``, one, greet("two", "applied")); e["code"] != "draft_changed" {
		t.Errorf("an edited draft: %v", e)
	}
	want("force", apply(200, `, "force": true`, one, greet("two", "applied")), "one unchanged 1; two changed 1")

	// Prune archives what came from the same source; applying restores it.
	other, _ := p.send(201, "POST", "flow", greet("other", "text"))
	want("prune", apply(200, `, "prune": true`, one), "one unchanged 1; two archived 1")
	p.send(404, "GET", "flow/two", "")
	p.send(200, "GET", "flow/other", "")
	want("restore", apply(200, ``, one, greet("two", "applied")), "one unchanged 1; two changed 1")
	p.send(200, "GET", "flow/two", "")

	// A key with a list changes only its flows.
	p = newProgram(h, []flow.Scope{flow.ScopeEdit}, other["flow_id"].(string))
	want("listed", apply(200, ``, greet("other", "text")), "other unchanged <nil>")
	for _, options := range []string{``, `, "prune": true`} {
		if e := apply(403, options, greet("new-one", "text")); e["code"] != "flow_not_allowed" {
			t.Errorf("a key with a list: %v", e)
		}
	}
	apply(403, ``, one)
	p.send(403, "POST", "flow", greet("mine", "text"))
}

// TestImportFlows imports documents over HTTP: all or none, each as a new flow, and none with
// a secret.
func TestImportFlows(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	p := newProgram(h, []flow.Scope{flow.ScopeEdit, flow.ScopeRead})
	count := func() int {
		list, _ := p.send(200, "GET", "flow?limit=100", "")
		return len(list["flows"].([]any))
	}
	before := count()
	two, _ := p.send(201, "POST", "flow/import", `{"documents": [`+greet("twin", "text")+`, `+greet("twin", "words")+`], "publish": true}`)
	var slugs []string
	for _, f := range two["flows"].([]any) {
		slugs = append(slugs, fmt.Sprint(f.(map[string]any)["slug"], f.(map[string]any)["version"]))
	}
	if strings.Join(slugs, " ") != "twin1 twin-21" || count() != before+2 {
		t.Errorf("imported %v", two)
	}
	draft, _ := p.send(201, "POST", "flow/import", `{"documents": [`+greet("twin", "text")+`]}`)
	if f := draft["flows"].([]any)[0].(map[string]any); f["slug"] != "twin-3" || f["version"] != nil {
		t.Errorf("imported %v", draft)
	}
	refused, _ := p.send(422, "POST", "flow/import", `{"documents": [`+greet("other", "text")+`, {"schema": "sluice.flow/v1", "name": "Bad", "nodes": [{"id": "a", "kind": "none"}]}]}`)
	if problems := refused["errors"].([]any); !strings.HasPrefix(problems[0].(map[string]any)["pointer"].(string), "/documents/1/") || count() != before+3 {
		t.Errorf("refused with %v", refused)
	}
	secret := `{"schema":"sluice.flow/v1","name":"Secret","nodes":[{"id":"r","kind":"http_request","config":{"url":"https://api.example.com/?api_key=sk-in-a-document"}},
		{"id":"out","kind":"output","config":{"name":"out"}}],"edges":[{"from":"r.text","to":"out.value"}]}`
	if e, _ := p.send(422, "POST", "flow/import", `{"documents": [`+secret+`]}`); e["code"] != "secret_in_document" || strings.Contains(fmt.Sprint(e), "sk-in-a-document") || count() != before+3 {
		t.Errorf("a secret: %v", e)
	}
	p.send(422, "POST", "flow/import", `{}`)
	p.send(422, "POST", "flow/import", `{"documents": [], "prune": true}`)
	narrow := newProgram(h, flow.Scopes, h.PublishedFlow(webtest.Greeting))
	narrow.send(403, "POST", "flow/import", `{"documents": [`+greet("x", "text")+`]}`)
}

// TestApply_takes_an_alias_on_request applies a document with a former slug of another flow: it is refused with the
// name of that flow and the keys that use the slug, and makes a new flow on request.
func TestApply_takes_an_alias_on_request(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	p := newProgram(h, []flow.Scope{flow.ScopeEdit, flow.ScopeRead})
	made, _ := p.send(201, "POST", "flow", greet("greet", "text"))
	_, tag := p.send(200, "GET", "flow/greet/document?version=draft", "")
	p.send(200, "PUT", "flow/greet", greet("hello", "text"), "If-Match", tag)
	const calls = 3
	for range calls { // requests with the current slug and the ID do not count
		p.send(200, "GET", "flow/greet", "")
		p.send(200, "GET", "flow/hello", "")
		p.send(200, "GET", "flow/"+made["flow_id"].(string), "")
	}
	apply := func(status int, options string) map[string]any {
		t.Helper()
		a, _ := p.send(status, "POST", "apply", `{"documents": [`+greet("greet", "words")+`]`+options+`}`)
		return a
	}
	alias := func(diff any) map[string]any {
		t.Helper()
		a, _ := diff.(map[string]any)["alias"].(map[string]any)
		if a["slug"] != "greet" || a["flow_id"] != made["flow_id"] || a["flow_slug"] != "hello" || a["flow_name"] != "Greet" {
			t.Fatalf("the diff has the alias %v", diff)
		}
		return a
	}
	var refused map[string]any
	for used := 0.0; used < calls; { // uses are stored within seconds
		refused = apply(409, ``)
		for _, k := range alias(refused["diffs"].([]any)[0])["keys"].([]any) {
			if k := k.(map[string]any); k["name"] == "CI" {
				used = k["calls_30d"].(float64)
			}
		}
		if used > calls {
			t.Fatalf("%v requests with the former slug, want %d", used, calls)
		}
	}
	if refused["code"] != "slug_taken" || !strings.Contains(refused["detail"].(string), `"Greet"`) {
		t.Errorf("refused with %v", refused)
	}
	apply(409, `, "dry_run": true`)
	if dry := apply(200, `, "take_alias": true, "dry_run": true`); dry["flows"].([]any)[0].(map[string]any)["change"] != "created" {
		t.Errorf("a dry run: %v", dry)
	}
	if f, _ := p.send(200, "GET", "flow/greet", ""); f["flow_id"] != made["flow_id"] {
		t.Errorf("after refusals and a dry run, the alias names %v", f)
	}
	taken := apply(200, `, "take_alias": true, "publish": true`)["flows"].([]any)[0].(map[string]any)
	alias(taken["diff"])
	if f, _ := p.send(200, "GET", "flow/greet", ""); f["flow_id"] != taken["flow_id"] || f["flow_id"] == made["flow_id"] {
		t.Errorf("the slug names %v, want the new flow %v", f["flow_id"], taken["flow_id"])
	}
	if f, _ := p.send(200, "GET", "flow/hello", ""); f["flow_id"] != made["flow_id"] {
		t.Errorf("the other flow is %v", f)
	}
	// A key that may not change the flow with the slug is not told about it.
	p = newProgram(h, []flow.Scope{flow.ScopeEdit}, taken["flow_id"].(string))
	if e, _ := p.send(403, "POST", "apply", `{"documents": [`+greet("hello", "text")+`]}`); strings.Contains(fmt.Sprint(e), "Greet") {
		t.Errorf("a key with a list: %v", e)
	}
}

// TestApply_converts_exports applies an export of AI-Flow: the response says what the flow lacks.
func TestApply_bounds_documents_and_problems(t *testing.T) {
	t.Parallel()
	p := newProgram(webtest.Setup(t), []flow.Scope{flow.ScopeEdit, flow.ScopeRead})
	for _, path := range []string{"apply", "flow/import"} {
		for n, want := range map[int]int{10_001: 1, 10_000: 1000, 999: 999} {
			a, _ := p.send(422, "POST", path, `{"documents": [`+strings.Repeat(`1,`, n-1)+`1]}`)
			if list := a["errors"].([]any); len(list) != want {
				t.Errorf("%s of %d documents lists %d problems, want %d", path, n, len(list), want)
			}
		}
	}
}

func TestApply_converts_exports(t *testing.T) {
	t.Parallel()
	p := newProgram(webtest.Setup(t), []flow.Scope{flow.ScopeEdit, flow.ScopeRead})
	export, err := os.ReadFile("../flow/document/aiflow/testdata/summary.json")
	if err != nil {
		t.Fatal(err)
	}
	apply := func() map[string]any {
		t.Helper()
		a, _ := p.send(200, "POST", "apply", `{"documents": [{"slug": "shorten", "ai_flow": `+string(export)+`}, `+greet("greet", "text")+`]}`)
		return a
	}
	list := apply()["flows"].([]any)
	if f := list[1].(map[string]any); f["losses"] != nil {
		t.Errorf("a document has losses: %v", f)
	}
	kinds := map[string]string{}
	for _, l := range list[0].(map[string]any)["losses"].([]any) {
		l := l.(map[string]any)
		kinds[l["kind"].(string)] += l["text"].(string)
	}
	for kind, want := range map[string]string{"left": "selectors, with_html_tags", "changed": "display", "needed": "openai"} {
		if !strings.Contains(kinds[kind], want) {
			t.Errorf("losses of the kind %s lack %q: %v", kind, want, kinds)
		}
	}
	if kinds["mapped"] != "" || strings.Contains(fmt.Sprint(kinds), "sk-live") {
		t.Errorf("losses %v", kinds)
	}
	if d, _ := p.send(200, "GET", "flow/shorten/document?version=draft", ""); len(d["nodes"].([]any)) != 7 {
		t.Errorf("the flow is %v", d)
	}
	if again := apply()["flows"].([]any)[0].(map[string]any); again["change"] != "unchanged" {
		t.Errorf("applied again: %v", again)
	}
	if e, _ := p.send(422, "POST", "apply", `{"documents": [{"ai_flow": [{"x": 1}]}]}`); !strings.Contains(fmt.Sprint(e["errors"]), "/documents/0/ai_flow") {
		t.Errorf("another list: %v", e)
	}
}
