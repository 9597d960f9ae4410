package handlers_test

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"sluice/flow"
	"sluice/flow/knowledge"
	"sluice/handlers/webtest"
)

// The routes of knowledge bases, for the tests of all routes.
func init() {
	maps.Copy(beyondList, map[string]struct{ path, body, code string }{
		"GET /v1/knowledge":                                   {"", ``, "flow_not_allowed"},
		"POST /v1/knowledge":                                  {"", `{"slug": "x"}`, "flow_not_allowed"},
		"GET /v1/knowledge/:knowledge":                        {"", ``, "flow_not_allowed"},
		"PATCH /v1/knowledge/:knowledge":                      {"", `{"name": "x"}`, "flow_not_allowed"},
		"DELETE /v1/knowledge/:knowledge":                     {"", ``, "flow_not_allowed"},
		"GET /v1/knowledge/:knowledge/documents":              {"", ``, "flow_not_allowed"},
		"POST /v1/knowledge/:knowledge/documents":             {"", `{"source": "a", "text": "b"}`, "flow_not_allowed"},
		"PUT /v1/knowledge/:knowledge/documents":              {"?source=a", `{"text": "b"}`, "flow_not_allowed"},
		"DELETE /v1/knowledge/:knowledge/documents":           {"?source=a", ``, "flow_not_allowed"},
		"GET /v1/knowledge/:knowledge/documents/:document_id": {"", ``, "flow_not_allowed"},
		"POST /v1/knowledge/:knowledge/search":                {"", `{"query": "x"}`, "flow_not_allowed"},
		"GET /v1/knowledge/:knowledge/export":                 {"", ``, "flow_not_allowed"},
		"POST /v1/knowledge/:knowledge/rebuild":               {"", `{"model": "openai/text-embedding-3-small"}`, "flow_not_allowed"},
		"POST /v1/knowledge/:knowledge/rebuild/estimate":      {"", `{"model": "openai/text-embedding-3-small"}`, "flow_not_allowed"},
	})
	maps.Copy(writes, map[string]struct{ path, body string }{
		"POST /v1/knowledge":                        {"/v1/knowledge", `{"slug": "made"}`},
		"PATCH /v1/knowledge/:knowledge":            {"/v1/knowledge/help", `{"name": "Help"}`},
		"POST /v1/knowledge/:knowledge/documents":   {"/v1/knowledge/help/documents", `{"source": "a", "text": "some text"}`},
		"PUT /v1/knowledge/:knowledge/documents":    {"/v1/knowledge/help/documents?source=b", `{"text": "some text"}`},
		"DELETE /v1/knowledge/:knowledge/documents": {"/v1/knowledge/help/documents?source=kept", ""},
		"POST /v1/knowledge/:knowledge/rebuild":     {"/v1/knowledge/help/rebuild", `{"model": "openai/text-embedding-3-small"}`},
		"DELETE /v1/knowledge/:knowledge":           {"/v1/knowledge/made", ""},
	})
	unaudited["POST /v1/knowledge/:knowledge/search"] = "changes nothing"
	unaudited["POST /v1/knowledge/:knowledge/rebuild/estimate"] = "changes nothing"
}

// knowledgeEnv is a server with a base, and a key that may do everything.
type knowledgeEnv struct {
	*webtest.Env
	*caller
}

// helpBase creates a base with a document.
func helpBase(h *webtest.Env) *knowledge.Base {
	h.T.Helper()
	b := &knowledge.Base{WorkspaceID: flow.DefaultWorkspace, Slug: "help", Name: "help"}
	b.Settings.Defaults()
	if err := h.Store.CreateBase(h.T.Context(), b); err != nil {
		h.T.Fatal(err)
	}
	_, err := h.Store.PutBaseDocument(h.T.Context(), &knowledge.Put{Base: b, Document: knowledge.Document{Source: "kept", Hash: "x"}, Passages: []knowledge.Passage{{Text: "kept"}}})
	if err != nil {
		h.T.Fatal(err)
	}
	return b
}

func newKnowledge(t *testing.T) *knowledgeEnv {
	t.Helper()
	h := webtest.Setup(t)
	e := &knowledgeEnv{h, newCaller(h, nil, flow.Key{Scopes: flow.Scopes})}
	e.must(201, "POST", "/v1/knowledge", `{"slug": "help"}`)
	return e
}

