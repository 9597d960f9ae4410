package api

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"sluice/e2e/need"
	"sluice/flow"
	"sluice/handlers/api/openapi"
)

// validateDocument uses two independent validators: the official JSON Schema of OpenAPI 3.1,
// and a library that also checks references and examples.
func validateDocument(t *testing.T, document []byte) {
	t.Helper()
	official, err := os.ReadFile("testdata/openapi-3.1.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(official))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.AddResource("https://api.test/official.json", v); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("https://api.test/official.json")
	if err != nil {
		t.Fatal(err)
	}
	d, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(d); err != nil {
		t.Errorf("the official schema says: %v", err)
	}
	read, err := openapi3.NewLoader().LoadFromData(document)
	if err != nil {
		t.Fatal(err)
	}
	if err := read.Validate(t.Context(), openapi3.EnableExamplesValidation()); err != nil {
		t.Errorf("kin-openapi says: %v", err)
	}
	validateSchemas(t, document)
}

// validateSchemas compiles every component and validates its examples.
func validateSchemas(t *testing.T, document []byte) {
	t.Helper()
	c := newContract(document)
	for name, s := range dig(c.document, "components", "schemas").(map[string]any) {
		examples, _ := dig(s, "examples").([]any)
		if len(examples) == 0 {
			if err := c.validate("/components/schemas/"+name, []byte(`{}`)); err != nil && strings.Contains(err.Error(), "schema at") {
				t.Errorf("%s: %v", name, err)
			}
		}
		for _, e := range examples {
			if err := c.validate("/components/schemas/"+name, flow.EncodeJSON(e)); err != nil {
				t.Errorf("example of %s: %v", name, err)
			}
		}
	}
}

func TestAPIDocument(t *testing.T) {
	t.Parallel()
	need.Time(t)
	w := setup(t)
	a := w.send(request{method: "GET", path: "/v1/openapi.json", key: "-"})
	a.want(t, 200)
	a.wantFields(t, map[string]any{"openapi": "3.1.0", "info.version": "1.2.3", "servers": []any{map[string]any{"url": publicURL}}})
	validateDocument(t, a.raw)
	paths := a.body["paths"].(map[string]any)
	for _, r := range w.server.routes {
		if r.Doc.ID != "" && dig(paths, pathOf(r.Path), strings.ToLower(r.Method), "responses") == nil {
			t.Errorf("%s %s is not described", r.Method, r.Path)
		}
	}
	for _, op := range []string{"startRun", "showRun", "rerun", "streamEvents", "createFile", "showFile", "eraseFile"} {
		if !strings.Contains(string(a.raw), `"operationId":"`+op+`"`) {
			t.Errorf("no operation %s", op)
		}
	}
	if regexp.MustCompile(`\b(flow|handlers)\.[A-Za-z]`).Match(a.raw) {
		t.Error("a Go type shows")
	}
}

func TestFlowDocument(t *testing.T) {
	t.Parallel()
	need.Time(t)
	w := setup(t)
	a := w.get("/v1/flow/" + w.echo + "/openapi.json")
	a.want(t, 200)
	validateDocument(t, a.raw)
	a.wantFields(t, map[string]any{"info": map[string]any{"title": "Answer a ticket", "description": "Answers.", "version": "1"}})
	for path := range a.body["paths"].(map[string]any) {
		if !strings.HasPrefix(path, "/v1/flow/"+w.echo) {
			t.Errorf("it describes %s too", path)
		}
	}
	c := newContract(a.raw)
	run := w.endedRun(w.echo, `{"ticket": "a"}`)
	if err := c.validate("/components/schemas/Run", w.get(run).raw); err != nil {
		t.Error(err)
	}
	if err := c.validate("/components/schemas/Outputs", w.get(run+"/result").raw); err != nil {
		t.Error(err)
	}
	if err := c.validate("/components/schemas/Outputs", []byte(`{"other": 1}`)); err == nil {
		t.Error("the result may hold anything")
	}
}

// TestFlowDocumentWithFiles checks that the document of a flow with a file input has the upload.
func TestFlowDocumentWithFiles(t *testing.T) {
	t.Parallel()
	need.Time(t)
	w := setup(t)
	document := func(more string) string {
		return `{"schema": "sluice.flow/v1", "name": "Look", "nodes": [
			{"id": "photo", "kind": "input", "config": {"name": "photo", "type": "file", "description": "What to look at.", "accept": ["image/*"]` + more + `}},
			{"id": "out", "kind": "output", "config": {"name": "out"}}], "edges": [{"from": "photo.value", "to": "out.value"}]}`
	}
	for name, more := range map[string]string{"no example": "", "an invalid example": `, "example": "cat.png"`, "an example": `, "example": {"file": "` + openapi.ExampleFileID + `"}`} {
		id := w.addFlow("default", document(more))
		a := w.get("/v1/flow/" + id + "/openapi.json")
		a.want(t, 200)
		validateDocument(t, a.raw)
		for path, method := range map[string]string{"/v1/files": "post", "/v1/files/{file_id}": "get"} {
			if dig(a.body["paths"], path, method) == nil {
				t.Errorf("%s: %s %s is not described", name, method, path)
			}
		}
		c := newContract(a.raw)
		for body, ok := range map[string]bool{
			`{"photo": {"file": "` + openapi.ExampleFileID + `"}}`:                                true,
			`{"photo": {"file": "` + openapi.ExampleFileID + `", "url": "https://x", "more": 1}}`: true,
			`{"photo": {"file": "report.pdf"}}`:                                                   false, `{"photo": "cat.png"}`: false, `{"photo": {}}`: false,
		} {
			if err := c.validate("/components/schemas/StartRun", []byte(body)); (err == nil) != ok {
				t.Errorf("%s: %s is %v", name, body, err)
			}
		}
		text := w.get("/v1/flow/" + id).field("inputs.properties.photo.description").(string)
		if !strings.HasPrefix(text, "What to look at.") || !strings.Contains(text, "POST /v1/files") {
			t.Errorf("%s: the input says %q", name, text)
		}
	}
}

// TestFlowDocumentAgreesWithTheServer checks that the server accepts exactly the inputs that
// are valid in the document.
func TestFlowDocumentAgreesWithTheServer(t *testing.T) {
	t.Parallel()
	w := setup(t)
	c := newContract(w.get("/v1/flow/" + w.echo + "/openapi.json").raw)
	for _, body := range []string{
		`{"ticket": "a"}`, `{"ticket": ""}`, `{}`, `{"ticket": 3}`, `{"ticket": "a", "tone": "formal"}`, `{"ticket": "a", "tone": "rude"}`,
		`{"ticket": "a", "times": 9}`, `{"ticket": "a", "times": 10}`, `{"ticket": "a", "times": "3"}`, `{"ticket": "a", "more": 1}`,
		`{"ticket": "a", "run_options": {}}`, `{"ticket": "a", "run_options": {"save": false, "timeout_s": 5, "metadata": {"a": 1}}}`,
		`{"ticket": "a", "run_options": {"timeout_s": 0}}`, `{"ticket": "a", "run_options": {"version": "x"}}`, `{"ticket": "a", "run_options": {"version": 1}}`,
		`{"ticket": "a", "run_options": {"version": 0}}`, `{"ticket": "a", "run_options": {"webhook": {"url": "https://example.com"}}}`,
		`{"ticket": "a", "run_options": {"webhook": {}}}`, `{"ticket": "a", "run_options": {"webhook": {"url": "https://example.com", "secret": "x"}}}`,
		`{"ticket": "a", "run_options": {"metadata": []}}`, `{"ticket": "a", "run_options": {"unknown": 1}}`, `{"ticket": "a", "run_options": {"save": null, "metadata": null}}`,
	} {
		described := c.validate("/components/schemas/StartRun", []byte(body))
		a := w.post("/v1/flow/"+w.echo+"/run", body)
		if (described == nil) != (a.status == 202) {
			t.Errorf("%s: the document says %v, the server %d %s", body, described, a.status, a.raw)
		}
	}
}

// TestResponses_match_the_OpenAPI_document sends typical requests; send validates every response
// against the document.
func TestResponses_match_the_OpenAPI_document(t *testing.T) {
	t.Parallel()
	w := setup(t)
	manager := w.addKey(flow.Key{Scopes: []flow.Scope{flow.ScopeRun, flow.ScopeRead, flow.ScopeManage}})
	run, failed, held := w.endedRun(w.echo, `{"ticket": "a"}`), w.endedRun(w.failing, `{}`), w.heldRun("never")
	w.store.mu.Lock()
	id := w.ids.New(flow.PrefixDelivery)
	w.store.deliveries = append(w.store.deliveries, flow.DeliveryRecord{Delivery: flow.Delivery{ID: id, WorkspaceID: "default", FlowID: flow.FlowID(w.echo), Body: []byte(`{}`), State: flow.DeliveryPending}, Attempts: []flow.DeliveryAttempt{{Number: 1}}})
	w.store.mu.Unlock()
	before := wholeAPI().count()
	for _, r := range []request{
		{method: "GET", path: "/livez"}, {method: "GET", path: "/readyz"}, {method: "GET", path: "/v1/openapi.json"},
		{method: "GET", path: "/v1/flow"}, {method: "GET", path: "/v1/flow/" + w.echo}, {method: "GET", path: "/v1/flow/" + w.unpublished},
		{method: "GET", path: "/v1/flow/" + w.echo + "/openapi.json"}, {method: "GET", path: "/v1/flow/" + w.echo + "/runs"},
		{method: "GET", path: run}, {method: "GET", path: run + "/result"}, {method: "GET", path: run + "/steps"}, {method: "POST", path: run + "/cancel"},
		{method: "POST", path: run + "/rerun", body: `{}`}, {method: "GET", path: failed}, {method: "GET", path: failed + "/result"}, {method: "GET", path: failed + "/steps"},
		{method: "GET", path: held}, {method: "GET", path: held + "/result"}, {method: "GET", path: held + "/steps"}, {method: "DELETE", path: held},
		{method: "GET", path: "/v1/flow/" + w.echo + "/deliveries"}, {method: "POST", path: "/v1/deliveries/" + id + "/redeliver"},
		{method: "DELETE", path: run}, {method: "GET", path: run}, {method: "GET", path: run + "/result"},
	} {
		r.key = manager
		w.send(r)
	}
	if wholeAPI().count() == before && before == 0 {
		t.Error("nothing was held against the document")
	}
	example := wholeAPI().validate("/components/schemas/RunEnded", []byte(`{"type": "run.succeeded", "timestamp": "2026-01-31T12:00:00.000Z", "data": `+string(w.get(failed).raw)+`}`))
	if example != nil {
		t.Error(example)
	}
}
