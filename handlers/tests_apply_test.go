package handlers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"sluice/flow"
	"sluice/flow/library"
	"sluice/handlers/webtest"
)

// namedFlow greets in a way, and is known by a slug.
func namedFlow(slug, way string) string {
	return fmt.Sprintf(`{"schema":"sluice.flow/v1","slug":%q,"name":"Named %s","nodes":[{"id":"in","kind":"input","config":{"name":"who","type":"text"}},{"id":"words","kind":"template","config":{"template":"%s {{who}}"}},{"id":"out","kind":"output","config":{"name":"text"}}],"edges":[{"from":"in.value","to":"words.who"},{"from":"words.text","to":"out.value"}]}`, slug, slug, way)
}

// runsFlow runs another flow by its slug, and is known by a slug.
func runsFlow(slug, below string) string {
	return fmt.Sprintf(`{"schema":"sluice.flow/v1","slug":%q,"name":"Runs %s","nodes":[{"id":"in","kind":"input","config":{"name":"who","type":"text"}},{"id":"run","kind":"subflow","config":{"flow":%q}},{"id":"out","kind":"output","config":{"name":"text"}}],"edges":[{"from":"in.value","to":"run.input.who"},{"from":"run.text","to":"out.value"}]}`, slug, slug, below)
}

// casesFile is a file with one case, and with a gate or "".
func casesFile(slug, gate, want string) string {
	if gate != "" {
		gate = `"gate":` + gate + `,`
	}
	return fmt.Sprintf(`{"slug":%q,"content":{"schema":"sluice.tests/v1",%s"cases":[{"id":"ada","inputs":{"who":"Ada"},"checks":[{"output":"text","equals":%q}]}]}}`, slug, gate, want)
}

// apply applies documents and files, and waits for tests. It returns the code of the error, or "".
func (p *caller) apply(options, documents, companions string) (code, raw string) {
	p.h.T.Helper()
	body := `{"source":"here",` + options + `"documents":[` + documents + `],"companions":[` + companions + `]}`
	r, err := http.NewRequestWithContext(p.h.T.Context(), "POST", p.h.Http.URL+"/v1/apply", strings.NewReader(body))
	if err != nil {
		p.h.T.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+p.text)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Prefer", "wait=60")
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		p.h.T.Fatal(err)
	}
	defer a.Body.Close()
	var text json.RawMessage
	if err := json.NewDecoder(a.Body).Decode(&text); err != nil {
		p.h.T.Fatal(err)
	}
	var problem struct{ Code string }
	_ = json.Unmarshal(text, &problem) // a success has none
	if (a.StatusCode == 200) != (problem.Code == "") {
		p.h.T.Fatalf("%d %s", a.StatusCode, text)
	}
	return problem.Code, string(text)
}

// states returns the live version of each flow, and whether its draft is another document.
func states(h *webtest.Env, slugs ...string) (list []string) {
	h.T.Helper()
	for _, slug := range slugs {
		id, err := h.Store.FindFlowID(h.T.Context(), flow.DefaultWorkspace, slug)
		if err != nil {
			list = append(list, slug+": none")
			continue
		}
		f, err := h.Store.FindFlow(h.T.Context(), flow.DefaultWorkspace, id)
		if err != nil {
			h.T.Fatal(err)
		}
		list = append(list, fmt.Sprintf("%s: v%d %t", slug, f.LiveVersion, f.LiveHash != "" && f.LiveHash != flow.DocumentHash(f.Draft)))
	}
	return list
}