// must sends a request and returns the body of its response, which must have a status.
func (e *knowledgeEnv) must(status int, method, path, body string) map[string]any {
	e.T.Helper()
	got, code, raw := e.caller.send(method, path, body)
	if got != status {
		e.T.Fatalf("%s %s: %d %s, want %d: %s", method, path, got, code, status, raw)
	}
	o := map[string]any{}
	_ = json.Unmarshal([]byte(raw), &o)
	return o
}

// add adds a document and waits for the end of its run, which it returns.
func (e *knowledgeEnv) add(body string) map[string]any {
	e.T.Helper()
	started := e.must(202, "POST", "/v1/knowledge/help/documents", body)
	return e.ended(started["url"].(string))
}

// ended waits until a run has ended and returns it.
func (e *knowledgeEnv) ended(path string) map[string]any {
	e.T.Helper()
	for {
		run := e.must(200, "GET", path+"?wait=60", "")
		if status := run["status"].(string); flow.RunState(status).Ended() || e.T.Context().Err() != nil {
			return run
		}
	}
}

// sources returns the sources of the hits of a search.
func (e *knowledgeEnv) sources(body string) string {
	e.T.Helper()
	var list []string
	hits, _ := e.must(200, "POST", "/v1/knowledge/help/search", body)["hits"].([]any)
	for _, h := range hits {
		list = append(list, h.(map[string]any)["source"].(string))
	}
	return strings.Join(list, " ")
}

func TestKnowledge_finds_what_was_added_until_it_is_removed(t *testing.T) {
	t.Parallel()
	e := newKnowledge(t)
	run := e.add(`{"source": "refunds.md", "text": "# Refunds\n\nA refund takes five working days.\n\n# Gift cards\n\nGift cards never expire.", "metadata": {"lang": "en"}}`)
	if run["status"] != "succeeded" || run["trigger"] != "index" {
		t.Fatalf("the run: %v", run)
	}
	if document := run["outputs"].(map[string]any)["document"].(map[string]any); document["state"] != "added" || document["title"] != "Refunds" {
		t.Errorf("document: %v", document)
	}
	if again := e.add(`{"source": "refunds.md", "text": "# Refunds\n\nA refund takes five working days.\n\n# Gift cards\n\nGift cards never expire.", "metadata": {"lang": "en"}}`); again["outputs"].(map[string]any)["document"].(map[string]any)["state"] != "unchanged" {
		t.Errorf("equal content: %v", again["outputs"])
	}
	found := e.must(200, "POST", "/v1/knowledge/help/search", `{"query": "how long does a refund take", "where": "metadata.lang == \"en\""}`)
	hit := found["hits"].([]any)[0].(map[string]any)
	if hit["text"] != "A refund takes five working days." || hit["rank_words"] != float64(1) || hit["headings"].([]any)[0] != "Refunds" {
		t.Errorf("hit: %v", hit)
	}
	if got := e.sources(`{"query": "refund", "where": "metadata.lang == \"de\""}`); got != "" {
		t.Errorf("filtered out, but found: %s", got)
	}
	e.must(200, "DELETE", "/v1/knowledge/help/documents?source=refunds.md", "")
	if got := e.sources(`{"query": "refund"}`); got != "" {
		t.Errorf("found after its removal: %s", got)
	}
	e.must(404, "DELETE", "/v1/knowledge/help/documents?source=refunds.md", "")
}

func TestKnowledge_keeps_the_last_good_version_of_an_unreadable_document(t *testing.T) {
	t.Parallel()
	e := newKnowledge(t)
	e.add(`{"source": "a", "text": "The warranty lasts two years."}`)
	if run := e.add(`{"source": "a", "text": "   "}`); run["status"] != "failed" || run["error"].(map[string]any)["code"] != "document_unreadable" {
		t.Fatalf("the run: %v %v", run["status"], run["error"])
	}
	if got := e.sources(`{"query": "warranty"}`); got != "a" {
		t.Errorf("found %q", got)
	}
	list := e.must(200, "GET", "/v1/knowledge/help/documents?state=failed", "")["documents"].([]any)
	if d := list[0].(map[string]any); d["source"] != "a" || d["error"] == nil || d["passages"] != float64(1) {
		t.Errorf("document: %v", d)
	}
}

