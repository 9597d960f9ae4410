package handlers_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"sluice/flow"
	"sluice/handlers/webtest"
)

// mcp sends a message to POST /mcp with the key of a caller and returns its result.
func (e *knowledgeEnv) mcp(as *caller, method, params string) map[string]any {
	e.T.Helper()
	status, _, raw := as.send("POST", "/mcp", `{"jsonrpc": "2.0", "id": 1, "method": "`+method+`", "params": `+params+`}`)
	if status != 200 {
		e.T.Fatalf("%s: %d %s", method, status, raw)
	}
	if _, data, isStream := strings.Cut(raw, "\ndata: "); isStream {
		raw = data
	}
	o := map[string]any{}
	if err := json.NewDecoder(strings.NewReader(raw)).Decode(&o); err != nil {
		e.T.Fatalf("%s: %v %s", method, err, raw)
	}
	return o
}

// tools returns the names of the tools of a caller.
func (e *knowledgeEnv) tools(as *caller) string {
	e.T.Helper()
	var names []string
	result, _ := e.mcp(as, "tools/list", `{}`)["result"].(map[string]any)
	list, _ := result["tools"].([]any)
	for _, t := range list {
		names = append(names, t.(map[string]any)["name"].(string))
	}
	return strings.Join(names, " ")
}

// ask calls the tool of the base and returns the text of the result.
func (e *knowledgeEnv) ask(as *caller, query string) string {
	e.T.Helper()
	o := e.mcp(as, "tools/call", `{"name": "search_help", "arguments": {"query": "`+query+`"}}`)
	text, _ := json.Marshal(o)
	return string(text)
}

// TestExposed_bases_are_tools_of_assistants: only owners expose, keys that are limited to flows have no tool, and parts stay apart.
func TestExposed_bases_are_tools_of_assistants(t *testing.T) {
	t.Parallel()
	e := newKnowledge(t)
	id := e.PublishedFlow(webtest.PublishGreeting)
	e.add(`{"source": "refunds.md", "text": "A refund takes five working days."}`)
	e.add(`{"source": "acme.md", "text": "A refund for Acme takes one hour.", "part": "acme"}`)
	runs := newCaller(e.Env, nil, flow.Key{Scopes: []flow.Scope{flow.ScopeRun}})
	some := newCaller(e.Env, nil, flow.Key{Scopes: flow.Scopes, Flows: []string{id}})
	if got := e.tools(runs); got != "greet" {
		t.Errorf("before it is exposed, the tools are %s", got)
	}
	edits := newCaller(e.Env, nil, flow.Key{Scopes: []flow.Scope{flow.ScopeRead, flow.ScopeEdit}})
	limited := newCaller(e.Env, nil, flow.Key{Scopes: flow.Scopes, RPM: 1000})
	for code, as := range map[string]*caller{"scope_missing": edits, "exceeds_key": limited} {
		for _, r := range [][3]string{{"PATCH", "/v1/knowledge/help", `{"expose": true}`}, {"POST", "/v1/knowledge", `{"slug": "told", "expose": true}`},
			{"POST", "/v1/apply", `{"documents": [], "companions": [{"content": {"schema": "sluice.knowledge/v1", "bases": [{"slug": "help", "expose": true}]}}]}`}} {
			if status, got, raw := as.send(r[0], r[1], r[2]); status != 403 || got != code {
				t.Errorf("%s %s with a key that may not expose: %d %s, want %s: %s", r[0], r[1], status, got, code, raw)
			}
		}
	}
	e.must(200, "PATCH", "/v1/knowledge/help", `{"expose": true}`)
	if got := e.tools(runs); got != "greet search_help" {
		t.Errorf("the tools are %s", got)
	}
	if got := e.ask(runs, "refund"); !strings.Contains(got, "five working days") || strings.Contains(got, "Acme") || strings.Contains(got, "acme.md") {
		t.Errorf("the tool answered %s", got)
	}
	if got := e.tools(some); got != "greet" {
		t.Errorf("the tools of a key with a list of flows are %s", got)
	}
	if got := e.ask(some, "refund"); strings.Contains(got, "five working days") {
		t.Errorf("a key with a list of flows found %s", got)
	}
	e.must(422, "PATCH", "/v1/knowledge/help", `{"parts": "required"}`)
	e.must(200, "PATCH", "/v1/knowledge/help", `{"parts": "required", "expose_part": "acme"}`)
	for _, query := range []string{"refund", "five working days", `\"refund\" part:`} {
		if got := e.ask(runs, query); strings.Contains(got, "five working days") || query == "refund" && !strings.Contains(got, "one hour") {
			t.Errorf("with a fixed part, %s found %s", query, got)
		}
	}
	if status, code, _ := edits.send("PATCH", "/v1/knowledge/help", `{"expose_part": "other"}`); status != 403 || code != "scope_missing" {
		t.Errorf("another part: %d %s", status, code)
	}
	if status, _, raw := edits.send("PATCH", "/v1/knowledge/help", `{"expose": false, "expose_part": ""}`); status != 200 {
		t.Errorf("an editor may end it, but got %d %s", status, raw)
	}
	if got := e.ask(runs, "refund"); strings.Contains(got, "one hour") || !strings.Contains(got, "search_help") {
		t.Errorf("after it ended, the tool answered %s", got)
	}
	log, err := e.Store.ListAudit(t.Context(), flow.DefaultWorkspace, "", 1000)
	if err != nil {
		t.Fatal(err)
	}
	var changes []string
	for i := range log {
		if log[i].Action == "knowledge.change" {
			detail, _, _ := strings.Cut(log[i].Detail, ", revision")
			changes = append(changes, detail)
		}
	}
	if got := strings.Join(changes, "; "); got != `help, no longer exposed; help, exposed: part "acme"; help, exposed` {
		t.Errorf("the audit log has: %s", got)
	}
}

