package handlers_test

import (
	"database/sql"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"sluice/e2e/need"
	"sluice/flow"
	"sluice/handlers/web"
	"sluice/handlers/webtest"
)

// maxAnswer is the size of a page, or of an answer of the API, with very many things behind it, in bytes.
const maxAnswer = 100 << 10

// notLists are the routes whose answers do not grow with the number of things in a workspace, or that download all of them as a file.
var notLists = map[string]string{
	"/licenses": "fixed text", "/v1/openapi.json": "fixed text", "/v1/kinds": "fixed", "/v1/schema/flow.json": "fixed text",
	"/runs/export": "a download", "/v1/audit": "a download", "/v1/flow/:flow_id/openapi.json": "a flow", "/flows/:flow/api/openapi.json": "a flow",
}

// manyOf inserts n copies of one row of a table, in which some columns are expressions over i.
func manyOf(t *testing.T, db *sql.DB, n int, table, where string, columns map[string]string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SELECT name FROM pragma_table_info(?)", table)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var names, values []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		value, changed := columns[name]
		if !changed {
			value = "r." + name
		}
		names, values = append(names, name), append(values, value)
	}
	if err := rows.Err(); err != nil || len(names) == 0 {
		t.Fatalf("the table %s has the columns %q, %v", table, names, err)
	}
	rows.Close()
	done, err := db.ExecContext(t.Context(), fmt.Sprintf(`WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < %d)
		INSERT INTO %s (%s) SELECT %s FROM n, (SELECT * FROM %s WHERE %s LIMIT 1) r`, n, table, strings.Join(names, ", "), strings.Join(values, ", "), table, where))
	if err != nil {
		t.Fatalf("%s: %v", table, err)
	}
	if got, _ := done.RowsAffected(); got != int64(n) {
		t.Fatalf("%d rows were inserted into %s, want %d", got, table, n)
	}
}