// knowledgeFlow adds a text to a base, then searches it.
const knowledgeFlow = `{"schema": "sluice.flow/v1", "name": "Knowledge", "nodes": [
	{"id": "text", "kind": "input", "config": {"name": "text", "type": "text"}},
	{"id": "question", "kind": "input", "config": {"name": "question", "type": "text"}},
	{"id": "add", "kind": "knowledge_add", "config": {"knowledge": "help", "source": "note", "part": "PART", "link": "https://example.com/note"}},
	{"id": "both", "kind": "template", "config": {"template": "{{question}}{{done}}"}},
	{"id": "search", "kind": "knowledge_search", "config": {"knowledge": "help", "part": "PART"}},
	{"id": "context", "kind": "output", "config": {"name": "context"}},
	{"id": "citations", "kind": "output", "config": {"name": "citations"}},
	{"id": "found", "kind": "output", "config": {"name": "found"}},
	{"id": "state", "kind": "output", "config": {"name": "document"}}],
	"edges": [{"from": "text.value", "to": "add.text"}, {"from": "question.value", "to": "both.question"}, {"from": "add.passages", "to": "both.done"},
	{"from": "both.text", "to": "search.query"}, {"from": "search.context", "to": "context.value"}, {"from": "search.citations", "to": "citations.value"},
	{"from": "search.found", "to": "found.value"}, {"from": "add.document", "to": "state.value"}]}`

func TestKnowledge_flows_add_documents_and_cite_them(t *testing.T) {
	t.Parallel()
	e := newKnowledge(t)
	id := e.PublishedFlow(strings.ReplaceAll(knowledgeFlow, "PART", "acme"))
	run := e.must(202, "POST", "/v1/flow/"+id+"/run", `{"text": "# Delivery\n\nParcels take three days.", "question": "How long do parcels take?"}`)
	run = e.ended("/v1/flow/" + id + "/run/" + run["run_id"].(string))
	if run["status"] != "succeeded" {
		t.Fatalf("the run: %v", run)
	}
	outputs := run["outputs"].(map[string]any)
	if context := outputs["context"].(string); !strings.Contains(context, "[1] Delivery") || !strings.Contains(context, "Parcels take three days.") || !strings.HasPrefix(context, "Quotations") {
		t.Errorf("context: %s", context)
	}
	if c := outputs["citations"].(map[string]any)["1"].(map[string]any); c["title"] != "Delivery" || c["link"] != "https://example.com/note" {
		t.Errorf("citations: %v", c)
	}
	if outputs["found"] != true || outputs["document"].(map[string]any)["state"] != "added" {
		t.Errorf("outputs: %v", outputs)
	}
	if got := e.sources(`{"query": "parcels"}`); got != "" {
		t.Errorf("found without the part: %s", got)
	}
	if got := e.sources(`{"query": "parcels", "part": "acme"}`); got != "note" {
		t.Errorf("found with the part: %s", got)
	}
	if flows := e.must(200, "GET", "/v1/flow", "")["flows"].([]any); len(flows) != 1 {
		t.Errorf("the hidden flow is listed: %v", flows)
	}
	e.must(409, "DELETE", "/v1/knowledge/help", "")
	e.must(204, "DELETE", "/v1/knowledge/help?force=true", "")
	e.must(404, "GET", "/v1/knowledge/help", "")
}

// TestKnowledge_names_the_runs_that_quoted_a_document removes a document that runs have found, and erases one of them.
func TestKnowledge_names_the_runs_that_quoted_a_document(t *testing.T) {
	t.Parallel()
	e := newKnowledge(t)
	id := e.PublishedFlow(strings.ReplaceAll(knowledgeFlow, "PART", "acme"))
	var runs []string
	for _, question := range []string{"How long do parcels take?", "Do parcels take long?", "zebra"} {
		started := e.must(202, "POST", "/v1/flow/"+id+"/run", `{"text": "# Delivery\n\nParcels take three days.", "question": "`+question+`"}`)
		runs = append(runs, started["run_id"].(string))
		if run := e.ended("/v1/flow/" + id + "/run/" + runs[len(runs)-1]); run["status"] != "succeeded" {
			t.Fatalf("the run: %v", run)
		}
	}
	quotedBy := func(o map[string]any) (ids []string) {
		list, _ := o["quoted_by"].([]any)
		for _, q := range list {
			ids = append(ids, q.(map[string]any)["run_id"].(string))
		}
		return ids
	}
	document := e.must(200, "GET", "/v1/knowledge/help/documents?source=note&part=acme", "")["documents"].([]any)[0].(map[string]any)
	path := "/v1/knowledge/help/documents/" + document["id"].(string)
	if got := quotedBy(e.must(200, "GET", path, "")); !slices.Equal(got, []string{runs[1], runs[0]}) {
		t.Errorf("quoted by %v, wanted the two runs that found it, the latest first: %v", got, runs)
	}
	e.must(204, "DELETE", "/v1/flow/"+id+"/run/"+runs[0], "")
	removed := e.must(200, "DELETE", "/v1/knowledge/help/documents?source=note&part=acme", "")
	if got := quotedBy(removed); !slices.Equal(got, []string{runs[1]}) || removed["quoted_by_total"] != 1.0 {
		t.Errorf("quoted by %v after one of %v was erased", removed, runs)
	}
}