// TestKnowledge_in_git applies the settings of bases from a file.
func TestKnowledge_in_git(t *testing.T) {
	t.Parallel()
	e := newKnowledge(t)
	apply := func(status int, content, more string) string {
		t.Helper()
		got, _, raw := e.send("POST", "/v1/apply", `{"documents": [], "companions": [{"content": `+content+`}], "source": "repo"`+more+`}`)
		if got != status {
			t.Fatalf("applying %s: %d, want %d: %s", content, got, status, raw)
		}
		return raw
	}
	file := `{"schema": "sluice.knowledge/v1", "bases": [{"slug": "help", "name": "Help center", "description": "Answers."}, {"slug": "prices", "model": "openai/text-embedding-3-small", "passage_words": 100, "repeated_words": 0}]}`
	if raw := apply(409, file, ""); !strings.Contains(raw, "draft_changed") { // help was made by hand
		t.Errorf("the first apply says %s", raw)
	}
	if raw := apply(200, file, `, "force": true`); !strings.Contains(raw, "Adds the knowledge base prices, which is empty") || !strings.Contains(raw, "Changes the settings of the knowledge base help.") {
		t.Errorf("the apply says %s", raw)
	}
	if raw := apply(200, file, ""); !strings.Contains(raw, `"unchanged"`) {
		t.Errorf("the second apply says %s", raw)
	}
	if b := e.must(200, "GET", "/v1/knowledge/prices", ""); b["passage_words"] != 100.0 || b["repeated_words"] != 0.0 || b["name"] != "prices" || b["model"] != "openai/text-embedding-3-small" {
		t.Errorf("the base is %v", b)
	}
	_, _, text := e.send("GET", "/v1/companions/knowledge", "")
	if raw := apply(200, text, `, "prune": true`); !strings.Contains(raw, `"unchanged"`) {
		t.Errorf("applying the file that was read says %s", raw)
	}
	e.add(`{"source": "a", "text": "A refund takes five working days."}`)
	other := strings.Replace(file, `"Answers."`, `"Answers.", "model": "openai/text-embedding-3-small"`, 1)
	if raw := apply(422, other, ""); !strings.Contains(raw, "sluice knowledge rebuild help") || !strings.Contains(raw, "/content/bases/0/model") {
		t.Errorf("another model says %s", raw)
	}
	none := `{"schema": "sluice.knowledge/v1", "bases": []}`
	if raw := apply(422, none, `, "prune": true`); !strings.Contains(raw, "help is missing, and has 1 document") {
		t.Errorf("pruning a base with documents says %s", raw)
	}
	one := `{"schema": "sluice.knowledge/v1", "bases": [{"slug": "help", "description": "Better answers."}]}`
	if raw := apply(200, one, `, "prune": true`); !strings.Contains(raw, "Removes the knowledge base prices, which is empty.") {
		t.Errorf("pruning says %s", raw)
	}
	e.must(404, "GET", "/v1/knowledge/prices", "")
	if b := e.must(200, "GET", "/v1/knowledge/help", ""); b["description"] != "Better answers." || b["name"] != "help" || b["documents"] != 1.0 {
		t.Errorf("the base is %v", b)
	}
	e.must(200, "PATCH", "/v1/knowledge/help", `{"description": "By hand."}`)
	apply(409, one, "")
	for content, pointer := range map[string]string{
		`[{"slug": "No slug"}]`: "/content/bases/0/slug", `[{"slug": "a"}, {"slug": "a"}]`: "/content/bases/1/slug", `[{"slug": "a", "length": 3}]`: "/content/bases/0/length",
		`[{"slug": "a", "passage_words": "many"}]`: "/content/bases/0/passage_words", `[{"slug": "a", "parts": "required", "expose": true}]`: "/content/bases/0/expose_part",
	} {
		if raw := apply(422, `{"schema": "sluice.knowledge/v1", "bases": `+content+`}`, ""); !strings.Contains(raw, pointer+`"`) {
			t.Errorf("%s has no problem at %s: %s", content, pointer, raw)
		}
	}
}

