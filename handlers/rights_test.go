package handlers_test

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"sluice/docs"
	"sluice/flow"
	"sluice/handlers/api"
	"sluice/handlers/webtest"
	"sluice/views/console"
)

var update = flag.Bool("update", false, "write the tables of docs/keys.md")

// TestKeysPage_lists_the_rights checks that docs/keys.md explains every scope and lists every route as it is
// declared.
func TestKeysPage_lists_the_rights(t *testing.T) {
	h := webtest.Setup(t)
	have := readFile(t, "../docs/keys.md")
	want := have
	for name, text := range map[string]string{"scopes": scopeTable(t), "rights": rightsTable(h.Server.API.Routes())} {
		var err error
		if want, err = docs.Fill(want, name, text); err != nil {
			t.Fatal(err)
		}
	}
	if *update {
		if err := os.WriteFile("../docs/keys.md", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if have != want {
		t.Error("docs/keys.md is out of date; run go test ./handlers -run TestKeysPage -update")
	}
}

// TestRoutes_name_doors_that_exist checks the commands and tools that routes declare, and that every tool
// for authors is declared by one route.
func TestRoutes_name_doors_that_exist(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	commands := readFile(t, "../docs/cli.md")
	p := newCaller(h, nil, flow.Key{Scopes: flow.Scopes})
	_, _, tools := p.send("POST", "/mcp?tools=authoring", `{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}`)
	declared := 0
	for _, r := range h.Server.API.Routes() {
		for _, c := range r.Commands {
			if !strings.Contains(commands, "# `sluice "+c+"`\n") {
				t.Errorf("%s %s names the command %q, which does not exist", r.Method, r.Path, c)
			}
		}
		if r.Tool == "" {
			continue
		}
		declared++
		if !strings.Contains(tools, `"name":"`+r.Tool+`"`) {
			t.Errorf("%s %s names the tool %q, which does not exist", r.Method, r.Path, r.Tool)
		}
	}
	if n := strings.Count(tools, `"inputSchema"`); n != declared {
		t.Errorf("routes name %d tools for authors, not %d: %s", declared, n, tools)
	}
}

// TestLimitedKeys_are_refused_what_routes_declare asks for the routes that declare a difference for keys
// with limits, with a request that would loosen something.
func TestLimitedKeys_are_refused_what_routes_declare(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id := h.PublishedFlow(webtest.PublishGreeting)
	admin := newCaller(h, nil, flow.Key{Scopes: flow.Scopes})
	other := newCaller(h, nil, flow.Key{Scopes: []flow.Scope{flow.ScopeRun}, RPM: 5})
	for _, r := range []struct{ method, path, body string }{
		{"PATCH", "/v1/flow/" + id + "/limits", `{"max_queued": 9}`}, {"PUT", "/v1/credentials/none_01", `{"secret": "x", "provider": "openai", "max_calls": 1}`},
		{"PUT", "/v1/flow/" + id + "/hooks/site", `{"verify": {"scheme": "none"}}`}, {"PUT", "/v1/flow/" + id + "/triggers/nightly", `{"every": "24h"}`},
		{"PUT", "/v1/alarms/loud", `{"kind": "failed", "flow": "` + id + `", "to": [{"webhook": "https://example.com/x"}]}`},
	} {
		if status, _, raw := admin.send(r.method, r.path, r.body); status != 200 {
			t.Fatalf("%s %s: %d %s", r.method, r.path, status, raw)
		}
	}
	limited := newCaller(h, nil, flow.Key{Scopes: flow.Scopes, RPM: 1000})
	bodies := map[string]string{"/v1/keys/:key_id": `{"rpm": 600}`, "/v1/credentials/:name": `{"max_calls": 5}`, "/v1/prices": `{"model": "openai/x", "call": 1}`,
		"/v1/flow/:flow_id/limits": `{"max_queued": 10}`, "/v1/workspaces/:workspace_id": `{"runs": 5}`, "/v1/flow/:flow_id/hooks/:hook": `{"verify": {"scheme": "none"}}`, "/v1/flow/:flow_id/triggers/:trigger": `{"every": "25h"}`,
		"/v1/alarms/:alarm": `{"kind": "failed", "flow": "` + id + `", "count": 2}`, "/v1/companions/:companion": `{"schema": "sluice.alarms/v1", "alarms": [{"name": "all", "kind": "failed"}]}`,
		"/v1/flow/:flow_id/companions/:companion": `{"schema": "sluice.triggers/v1", "triggers": [{"name": "daily", "kind": "schedule", "cron": "@daily"}]}`}
	for _, r := range keyRoutes(h) {
		if r.Limited == "" {
			continue
		}
		path := strings.NewReplacer("/keys/:key_id", "/keys/"+other.key.ID, ":workspace_id", "default", ":hook", "site", ":trigger", "nightly", ":alarm", "loud", "/v1/companions/:companion", "/v1/companions/alarms", ":companion", "triggers").Replace(r.Path)
		path = routePath(&api.Route{Path: path}, id)
		if r.Method == "DELETE" {
			path += "?model=openai/x"
		}
		if status, raw := sendWrite(limited, r.Method, path, bodies[r.Path]); !strings.Contains(raw, `"code":"`+string(flow.CodeExceedsKey)+`"`) {
			t.Errorf("%s %s by a key with limits: %d %s", r.Method, r.Path, status, raw)
		}
	}
}

// scopeTable returns the table of scopes.
func scopeTable(t *testing.T) string {
	t.Helper()
	text := "| Scope | Lets a program |\n|---|---|\n"
	var named []flow.Scope
	for _, s := range console.Scopes {
		named = append(named, flow.Scope(s.Scope))
		text += fmt.Sprintf("| `%s` | %s |\n", s.Scope, s.Text)
	}
	if !slices.Equal(named, flow.Scopes) {
		t.Errorf("the form explains %q, not %q", named, flow.Scopes)
	}
	return text
}

// rightsTable returns the table of all routes, by path.
func rightsTable(routes []*api.Route) string {
	routes = slices.SortedStableFunc(slices.Values(routes), func(a, b *api.Route) int { return cmp.Compare(a.Path, b.Path) })
	text := "| Route | Scopes | Member | Audit log | Command | MCP tool | Key with limits |\n|---|---|---|---|---|---|---|\n"
	for _, r := range routes {
		who, limited := words(r.Scopes), cmp.Or(r.Limited, "yes")
		switch {
		case r.Open:
			who, limited = "no key", ""
		case r.Operator:
			who, limited = "operator", ""
		}
		text += fmt.Sprintf("| `%s %s` | %s | %s | %s | %s | %s | %s |\n", r.Method, pathParts.ReplaceAllStringFunc(r.Path, func(p string) string { return "{" + p[1:] + "}" }),
			who, r.Role, words(r.Audit), words(r.Commands), r.Tool, limited)
	}
	return text
}

// words returns texts separated by commas. They are not code, because the browser breaks code inside
// of words in a narrow column.
func words[T ~string](list []T) string {
	texts := make([]string, len(list))
	for i, s := range list {
		texts[i] = string(s)
	}
	return strings.Join(texts, ", ")
}

// readFile returns the content of a file.
func readFile(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
