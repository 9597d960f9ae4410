package hooks_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"sluice/db/dbtest"
	"sluice/flow"
	"sluice/flow/library"
	"sluice/flow/triggers"
)

// key makes a key and returns its text.
func (e *env) key(k flow.Key) string {
	e.T.Helper()
	ring := library.Keyring{Store: e.Store, IDs: flow.NewIDs(), Now: e.Server.Site.Now}
	k.WorkspaceID, k.Name = flow.DefaultWorkspace, "program"
	text, err := ring.Create(e.T.Context(), flow.Actor{ID: "cli"}, &k)
	if err != nil {
		e.T.Fatal(err)
	}
	return text
}

// api calls the API and returns the status and the JSON of the response.
func (e *env) api(key, method, path, body string) (int, map[string]any, string) {
	e.T.Helper()
	r, err := http.NewRequestWithContext(e.T.Context(), method, e.Http.URL+"/v1/flow/"+string(e.trigger.FlowID)+"/hooks/"+path, strings.NewReader(body))
	if err != nil {
		e.T.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		e.T.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		e.T.Fatal(err)
	}
	var o map[string]any
	_ = json.Unmarshal(text, &o)
	return res.StatusCode, o, string(text)
}

func TestHookAPI_sets_shows_and_rotates_a_webhook(t *testing.T) {
	t.Parallel()
	e := setup(t, dbtest.SQLite(t))
	key := e.key(flow.Key{Scopes: []flow.Scope{flow.ScopeEdit}})
	config := `{"verify":{"scheme":"github","secrets":["github-hook"]},"inputs":{"title":{"cel":"body.issue.title"}},"when":"body.action == 'opened'"}`
	status, o, text := e.api(key, "PUT", "issues", config)
	if status != 200 || !strings.HasPrefix(o["url"].(string), e.Http.URL+"/h/") {
		t.Fatalf("%d %s", status, text)
	}
	e.url = o["url"].(string)
	event := `{"action":"opened","issue":{"title":"Bug"}}`
	e.send("d1", event).is(t, 200, "run_id")
	if status, again, text := e.api(key, "PUT", "issues", config); status != 200 || again["url"] != o["url"] {
		t.Errorf("the URL changes with the configuration: %d %s", status, text)
	}
	if status, shown, text := e.api(key, "GET", "issues", ""); status != 200 || shown["url"] != o["url"] || !strings.Contains(text, `"cel":"body.issue.title"`) {
		t.Errorf("%d %s", status, text)
	}
	if status, o, text := e.api(key, "POST", "issues/capture", `{"on":true}`); status != 200 || o["capture_until"] == nil {
		t.Errorf("%d %s", status, text)
	}
	e.send("d2", event).is(t, 200, "run_id")
	e.send("d3", event, func(r *http.Request) { r.Header.Del("X-Hub-Signature-256") }).is(t, 401, "")
	if status, _, text := e.api(key, "GET", "issues/requests", ""); status != 200 || !strings.Contains(text, "header X-Hub-Signature-256 is missing") || strings.Count(text, `"method":"POST"`) != 2 {
		t.Errorf("%d %s", status, text)
	}
	status, rotated, text := e.api(key, "POST", "issues/rotate", `{"overlap_s":0}`)
	if status != 200 || rotated["url"] == o["url"] {
		t.Fatalf("%d %s", status, text)
	}
	e.send("d4", event).is(t, 404, "")
	e.url = rotated["url"].(string)
	e.send("d4", event).is(t, 200, "")
	list, err := e.Store.ListAudit(t.Context(), flow.DefaultWorkspace, "", 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range list {
		if strings.Contains(entry.Detail+entry.Target, strings.TrimPrefix(e.url, e.Http.URL+"/h/")) {
			t.Errorf("the URL is in the audit log: %+v", entry)
		}
	}
}

func TestHookAPI_refuses_wrong_configurations_and_keys(t *testing.T) {
	t.Parallel()
	e := setup(t, dbtest.SQLite(t))
	key := e.key(flow.Key{Scopes: []flow.Scope{flow.ScopeEdit}})
	for body, want := range map[string]string{
		`{}`: "verify", `{"verify":{"scheme":"guthib"}}`: "/verify/scheme", `{"verify":{"scheme":"github","secrets":["none-such"]}}`: "/verify/secrets",
		`{"verify":{"scheme":"none"},"when":"body ="}`: "/when", `{"verify":{"scheme":"none","typo":1}}`: "/verify", `{"verify":{"scheme":"none"},"replies":"x"}`: "/replies",
	} {
		if status, _, text := e.api(key, "PUT", "issues", body); status != 422 || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s", body, status, text)
		}
	}
	limited := e.key(flow.Key{Scopes: []flow.Scope{flow.ScopeEdit}, RunsPerDay: 5})
	if status, o, text := e.api(limited, "PUT", "issues", `{"verify":{"scheme":"none"}}`); status != 403 || o["code"] != string(flow.CodeExceedsKey) {
		t.Errorf("%d %s", status, text)
	}
	if status, _, text := e.api(e.key(flow.Key{Scopes: []flow.Scope{flow.ScopeRead}}), "GET", "github", ""); status != 403 || strings.Contains(text, triggers.HookPath("")) {
		t.Errorf("%d %s", status, text)
	}
}