func TestKnowledge_is_reached_only_by_keys_of_its_workspace_without_a_list_of_flows(t *testing.T) {
	t.Parallel()
	e := newKnowledge(t)
	id := e.PublishedFlow(webtest.Greeting)
	limited := newCaller(e.Env, nil, flow.Key{Scopes: flow.Scopes, Flows: []string{id}})
	runs := newCaller(e.Env, nil, flow.Key{Scopes: []flow.Scope{flow.ScopeRun}})
	for _, path := range []string{"/v1/knowledge", "/v1/knowledge/help", "/v1/knowledge/help/documents", "/v1/knowledge/help/export"} {
		if status, code, _ := limited.send("GET", path, ""); status != 403 || code != "flow_not_allowed" {
			t.Errorf("%s with a limited key: %d %s", path, status, code)
		}
		if status, code, _ := runs.send("GET", path, ""); status != 403 || code != "scope_missing" {
			t.Errorf("%s with the scope run: %d %s", path, status, code)
		}
	}
}

func TestKnowledge_of_another_workspace_is_not_found(t *testing.T) {
	t.Parallel()
	e := newKnowledge(t)
	e.add(`{"source": "a", "text": "The contract ends in May."}`)
	b, err := e.Store.FindBase(t.Context(), flow.DefaultWorkspace, "help")
	if err != nil {
		t.Fatal(err)
	}
	other := flow.WorkspaceID("ws_other")
	for _, ref := range []string{b.ID, b.Slug} {
		if found, err := e.Store.FindBase(t.Context(), other, ref); flow.AsError(err).Code != flow.CodeKnowledgeNotFound {
			t.Errorf("%s in another workspace: %v %v", ref, found, err)
		}
	}
	foreign := *b
	foreign.WorkspaceID = other
	if found, err := e.Store.SearchBase(t.Context(), &foreign, &knowledge.Query{Text: "contract", Top: 5, AllParts: true}); err == nil {
		t.Errorf("a search of another workspace found %+v", found)
	}
	if list, err := e.Store.ListBaseDocuments(t.Context(), &foreign, knowledge.DocumentFilter{AllParts: true, Limit: 5}); err != nil || len(list) > 0 {
		t.Errorf("documents of another workspace: %v %v", list, err)
	}
	if removed, err := e.Store.RemoveBaseDocuments(t.Context(), &foreign, "", []string{"a"}); err == nil {
		t.Errorf("another workspace removed %+v", removed)
	}
	if _, err := e.Store.PutBaseDocument(t.Context(), &knowledge.Put{Base: &foreign, Document: knowledge.Document{Source: "b", Hash: "x"}, Passages: []knowledge.Passage{{Text: "x"}}}); err == nil {
		t.Error("another workspace added a document")
	}
	if err := e.Store.DeleteBase(t.Context(), other, b.ID); err == nil {
		t.Error("another workspace deleted the base")
	}
	if got := e.sources(`{"query": "contract"}`); got != "a" {
		t.Errorf("found %q", got)
	}
}

func TestKnowledge_lets_models_fill_only_the_query_of_a_search(t *testing.T) {
	t.Parallel()
	kinds := webtest.Kinds()
	k := kinds.Find("knowledge_search")
	for _, f := range k.Fields {
		open := flow.CanOpen(flow.Port{Name: f.Name, Type: flow.TypeText}, &f) && !f.Typed
		if want := f.Name == "query" || f.Name == "top" || f.Name == "neighbors"; open != want {
			t.Errorf("a model may fill %s: %v, want %v", f.Name, open, want)
		}
	}
	if kinds.Find("knowledge_add").Tool != nil {
		t.Error("knowledge_add is a tool")
	}
}

