package handlers_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"sluice/flow"
)

// TestKnowledge_filters_fail_where_they_do_not_fit checks that a document for which a filter cannot be computed is not left out without a word.
func TestKnowledge_filters_fail_where_they_do_not_fit(t *testing.T) {
	t.Parallel()
	e := newKnowledge(t)
	e.add(`{"source": "new", "text": "The report of the year.", "metadata": {"year": 2024, "lang": "en"}}`)
	e.add(`{"source": "old", "text": "The report of the year.", "metadata": {"year": "2023", "lang": "de"}}`)
	e.add(`{"source": "bare", "text": "The report of the year."}`)
	body := func(where string) string {
		data, _ := json.Marshal(map[string]any{"query": "report", "where": where})
		return string(data)
	}
	for where, want := range map[string]string{`int(metadata.year) >= 2024`: "new", `metadata.lang == "de"`: "old", `!has(metadata.year)`: "bare"} {
		if got := e.sources(body(where)); got != want {
			t.Errorf("%s found %q, wanted %q", where, got, want)
		}
	}
	for where, document := range map[string]string{`metadata.year >= 2023`: "old", `metadata.year.startsWith("20")`: "new", `metadata.lang`: "", `int(metadata.year) / 0 == 1`: ""} {
		failed := e.must(422, "POST", "/v1/knowledge/help/search", body(where))
		if text := fmt.Sprint(failed); !strings.Contains(text, "The filter cannot be applied to the document") || !strings.Contains(text, document) || !strings.Contains(text, "/where") {
			t.Errorf("%s: %v", where, failed)
		}
	}
	e.must(422, "POST", "/v1/knowledge/help/search", `{"query": "report", "mode": "WORDS"}`)
	for _, path := range []string{"/documents?all_parts=yes", "/documents?all_parts=", "/documents?all_parts=true&all_parts=true"} {
		e.must(422, "GET", "/v1/knowledge/help"+path, "")
	}
	e.must(422, "DELETE", "/v1/knowledge/help?force=yes", "")
}

// addingFlow adds, or removes, the documents of lists.
const addingFlow = `{"schema": "sluice.flow/v1", "name": "Adding", "nodes": [
	{"id": "texts", "kind": "input", "config": {"name": "texts", "type": "json", "default": ""}}, {"id": "files", "kind": "input", "config": {"name": "files", "type": "list", "items": "file", "default": []}},
	{"id": "sources", "kind": "input", "config": {"name": "sources", "type": "list", "default": []}},
	{"id": "add", "kind": "knowledge_add", "config": {"knowledge": "help", "action": "ACTION", "allow_large": true}}, {"id": "out", "kind": "output", "config": {"name": "documents"}}],
	"edges": [{"from": "texts.value", "to": "add.text"}, {"from": "files.value", "to": "add.file"}, {"from": "sources.value", "to": "add.source"}, {"from": "add.documents", "to": "out.value"}]}`

// TestKnowledgeAdd_refuses_documents_that_would_replace_each_other checks lists in which several documents have one source, or none.
func TestKnowledgeAdd_refuses_documents_that_would_replace_each_other(t *testing.T) {
	t.Parallel()
	e := newKnowledge(t)
	id := map[string]string{}
	for _, action := range []string{"put", "remove", "keep_only"} {
		id[action] = e.PublishedFlow(strings.Replace(strings.ReplaceAll(addingFlow, "ACTION", action), "Adding", action, 1))
	}
	e.add(`{"source": "kept", "text": "This page stays."}`)
	file := func(name string) string {
		f, err := e.Store.SaveFile(t.Context(), flow.NewFile{WorkspaceID: flow.DefaultWorkspace, Name: name, MIME: "text/plain"}, strings.NewReader("The text of "+name))
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf(`{"file": %q}`, f.ID)
	}
	a, b := file("a.txt"), file("b.txt")
	for _, c := range []struct{ action, inputs, says string }{
		{"put", `{"texts": ["one", "two"], "sources": ["a", " a "]}`, `Documents 1 and 2 have the same source, "a"`},
		{"put", `{"texts": ["one", "two"], "sources": ["a", null]}`, "Source 2 of 2 is empty."},
		{"put", `{"texts": ["one", "two"], "sources": ["a", " "]}`, "Source 2 of 2 is empty."},
		{"put", `{"files": [` + a + `, ` + b + `, ` + a + `]}`, `Documents 1 and 3 have the same source, "a.txt"`},
		{"put", `{"files": [` + a + `, ` + b + `]}`, ""},
		{"put", `{"files": [` + a + `, ` + a + `], "sources": ["x", "y"]}`, ""},
		{"remove", `{"sources": [""]}`, "Source 1 of 1 is empty."},
		{"keep_only", `{"sources": [null]}`, "Source 1 of 1 is empty."},
	} {
		started := e.must(202, "POST", "/v1/flow/"+id[c.action]+"/run", c.inputs)
		run := e.ended("/v1/flow/" + id[c.action] + "/run/" + started["run_id"].(string))
		failed, _ := run["error"].(map[string]any)
		if text, _ := failed["message"].(string); !strings.Contains(text, c.says) || (c.says == "") != (failed == nil) {
			t.Errorf("%s %s: %v", c.action, c.inputs, failed)
		}
	}
	if got := len(e.must(200, "GET", "/v1/knowledge/help/documents", "")["documents"].([]any)); got != 5 { // kept, a.txt, b.txt, x, y
		t.Errorf("%d documents", got)
	}
}

// TestKnowledge_names_are_trimmed checks that the API stores no source and no part that a flow, which trims them, could not name.
func TestKnowledge_names_are_trimmed(t *testing.T) {
	t.Parallel()
	e := newKnowledge(t)
	e.add(`{"source": " spaced ", "part": "acme ", "text": "The spaced page."}`)
	if got := e.sources(`{"query": "spaced", "part": " acme"}`); got != "spaced" {
		t.Errorf("found %q", got)
	}
	e.must(422, "POST", "/v1/knowledge/help/documents", `{"source": " ", "text": "The page without a name."}`)
	e.must(200, "DELETE", "/v1/knowledge/help/documents?source=spaced&part=acme", "")
}
