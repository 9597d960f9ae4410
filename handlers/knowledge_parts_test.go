package handlers_test

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"

	"sluice/db"
	"sluice/db/dbtest"
	"sluice/flow"
	"sluice/handlers/webtest"
)

// onDatabases runs a test with a server on each database, with an empty base help.
func onDatabases(t *testing.T, test func(t *testing.T, e *knowledgeEnv)) {
	t.Helper()
	for name, store := range map[string]func(testing.TB, ...func(*db.Config)) *db.Store{"SQLite": dbtest.SQLite, "PostgreSQL": dbtest.Postgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := webtest.SetupOn(t, store(t))
			h.Add("founder@example.com", flow.DefaultWorkspace, flow.MemberOwner)
			e := &knowledgeEnv{h, newCaller(h, nil, flow.Key{Scopes: flow.Scopes})}
			e.must(201, "POST", "/v1/knowledge", `{"slug": "help"}`)
			test(t, e)
		})
	}
}

// customers are parts with almost the same names.
var customers = []string{"acme", "acme2", "Acme", "zeta"}

// markOf returns a word that only documents of a customer have, in each of their texts.
func markOf(customer int) string { return fmt.Sprintf("canary%dq", customer) }

// addCustomers adds documents of all customers with the same sources: a text and a table.
func (e *knowledgeEnv) addCustomers() {
	e.T.Helper()
	for i, part := range customers {
		mark := markOf(i)
		for source, text := range map[string]string{
			"contract.md": "# Contract " + mark + "\n\nThe contract of " + mark + " ends in May.\n\n# Price " + mark + "\n\nThe price of " + mark + " is 40 dollars.",
			"prices.md":   "| item | price |\n|---|---|\n| " + mark + " | 40 |\n| bolt of " + mark + " | 3 |",
		} {
			body := map[string]any{"source": source, "part": part, "text": text, "title": "About " + mark, "link": "https://example.com/" + mark, "metadata": map[string]any{"customer": mark, "lang": "en"}}
			if run := e.add(string(flow.EncodeJSON(body))); run["status"] != "succeeded" {
				e.T.Fatalf("the document of %s: %v", part, run["error"])
			}
		}
	}
}

// TestParts_never_leak_through_routes_nodes_and_tools sends random searches for a customer, over the API, MCP, flows and pages, whose words, filters and sources are
// those of others. No response has a word of another customer.
func TestParts_never_leak_through_routes_nodes_and_tools(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, e *knowledgeEnv) {
		e.addCustomers()
		flows := make([]string, len(customers))
		for i, part := range customers {
			flows[i] = e.PublishedFlow(searchingFlow(part))
		}
		b := e.As(flow.MemberViewer)
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		rng := rand.New(rand.NewPCG(seed, 1))
		answered := map[string]int{}
		for range 120 {
			i, other := rng.IntN(len(customers)), markOf(rng.IntN(len(customers)))
			query := []string{"contract", other, "the contract of " + other, `"contract of ` + other + `"`, "canary", other[:7], "price of a bolt", customers[rng.IntN(len(customers))]}[rng.IntN(8)]
			where := []string{"", `metadata.lang == "en"`, fmt.Sprintf("metadata.customer == %q", other), `source.startsWith("prices")`, `true || metadata.customer != ""`}[rng.IntN(5)]
			body := map[string]any{"query": query, "where": where, "part": customers[i], "top": 1 + rng.IntN(100), "per_document": 1 + rng.IntN(5), "neighbors": rng.IntN(6), "mode": []string{"both", "words", "meaning"}[rng.IntN(3)], "min_meaning": -1}
			door, said := "", ""
			switch door = []string{"api", "mcp", "flow", "page", "list", "none"}[rng.IntN(6)]; door {
			case "api":
				_, _, said = e.send("POST", "/v1/knowledge/help/search", string(flow.EncodeJSON(body)))
			case "mcp":
				body["knowledge"] = "help"
				_, _, said = e.send("POST", "/mcp?tools=authoring", string(flow.EncodeJSON(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{"name": "search_knowledge", "arguments": only(body, "knowledge", "query", "part", "top")}})))
			case "flow":
				delete(body, "query")
				run := e.must(202, "POST", "/v1/flow/"+flows[i]+"/run", string(flow.EncodeJSON(map[string]any{"q": query, "top": body["top"], "around": body["neighbors"]})))
				path := "/v1/flow/" + flows[i] + "/run/" + run["run_id"].(string)
				_, _, said = e.send("GET", path+"?wait=30", "")
				_, _, steps := e.send("GET", path+"/steps", "")
				said += steps
			case "page":
				answer := b.Get("/knowledge/help?" + url.Values{"q": {query}, "part": {"=" + customers[i]}, "where": {where}, "mode": {body["mode"].(string)}}.Encode())
				_, after, _ := strings.Cut(answer.Body, `class="hits"`) // the list of documents has all parts
				said, _, _ = strings.Cut(after, "</section>")
			case "list":
				_, _, said = e.send("GET", "/v1/knowledge/help/documents?"+url.Values{"part": {customers[i]}, "source": {[]string{"", "contract.md", other}[rng.IntN(3)]}}.Encode(), "")
			case "none": // documents without a part do not exist
				delete(body, "part")
				_, _, said = e.send("POST", "/v1/knowledge/help/search", string(flow.EncodeJSON(body)))
				i = -1
			}
			said = strings.ReplaceAll(strings.ReplaceAll(said, query, ""), string(flow.EncodeJSON(query)), "") // what was asked may be repeated
			for c := range customers {
				if c != i && strings.Contains(said, markOf(c)) {
					t.Fatalf("%s for part %d has a word of part %d: %s\n%s", door, i, c, flow.EncodeJSON(body), said)
				}
				if c == i && strings.Contains(said, markOf(c)) {
					answered[door]++
				}
			}
		}
		for _, door := range []string{"api", "mcp", "flow", "page", "list"} {
			if answered[door] == 0 {
				t.Errorf("%s never found anything: %v", door, answered)
			}
		}
	})
}