// TestKnowledge_repeats_a_fifth_of_a_passage_by_default through the API and the page.
func TestKnowledge_repeats_a_fifth_of_a_passage_by_default(t *testing.T) {
	t.Parallel()
	e := newKnowledge(t)
	for body, want := range map[string]float64{`{"slug": "a"}`: 40, `{"slug": "b", "passage_words": 100}`: 20, `{"slug": "c", "repeated_words": 0}`: 0, `{"slug": "d", "passage_words": 100, "repeated_words": 50}`: 50} {
		if b := e.must(201, "POST", "/v1/knowledge", body); b["repeated_words"] != want {
			t.Errorf("%s repeats %v words", body, b["repeated_words"])
		}
	}
	owner := e.As(flow.MemberOwner)
	owner.Get("/knowledge/c/settings").Is(200).Has(`value="0" aria-describedby="field-repeated_words-help"`)
	owner.Post("/knowledge", url.Values{"name": {"E"}, "slug": {"e"}, "passage_words": {"50"}}).RedirectsTo("/knowledge/e")
	if b := e.must(200, "GET", "/v1/knowledge/e", ""); b["repeated_words"] != 10.0 {
		t.Errorf("the page made %v", b)
	}
}

// TestRebuild_is_estimated asks what a rebuild costs with a price, without one, and with the built-in model. Nothing is started.
func TestRebuild_is_estimated(t *testing.T) {
	t.Parallel()
	e := newKnowledge(t)
	e.must(200, "PATCH", "/v1/prices", `{"model": "openai/text-embedding-3-small", "input": 0.02, "output": 0}`)
	text := strings.Repeat("A refund takes five working days. ", 400)
	e.add(`{"source": "a", "text": "` + text + `"}`)
	base := e.must(200, "GET", "/v1/knowledge/help", "")
	const path = "/v1/knowledge/help/rebuild/estimate"
	got := e.must(200, "POST", path, `{"model": "openai/text-embedding-3-small"}`)
	tokens, usd := got["tokens"].(float64), got["usd"].(float64)
	if got["passages"] != base["passages"] || tokens < float64(len(text))/4 || tokens > float64(len(text)) || usd < tokens*0.019/1e6 || usd > tokens*0.021/1e6 {
		t.Errorf("the estimate is %v for %d bytes", got, len(text))
	}
	if got := e.must(200, "POST", path, `{"model": "lab/unknown"}`); got["usd"] != nil {
		t.Errorf("a model without a price: %v", got)
	}
	e.must(422, "POST", path, `{"model": ""}`)
	runs := e.must(200, "GET", "/v1/flow/"+base["flow_id"].(string)+"/runs?work=index", "")
	if list := runs["runs"].([]any); len(list) != 1 {
		t.Errorf("an estimate has started a run: %v", list)
	}
}