func TestKnowledge_knows_the_pages_of_a_PDF(t *testing.T) {
	t.Parallel()
	e := newKnowledge(t)
	content, err := os.Open("../documents/testdata/chromium.pdf")
	if err != nil {
		t.Fatal(err)
	}
	defer content.Close()
	file, err := e.Store.SaveFile(t.Context(), flow.NewFile{WorkspaceID: flow.DefaultWorkspace, Name: "manual.pdf", MIME: "application/pdf", KeyID: e.key.ID, MaxSize: 1 << 20}, content)
	if err != nil {
		t.Fatal(err)
	}
	if run := e.add(`{"file": "` + file.ID + `", "link": "https://example.com/manual.pdf"}`); run["status"] != "succeeded" {
		t.Fatalf("the run: %v", run["error"])
	}
	list := e.must(200, "GET", "/v1/knowledge/help/documents", "")["documents"].([]any)
	document := list[0].(map[string]any)
	if document["source"] != "manual.pdf" || document["format"] != "pdf" {
		t.Errorf("document: %v", document)
	}
	for _, p := range e.must(200, "GET", "/v1/knowledge/help/documents/"+document["id"].(string), "")["texts"].([]any) {
		if page := p.(map[string]any)["page"].(float64); page < 1 {
			t.Errorf("a passage without a page: %v", p)
		}
	}
}

// TestKnowledgeSearch_reserves_the_cost_of_a_query runs a flow whose budget does not suffice for the request that embeds the query. Without a reservation the
// step would fail at the provider, which has no account here.
func TestKnowledgeSearch_reserves_the_cost_of_a_query(t *testing.T) {
	t.Parallel()
	e := newKnowledge(t)
	e.must(201, "POST", "/v1/knowledge", `{"slug": "paid", "model": "openai/text-embedding-3-small"}`)
	const search = `{"schema": "sluice.flow/v1", "name": "Search", "nodes": [{"id": "q", "kind": "input", "config": {"name": "q", "type": "text"}}, {"id": "search", "kind": "knowledge_search", "config": {"knowledge": "paid", "mode": "MODE"}}, {"id": "out", "kind": "output", "config": {"name": "found"}}], "edges": [{"from": "q.value", "to": "search.query"}, {"from": "search.found", "to": "out.value"}]}`
	run := func(mode string) map[string]any {
		id := e.PublishedFlow(strings.ReplaceAll(search, "MODE", mode))
		started := e.must(202, "POST", "/v1/flow/"+id+"/run?wait=0", `{"q": "refund", "run_options": {"max_usd": 0.000000001}}`)
		return e.ended("/v1/flow/" + id + "/run/" + started["run_id"].(string))
	}
	if failed, _ := run("both")["error"].(map[string]any); failed["code"] != "budget_exceeded" && failed["code"] != "price_unknown" {
		t.Errorf("a search by meaning: %v", failed)
	}
	if ended := run("words"); ended["status"] != "succeeded" {
		t.Errorf("a search by words, which costs nothing: %v", ended["error"])
	}
}

// TestForm_shows_citations_as_footnotes checks that a form shows the page of a source below the sentence that cites it.
func TestForm_shows_citations_as_footnotes(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id := h.FormOf(`{"schema": "sluice.flow/v1", "name": "Cited", "nodes": [{"id": "q", "kind": "input", "config": {"name": "q", "type": "text"}}, {"id": "json", "kind": "input", "config": {"name": "sources", "type": "json", "default": {"1": {"title": "Refund policy", "source": "policy.pdf", "link": "https://example.com/policy.pdf#page=3", "page": 3}}}}, {"id": "answer", "kind": "template", "config": {"template": "Five days [1], or six [2]. {{q}}"}}, {"id": "out", "kind": "output", "config": {"name": "answer"}}, {"id": "cited", "kind": "output", "label": "Where it is from", "config": {"name": "citations"}}], "edges": [{"from": "q.value", "to": "answer.q"}, {"from": "answer.text", "to": "out.value"}, {"from": "json.value", "to": "cited.value"}]}`)
	b := h.Anonymous()
	sent := b.SendForm("/f/"+id, map[string]string{"in.q": "Hello"}, nil)
	b.Ended(sent.Header.Get("Location")).Has(`<sup class="cite"><a href="https://example.com/policy.pdf#page=3" title="Refund policy, page 3"`, `<li value="1">`, "Refund policy</a>, page 3", `[2?]`).Lacks("Where it is from")
}