func only(all map[string]any, names ...string) map[string]any {
	some := map[string]any{}
	for _, n := range names {
		some[n] = all[n]
	}
	return some
}

// searchingFlow searches a part, with a query from outside, and returns all that it finds.
func searchingFlow(part string) string {
	return strings.ReplaceAll(`{"schema": "sluice.flow/v1", "name": "Search PART", "nodes": [
	{"id": "q", "kind": "input", "config": {"name": "q", "type": "text"}}, {"id": "top", "kind": "input", "config": {"name": "top", "type": "number"}}, {"id": "around", "kind": "input", "config": {"name": "around", "type": "number"}},
	{"id": "search", "kind": "knowledge_search", "config": {"knowledge": "help", "part": "PART"}},
	{"id": "hits", "kind": "output", "config": {"name": "hits"}}, {"id": "context", "kind": "output", "config": {"name": "context"}}, {"id": "citations", "kind": "output", "config": {"name": "citations"}}],
	"edges": [{"from": "q.value", "to": "search.query"}, {"from": "top.value", "to": "search.top"}, {"from": "around.value", "to": "search.neighbors"},
	{"from": "search.hits", "to": "hits.value"}, {"from": "search.context", "to": "context.value"}, {"from": "search.citations", "to": "citations.value"}]}`, "PART", part)
}

// keepingFlow removes the documents of a part that a list does not name.
func keepingFlow(part string) string {
	return strings.ReplaceAll(`{"schema": "sluice.flow/v1", "name": "Keep PART", "nodes": [{"id": "keep", "kind": "input", "config": {"name": "keep", "type": "list"}},
	{"id": "add", "kind": "knowledge_add", "config": {"knowledge": "help", "part": "PART", "action": "keep_only"}}, {"id": "out", "kind": "output", "config": {"name": "documents"}}],
	"edges": [{"from": "keep.value", "to": "add.source"}, {"from": "add.documents", "to": "out.value"}]}`, "PART", part)
}

// TestKnowledgeAdd_keeps_only_what_a_list_names checks that documents that are gone are removed, of one part, unless they are too many.
func TestKnowledgeAdd_keeps_only_what_a_list_names(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, e *knowledgeEnv) {
		for _, part := range []string{"acme", "zeta"} {
			for _, source := range []string{"a", "b", "c"} {
				e.add(fmt.Sprintf(`{"source": %q, "part": %q, "text": "The page %s of the site."}`, source, part, source))
			}
		}
		keeping := e.PublishedFlow(keepingFlow("acme"))
		run := func(keep string) map[string]any {
			started := e.must(202, "POST", "/v1/flow/"+keeping+"/run", `{"keep": `+keep+`}`)
			return e.must(200, "GET", "/v1/flow/"+keeping+"/run/"+started["run_id"].(string)+"?wait=30", "")
		}
		for _, keep := range []string{`[]`, `["a"]`} {
			if failed, _ := run(keep)["error"].(map[string]any); failed["code"] != "removal_too_large" {
				t.Errorf("keeping %s: %v", keep, failed)
			}
		}
		ended := run(`["a", "b", "new"]`)
		if removed := fmt.Sprint(ended["outputs"].(map[string]any)["documents"]); !strings.Contains(removed, "source:c state:removed") || strings.Contains(removed, "source:a") {
			t.Errorf("removed %s", removed)
		}
		if got := len(strings.Fields(e.sources(`{"query": "page", "part": "acme"}`))); got != 2 {
			t.Errorf("%d documents of acme are left", got)
		}
		if got := len(strings.Fields(e.sources(`{"query": "page", "part": "zeta"}`))); got != 3 {
			t.Errorf("%d documents of zeta are left", got)
		}
	})
}

// TestParts_required_refuse_what_names_none checks each way into a base whose documents all belong to a part.
func TestParts_required_refuse_what_names_none(t *testing.T) {
	t.Parallel()
	e := newKnowledge(t)
	e.must(200, "PATCH", "/v1/knowledge/help", `{"parts": "required"}`)
	for method, body := range map[string]string{"POST /documents": `{"source": "a", "text": "b"}`, "PUT /documents?source=a": `{"text": "b"}`, "POST /search": `{"query": "x"}`} {
		verb, path, _ := strings.Cut(method, " ")
		if status, code, _ := e.send(verb, "/v1/knowledge/help"+path, body); status != 422 || code != "part_required" {
			t.Errorf("%s: %d %s", method, status, code)
		}
	}
	for document, inputs := range map[string]string{searchingFlow(""): `{"q": "x", "top": 5, "around": 0}`, keepingFlow(""): `{"keep": ["a"]}`} {
		id := e.PublishedFlow(document)
		started := e.must(202, "POST", "/v1/flow/"+id+"/run", inputs)
		if failed, _ := e.must(200, "GET", "/v1/flow/"+id+"/run/"+started["run_id"].(string)+"?wait=30", "")["error"].(map[string]any); failed["code"] != "part_required" {
			t.Errorf("a flow: %v", failed)
		}
	}
	// A part cannot come from metadata.
	run := e.add(`{"source": "a", "part": "acme", "text": "some text", "metadata": {"part": "zeta"}}`)
	if run["status"] != "succeeded" {
		t.Fatal(run["error"])
	}
	if got := e.sources(`{"query": "text", "part": "zeta"}`); got != "" {
		t.Errorf("metadata set the part: %s", got)
	}
}