// TestApply_tests_all_or_none changes two flows. One fails its cases, so nothing is applied. With better cases both are.
func TestApply_tests_all_or_none(t *testing.T) {
	onBothStores(t, func(t *testing.T, h *webtest.Env) {
		p := newCaller(h, nil, flow.Key{Scopes: flow.Scopes})
		files := casesFile("one", "", "Hello Ada") + "," + casesFile("two", "", "Hello Ada")
		if code, raw := p.apply(`"publish":true,`, namedFlow("one", "Hello")+","+namedFlow("two", "Hello"), files); code != "" {
			t.Fatal(raw)
		}
		const test = `"publish":true,"test":true,`
		if code, raw := p.apply(test, namedFlow("one", "Hello")+","+namedFlow("two", "Hello"), files); code != "" { // nothing changes
			t.Fatal(raw)
		}
		better := casesFile("one", "", "Bye Ada") + "," + casesFile("two", "", "Hello Ada")
		code, raw := p.apply(test, namedFlow("one", "Bye")+","+namedFlow("two", "Bye"), better)
		if code != "tests_failed" || !strings.Contains(raw, "/cases/ada") || !strings.Contains(raw, "two: ") || strings.Contains(raw, "one: ") {
			t.Fatalf("%s %s", code, raw)
		}
		if got := fmt.Sprint(states(h, "one", "two")); got != "[one: v1 false two: v1 false]" {
			t.Errorf("something was applied: %s", got)
		}
		if _, _, cases := p.send("GET", "/v1/flow/one/cases", ""); !strings.Contains(cases, "Hello Ada") {
			t.Errorf("the cases were applied: %s", cases)
		}
		if code, raw := p.apply(test, namedFlow("one", "Bye")+","+namedFlow("two", "Bye"), casesFile("one", "", "Bye Ada")+","+casesFile("two", "", "Bye Ada")); code != "" {
			t.Fatal(raw)
		}
		if got := fmt.Sprint(states(h, "one", "two")); got != "[one: v2 false two: v2 false]" {
			t.Errorf("%s", got)
		}
		// Other modes than replay need the scope run.
		editor := newCaller(h, nil, flow.Key{Scopes: []flow.Scope{flow.ScopeEdit, flow.ScopeManage}})
		if code, raw := editor.apply(test+`"test_mode":"fill",`, namedFlow("one", "Hi"), casesFile("one", "", "Hi Ada")); code != "scope_missing" {
			t.Errorf("%s %s", code, raw)
		}
	})
}

// TestApply_tests_the_flows_that_run_a_changed_one unless the request says no_callers.
func TestApply_tests_the_flows_that_run_a_changed_one(t *testing.T) {
	onBothStores(t, func(t *testing.T, h *webtest.Env) {
		p := newCaller(h, nil, flow.Key{Scopes: flow.Scopes})
		// Both at once: the second runs the first by its slug, which is not its name.
		if code, raw := p.apply(`"publish":true,`, namedFlow("below", "Hello")+","+runsFlow("other", "below"), ""); code != "" {
			t.Fatal(raw)
		}
		if code, raw := p.apply(`"publish":true,`, runsFlow("above", "below"), casesFile("above", "", "Hello Ada")); code != "" {
			t.Fatal(raw)
		}
		const test = `"publish":true,"test":true,`
		code, raw := p.apply(test, namedFlow("below", "Bye"), "")
		if code != "tests_failed" || !strings.Contains(raw, "above: ") {
			t.Fatalf("%s %s", code, raw)
		}
		if got := fmt.Sprint(states(h, "below", "above")); got != "[below: v1 false above: v1 false]" {
			t.Errorf("something was applied: %s", got)
		}
		// Both together pass with the cases as they will be.
		if code, raw := p.apply(test, namedFlow("below", "Bye")+","+runsFlow("above", "below"), casesFile("above", "", "Bye Ada")); code != "" {
			t.Errorf("%s %s", code, raw)
		}
		if code, raw := p.apply(test+`"no_callers":true,`, namedFlow("below", "Good night"), ""); code != "" {
			t.Errorf("%s %s", code, raw)
		}
		if got := fmt.Sprint(states(h, "below", "above")); got != "[below: v3 false above: v1 false]" {
			t.Errorf("%s", got)
		}
	})
}

// TestApply_of_a_new_flow_with_a_gate says what to do: without publishing first.
func TestApply_of_a_new_flow_with_a_gate(t *testing.T) {
	onBothStores(t, func(t *testing.T, h *webtest.Env) {
		p := newCaller(h, nil, flow.Key{Scopes: flow.Scopes})
		code, raw := p.apply(`"publish":true,`, namedFlow("fresh", "Hello"), casesFile("fresh", `{"pass_rate":1}`, "Hello Ada"))
		if code != "tests_required" || !strings.Contains(raw, "without publishing") {
			t.Fatalf("%s %s", code, raw)
		}
		if got := fmt.Sprint(states(h, "fresh")); got != "[fresh: none]" {
			t.Errorf("something was applied: %s", got)
		}
		if code, raw := p.apply("", namedFlow("fresh", "Hello"), casesFile("fresh", `{"pass_rate":1}`, "Hello Bob")); code != "" {
			t.Fatal(raw)
		}
		if code, raw = p.apply(`"publish":true,`, namedFlow("fresh", "Hello"), ""); code != "tests_failed" || !strings.Contains(raw, "/cases/ada") {
			t.Fatalf("%s %s", code, raw)
		}
		if code, raw := p.apply(`"publish":true,`, namedFlow("fresh", "Hello"), casesFile("fresh", `{"pass_rate":1}`, "Hello Ada")); code != "" {
			t.Fatalf("%s %s", code, raw)
		}
		if got := fmt.Sprint(states(h, "fresh")); got != "[fresh: v1 false]" {
			t.Error(got)
		}
	})
}