// TestOpenAI_replies_have_their_sources: a reply that cites numbers ends with the list of their sources, streamed or not.
func TestOpenAI_replies_have_their_sources(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	h.PublishedFlow(`{"schema": "sluice.flow/v1", "name": "Cited", "slug": "cited", "nodes": [{"id": "q", "kind": "input", "config": {"name": "q", "type": "text"}},
		{"id": "one", "kind": "input", "config": {"name": "one", "type": "json", "default": {"1": {"title": "Refund policy", "source": "policy.pdf", "link": "https://example.com/policy.pdf#page=3", "page": 3}, "2": {"title": "Ambiguous", "source": "a"}}}},
		{"id": "two", "kind": "input", "config": {"name": "two", "type": "json", "default": {"101": {"title": "", "source": "handbook.pdf", "link": "", "page": 7}, "2": {"title": "Ambiguous", "source": "b", "page": 2}}}},
		{"id": "answer", "kind": "template", "config": {"template": "Größe: five days [1], or six [101], or [2]. {{q}}"}},
		{"id": "out", "kind": "output", "config": {"name": "reply"}}, {"id": "c1", "kind": "output", "config": {"name": "citations"}}, {"id": "c2", "kind": "output", "config": {"name": "more"}}],
		"edges": [{"from": "q.value", "to": "answer.q"}, {"from": "answer.text", "to": "out.value"}, {"from": "one.value", "to": "c1.value"}, {"from": "two.value", "to": "c2.value"}]}`)
	c := newCaller(h, nil, flow.Key{Scopes: flow.Scopes})
	const want = "Größe: five days [1], or six [101], or [2]. Hi\n\nSources:\n\n- [1] Refund policy, page 3 <https://example.com/policy.pdf#page=3>\n- [101] handbook.pdf, page 7"
	type part struct {
		Content     string
		Annotations []struct {
			Type string
			URL  struct {
				Start int `json:"start_index"`
				End   int `json:"end_index"`
				Title string
				URL   string
			} `json:"url_citation"`
		}
	}
	var answer struct {
		Choices []struct{ Message, Delta part }
	}
	check := func(how string, p part) {
		t.Helper()
		if p.Content != want {
			t.Errorf("%s: the reply is %q", how, p.Content)
		}
		if len(p.Annotations) != 1 || p.Annotations[0].Type != "url_citation" || p.Annotations[0].URL.URL != "https://example.com/policy.pdf#page=3" || p.Annotations[0].URL.Title != "Refund policy, page 3" || string([]rune(p.Content)[p.Annotations[0].URL.Start:p.Annotations[0].URL.End]) != "[1]" {
			t.Errorf("%s: the annotations are %+v", how, p.Annotations)
		}
	}
	_, _, raw := c.send("POST", "/v1/chat/completions", `{"model": "cited", "messages": [{"role": "user", "content": "Hi"}]}`)
	if err := json.Unmarshal([]byte(raw), &answer); err != nil || len(answer.Choices) == 0 {
		t.Fatalf("%v: %s", err, raw)
	}
	check("complete", answer.Choices[0].Message)
	_, _, raw = c.send("POST", "/v1/chat/completions", `{"model": "cited", "stream": true, "messages": [{"role": "user", "content": "Hi"}]}`)
	var all part
	for line := range strings.Lines(raw) {
		data, isData := strings.CutPrefix(strings.TrimSpace(line), "data: ")
		if !isData || data == "[DONE]" {
			continue
		}
		answer.Choices = nil
		if err := json.Unmarshal([]byte(data), &answer); err != nil {
			t.Fatalf("%v: %s", err, data)
		}
		for _, choice := range answer.Choices {
			all.Content += choice.Delta.Content
			all.Annotations = append(all.Annotations, choice.Delta.Annotations...)
		}
	}
	check("streamed", all)
}
