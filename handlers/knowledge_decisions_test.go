package handlers_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"sluice/db"
	"sluice/flow"
	"sluice/flow/knowledge"
)

// TestKnowledge_outlives_the_runs_that_indexed_it erases and expires all runs: documents are what people keep, so retention is not for them.
func TestKnowledge_outlives_the_runs_that_indexed_it(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, e *knowledgeEnv) {
		erased := e.add(`{"source": "a", "text": "The warranty lasts two years."}`)
		e.add(`{"source": "b", "text": "The warranty of batteries lasts one year."}`)
		e.must(204, "DELETE", "/v1/flow/"+erased["flow_id"].(string)+"/run/"+erased["run_id"].(string), "")
		if _, err := e.Store.ExpireRuns(t.Context(), e.Store.Now().Add(1000*24*time.Hour), 1000); err != nil {
			t.Fatal(err)
		}
		if got := e.sources(`{"query": "warranty"}`); len(strings.Fields(got)) != 2 {
			t.Errorf("found %q", got)
		}
		if run := e.add(`{"source": "a", "text": "The warranty lasts three years."}`); run["status"] != "succeeded" {
			t.Errorf("a new version: %v", run["error"])
		}
	})
}

// TestKnowledge_forgets_what_was_removed removes one document and deletes a base, and looks for their texts in all tables.
func TestKnowledge_forgets_what_was_removed(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, e *knowledgeEnv) {
		const canary = "canary7f3e"
		addition := func(source string) string {
			return fmt.Sprintf(`{"source": %q, "title": "About %s", "link": "https://example.com/%s", "part": "p", "metadata": {"who": %q}, "text": "# Of %s\n\nThe contract of %s ends in May."}`, source, canary, canary, canary, canary, canary)
		}
		e.add(addition("contract"))
		if _, with := tables(t, e.Store, canary); with["knowledge_documents"] == "" || with["knowledge_passages"] == "" || with["knowledge_words"] == "" || with["runs"] == "" {
			t.Fatalf("the text is in %v", with)
		}
		removed := e.must(200, "DELETE", "/v1/knowledge/help/documents?source=contract&part=p", "")
		if removed["source"] != "contract" {
			t.Errorf("removed %v", removed)
		}
		e.nowhere(canary)
		e.add(addition("again"))
		e.must(204, "DELETE", "/v1/knowledge/help", "")
		_, with := tables(t, e.Store, canary)
		for table := range with {
			if strings.HasPrefix(table, "knowledge") || table == "embeddings" {
				t.Errorf("after the base was deleted, %s has\n%s", table, with[table])
			}
		}
	})
}

// nowhere does the work of the background, and checks that no table has a text.
func (e *knowledgeEnv) nowhere(text string) {
	e.T.Helper()
	if err := e.Store.CompactBases(e.T.Context()); err != nil {
		e.T.Fatal(err)
	}
	if _, err := e.Store.ExpireRuns(e.T.Context(), e.Store.Now(), 1000); err != nil {
		e.T.Fatal(err)
	}
	if _, err := e.Store.RemoveErasedFiles(e.T.Context(), 1000); err != nil {
		e.T.Fatal(err)
	}
	_, with := tables(e.T, e.Store, text)
	for table, rows := range with {
		e.T.Errorf("%s still has\n%s", table, rows)
	}
	for _, table := range []string{"knowledge_words", "knowledge_vectors", "knowledge_passages", "embeddings"} {
		if n := e.rows(table); n > 0 {
			e.T.Errorf("%s still has %d rows", table, n)
		}
	}
}

// rows returns the number of rows of a table.
func (e *knowledgeEnv) rows(table string) (n int) {
	e.T.Helper()
	var err error
	if sqlite := e.Store.SQLite(); sqlite != nil {
		err = sqlite.QueryRowContext(e.T.Context(), "SELECT count(*) FROM "+table).Scan(&n)
	} else {
		err = db.Pool(e.Store).QueryRow(e.T.Context(), "SELECT count(*) FROM "+table).Scan(&n)
	}
	if err != nil {
		e.T.Fatal(err)
	}
	return n
}