// TestGate_holds_the_cases changes a case between the report and the publishing: the hashes decide.
func TestGate_holds_the_cases(t *testing.T) {
	onBothStores(t, func(t *testing.T, h *webtest.Env) {
		c := &testClient{newCaller(h, nil, flow.Key{Scopes: flow.Scopes}), "held"}
		if code, raw := c.apply("", namedFlow("held", "Hello"), casesFile("held", `{"pass_rate":1}`, "Hello Ada")); code != "" {
			t.Fatal(raw)
		}
		id, err := h.Store.FindFlowID(t.Context(), flow.DefaultWorkspace, "held")
		if err != nil {
			t.Fatal(err)
		}
		f, err := h.Store.FindFlow(t.Context(), flow.DefaultWorkspace, id)
		if err != nil {
			t.Fatal(err)
		}
		c.flow = string(id)
		if r := c.test(`{"mode":"replay","candidates":[{"version":"draft"}]}`); r.State != "passed" {
			t.Fatalf("%+v", r)
		}
		l := *h.Library
		racing := &racingStore{LibraryStore: h.Store, before: func() {
			c.must(200, "PUT", "/cases/ada", `{"inputs":{"who":"Ada"},"checks":[{"output":"text","equals":"Hello Bob"}]}`)
		}}
		l.Store = racing
		if _, _, err := l.PublishDraft(t.Context(), f, flow.Actor{ID: "user_x"}, ""); flow.AsError(err).Code != flow.CodeTestsRequired {
			t.Fatalf("it is published with a case that no test ran: %v", err)
		}
		if got := fmt.Sprint(states(h, "held")); got != "[held: v0 false]" {
			t.Error(got)
		}
		racing.before = func() {}
		c.must(200, "PUT", "/cases/ada", `{"inputs":{"who":"Ada"},"checks":[{"output":"text","equals":"Hello Ada"}]}`)
		if _, _, err := l.PublishDraft(t.Context(), f, flow.Actor{ID: "user_x"}, ""); err != nil { // the report of these cases
			t.Error(err)
		}
	})
}

// racingStore does something before a transaction begins.
type racingStore struct {
	library.LibraryStore
	before func()
}

// InTransaction implements library.LibraryStore.
func (s *racingStore) InTransaction(ctx context.Context, fn func(ctx context.Context) error) error {
	s.before()
	return s.LibraryStore.InTransaction(ctx, fn)
}

// TestTests_live_is_in_the_audit_log names the nodes that may change something, and needs the scope manage.
func TestTests_live_is_in_the_audit_log(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	c := &testClient{newCaller(h, nil, flow.Key{Scopes: flow.Scopes}), h.PublishedFlow(webtest.Greeting)}
	c.must(200, "PUT", "/cases/one", `{"inputs":{"who":"Ada"}}`)
	c.test(`{"mode":"replay"}`)
	r := c.test(`{"mode":"live","allow":["words"]}`)
	log, err := h.Store.ListAudit(t.Context(), flow.DefaultWorkspace, "", 20)
	if err != nil {
		t.Fatal(err)
	}
	var live []string
	for _, e := range log {
		if e.Action == "test.live" {
			live = append(live, e.Detail)
		}
	}
	if len(live) != 1 || live[0] != r.ID+": words" {
		t.Errorf("the audit log has %q", live)
	}
	for _, scopes := range [][]flow.Scope{{flow.ScopeRun}, {flow.ScopeRun, flow.ScopeEdit}, {flow.ScopeManage, flow.ScopeEdit}} {
		key := newCaller(h, nil, flow.Key{Scopes: scopes})
		for _, body := range []string{`{"mode":"live"}`, `{"mode":"fill","allow":["words"]}`} {
			if status, code, raw := key.send(http.MethodPost, "/v1/flow/"+c.flow+"/tests", body); status != 403 {
				t.Errorf("%v, %s: %s %s", scopes, body, code, raw)
			}
		}
	}
}