// TestLists_stay_small has 5,000 flows, 2,000 keys, 500 workspaces, 90 days of usage and many of everything else, and requests every page and every
// answer of the API.
func TestLists_stay_small(t *testing.T) {
	t.Parallel()
	need.Time(t)
	h := webtest.Setup(t)
	b, program := h.As(flow.MemberOwner), newCaller(h, nil, flow.Key{Scopes: flow.Scopes})
	id := h.PublishedFlow(webtest.Greeting)
	parent := h.Flow(`{"schema":"sluice.flow/v1","name":"Parent","nodes":[{"id":"child","kind":"subflow","config":{"flow":"` + id + `","input.who":"x"}}],"edges":[]}`)
	calling := h.Flow(`{"schema":"sluice.flow/v1","name":"Calling","nodes":[{"id":"chat","kind":"chat","config":{"model":"m/m","prompt":"Go","credential":{"credential":"many"}}}],"edges":[]}`)
	for _, r := range []struct{ method, path, body string }{
		{"PUT", "/v1/credentials/many", `{"secret": "x", "hosts": ["example.com"]}`},
		{"PUT", "/v1/flow/" + id + "/triggers/many", `{"every": "24h"}`},
		{"PUT", "/v1/alarms/many", `{"kind": "failed", "flow": "` + id + `"}`},
		{"POST", "/v1/flow/" + id + "/run", `{"who": "Ada"}`},
		{"POST", "/v1/knowledge", `{"name": "Many", "slug": "many"}`},
	} {
		if status, _, raw := program.send(r.method, r.path, r.body); status >= 300 {
			t.Fatalf("%s %s: %d %s", r.method, r.path, status, raw)
		}
	}
	db, text := h.Store.SQLite(), func(prefix, rest string) string { return fmt.Sprintf(`'%s' || printf('%%026d', i)%s`, prefix, rest) }
	only := fmt.Sprintf("id = '%s'", id)
	h.Ended(flow.RunID(firstRun(t, db)))
	manyOf(t, db, 5_000, "flows", only, map[string]string{"id": text("flow_", ""), "name": "'A flow with a rather long name, number ' || i", "slug": "'many-' || i", "tags": `'["tag' || (i % 20) || '"]'`})
	manyOf(t, db, 2_000, "flows", fmt.Sprintf("id = '%s'", calling), map[string]string{"id": "'flow_' || printf('%026d', i + 10000)", "name": "'A flow with a credential, number ' || i", "slug": "'calling-' || i"})
	manyOf(t, db, 5_000, "versions", "flow_"+only, map[string]string{"flow_id": text("flow_", "")})
	manyOf(t, db, 2_000, "keys", fmt.Sprintf("id = '%s'", program.key.ID), map[string]string{"id": text("key_", ""), "name": "'A key with a rather long name, number ' || i", "hash": "'hash ' || i", "runs_per_day": "i"})
	manyOf(t, db, 500, "workspaces", "id = 'default'", map[string]string{"id": text("ws_", ""), "name": "'A workspace with a rather long name, number ' || i"})
	manyOf(t, db, 500, "members", "role = 'owner' AND user_id = (SELECT id FROM users ORDER BY created_at DESC LIMIT 1)", map[string]string{"workspace_id": text("ws_", "")})
	manyOf(t, db, 20, "users", "true", map[string]string{"id": text("user_", ""), "email": "'person-' || i || '@example.com'"})
	manyOf(t, db, 20, "members", "true", map[string]string{"user_id": text("user_", ""), "workspace_id": "'default'", "role": "'viewer'"})
	manyOf(t, db, 100, "credentials", "name = 'many'", map[string]string{"id": text("cred_", ""), "name": "'many-' || i"})
	manyOf(t, db, 1_000, "triggers", "name = 'many'", map[string]string{"id": text("trg_", ""), "name": "'many-' || i", "flow_id": text("flow_", "")})
	manyOf(t, db, 100, "alarms", "name = 'many'", map[string]string{"id": text("alarm_", ""), "name": "'many-' || i"})
	manyOf(t, db, 100, "knowledge", "true", map[string]string{"id": text("kb_", ""), "name": "'Base number ' || i", "slug": "'many-' || i"})
	manyOf(t, db, 1_000, "runs", "true", map[string]string{"id": text("run_", "")})
	manyOf(t, db, 1_000, "audit", "true", map[string]string{"id": text("aud_", "")})
	manyOf(t, db, 90*200, "usage_daily", "true", map[string]string{
		"day": "date('now', '-' || (i % 90) || ' days')", "key_id": "'key_' || printf('%026d', i % 2000)", "flow_id": "'flow_' || printf('%026d', i / 90 * 7 % 5000)", "model": "'openai/model-' || (i / 90 % 20)", "bucket": "i % 20",
	})

	sizes := map[string]int{}
	replace := strings.NewReplacer(":flow_id", id, ":flow", id, ":key_id", string(program.key.ID), ":key", string(program.key.ID), ":name", "many", ":trigger", "many", ":alarm", "many", ":node", "sub", ":base", "many")
	more := url.Values{"range": {"90"}, "q": {"number"}}
	for _, r := range h.Server.Site.Routes() {
		path := replace.Replace(r.Path)
		if r.Method != http.MethodGet || notLists[r.Path] != "" || strings.HasSuffix(r.Path, "/events") || strings.HasSuffix(r.Path, "/export") || r.Access == web.Open || strings.Contains(path, ":") {
			continue
		}
		for _, path := range []string{path, path + "?" + more.Encode()} {
			sizes[path] = len(b.Get(path).Body)
		}
	}
	if page := b.Get("/credentials/many").Body; !strings.Contains(page, "more flows") {
		t.Error("the page of a credential does not say how many more flows use it")
	}
	sizes["the form of a subflow"] = len(b.Get("/flows/" + parent + "/node/child").Is(http.StatusOK).Body)
	sizes["the form of a model"] = len(b.Get("/flows/" + calling + "/node/chat").Is(http.StatusOK).Body)
	for _, r := range keyRoutes(h) {
		path := replace.Replace(r.Path)
		if r.Method != http.MethodGet || notLists[r.Path] != "" || strings.HasSuffix(r.Path, "/events") || strings.HasSuffix(r.Path, "/export") || strings.Contains(path, ":") {
			continue
		}
		_, _, raw := program.send(http.MethodGet, path, "")
		sizes[path] = len(raw)
	}
	for _, path := range []string{"/v1/usage?by=flow", "/v1/usage?by=key", "/v1/usage?by=model", "/v1/usage?by=key&limit=300", "/v1/credentials/many", "/v1/credentials"} {
		status, _, raw := program.send(http.MethodGet, path, "")
		if sizes[path] = len(raw); status != http.StatusOK {
			t.Errorf("%s: %d %s", path, status, raw)
		}
	}
	for _, url := range []string{"/mcp", "/mcp?tools=authoring"} {
		_, _, raw := program.send(http.MethodPost, url, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`)
		sizes["tools of "+url] = len(raw)
	}
	for _, path := range slices.Sorted(maps.Keys(sizes)) {
		most := maxAnswer
		if strings.HasPrefix(path, "/usage?") {
			most += maxAnswer / 2 // a table of 90 days
		}
		if sizes[path] > most {
			t.Errorf("%s has %d bytes", path, sizes[path])
		}
	}
	if len(sizes) < 100 {
		t.Errorf("only %d answers were measured", len(sizes))
	}
}

// firstRun returns the ID of the run that the test started.
func firstRun(t *testing.T, db *sql.DB) (id string) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), "SELECT id FROM runs ORDER BY id DESC LIMIT 1").Scan(&id); err != nil {
		t.Fatal(err)
	}
	return id
}