// TestKnowledge_counts_toward_the_quota fills the quota of the workspace: an addition fails, with the earlier version still there, and removing a document
// gives the bytes back.
func TestKnowledge_counts_toward_the_quota(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, e *knowledgeEnv) {
		e.add(`{"source": "a", "text": "The warranty lasts two years."}`)
		base := e.must(200, "GET", "/v1/knowledge/help", "")
		before := stored(t, e.Env)
		if base["bytes"].(float64) <= 0 || before < int64(base["bytes"].(float64)) {
			t.Fatalf("the base has %v bytes, the workspace %d", base["bytes"], before)
		}
		long := &knowledge.Put{Base: e.base(), Document: knowledge.Document{Source: "a", Hash: "y"}, Passages: []knowledge.Passage{{Text: strings.Repeat("The warranty lasts longer. ", 4000)}}}
		if err := e.Store.SetQuota(t.Context(), flow.DefaultWorkspace, flow.Storage{Bytes: before + 50_000, Flows: flow.DefaultQuota, Runs: flow.DefaultQuota}); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Store.PutBaseDocument(t.Context(), long); flow.AsError(err).Code != flow.CodeQuotaExceeded {
			t.Errorf("beyond the quota: %v", err)
		}
		if got := e.sources(`{"query": "warranty two years"}`); got != "a" {
			t.Errorf("found %q", got)
		}
		d := e.must(200, "GET", "/v1/knowledge/help/documents?source=a", "")["documents"].([]any)[0].(map[string]any)
		before = stored(t, e.Env)
		e.must(200, "DELETE", "/v1/knowledge/help/documents?source=a", "")
		if given := before - stored(t, e.Env); given < int64(d["bytes"].(float64)) {
			t.Errorf("removing %v bytes gave %d back", d["bytes"], given)
		}
	})
}

// base returns the base of the tests.
func (e *knowledgeEnv) base() *knowledge.Base {
	e.T.Helper()
	b, err := e.Store.FindBase(e.T.Context(), flow.DefaultWorkspace, "help")
	if err != nil {
		e.T.Fatal(err)
	}
	return b
}

// TestKnowledge_exports_every_passage adds what an export has to another base, which then answers the same.
func TestKnowledge_exports_every_passage(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, e *knowledgeEnv) {
		e.addCustomers()
		status, _, raw := e.send("GET", "/v1/knowledge/help/export", "")
		if status != 200 {
			t.Fatal(status, raw)
		}
		passages, documents := 0, map[string]bool{}
		for line := range strings.Lines(raw) {
			var o struct {
				Source, Part, Text, Title, Link string
				Metadata                        map[string]any
			}
			if err := json.Unmarshal([]byte(line), &o); err != nil {
				t.Fatalf("%v: %s", err, line)
			}
			passages++
			documents[o.Part+" "+o.Source] = true
			if o.Text == "" || o.Title == "" || o.Link == "" || o.Metadata["lang"] != "en" {
				t.Errorf("a line lacks something: %s", line)
			}
		}
		base := e.must(200, "GET", "/v1/knowledge/help", "")
		if float64(passages) != base["passages"] || float64(len(documents)) != base["documents"] {
			t.Errorf("%d passages of %d documents, the base has %v of %v", passages, len(documents), base["passages"], base["documents"])
		}
	})
}

// TestKnowledge_searches_count_toward_the_limit_of_a_key checks that a key with a limit of requests cannot search beyond it.
func TestKnowledge_searches_count_toward_the_limit_of_a_key(t *testing.T) {
	t.Parallel()
	e := newKnowledge(t)
	limited := newCaller(e.Env, nil, flow.Key{Scopes: []flow.Scope{flow.ScopeRead}, RPM: 2})
	var last int
	for range 3 {
		last, _, _ = limited.send("POST", "/v1/knowledge/help/search", `{"query": "x"}`)
	}
	if last != 429 {
		t.Errorf("the third search of a key with two requests a minute: %d", last)
	}
	reader := newCaller(e.Env, nil, flow.Key{Scopes: []flow.Scope{flow.ScopeRead}})
	for method, body := range map[string]string{"POST /documents": `{"source": "a", "text": "b"}`, "DELETE /documents?source=a": "", "PATCH ": `{"name": "x"}`, "DELETE ": ""} {
		verb, path, _ := strings.Cut(method, " ")
		if status, code, _ := reader.send(verb, "/v1/knowledge/help"+path, body); status != 403 || code != "scope_missing" {
			t.Errorf("%s with the scope read: %d %s", method, status, code)
		}
	}
}
