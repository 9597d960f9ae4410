package handlers_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"sluice/e2e/need"
	"sluice/flow"
	"sluice/flow/library"
	"sluice/flow/triggers"
	"sluice/handlers/api"
	"sluice/handlers/webtest"
)

// caller sends requests to the API with a key.
type caller struct {
	h    *webtest.Env
	key  *flow.Key
	text string
}

// newCaller makes a key, by another program's key or, for nil, by the command line.
func newCaller(h *webtest.Env, maker *caller, k flow.Key) *caller {
	h.T.Helper()
	ring, by := library.Keyring{Store: h.Store, IDs: flow.NewIDs(), Now: h.Server.Site.Now}, flow.Actor{ID: "cli"}
	if maker != nil {
		ring.Caller, by.ID = maker.key, maker.key.ID
	}
	k.WorkspaceID, k.Name = flow.DefaultWorkspace, "program"
	text, err := ring.Create(h.T.Context(), by, &k)
	if err != nil {
		h.T.Fatal(err)
	}
	return &caller{h, &k, text}
}

// send returns the status of a response, its code if it is an error, and its body.
func (p *caller) send(method, path, body string) (status int, code, raw string) {
	p.h.T.Helper()
	r, err := http.NewRequestWithContext(p.h.T.Context(), method, p.h.Http.URL+path, strings.NewReader(body))
	if err != nil {
		p.h.T.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+p.text)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		p.h.T.Fatal(err)
	}
	defer a.Body.Close()
	data, _ := io.ReadAll(a.Body)
	var problem struct {
		Code  string
		Error struct{ Code string } // of the routes of OpenAI's API
	}
	_ = json.Unmarshal(data, &problem)
	return a.StatusCode, problem.Code + problem.Error.Code, string(data)
}

// routePath returns the path of a route for a flow, and for other things that are nowhere.
func routePath(r *api.Route, flowID string) string {
	return pathParts.ReplaceAllString(strings.Replace(r.Path, ":flow_id", flowID, 1), "none_01")
}

// keyRoutes returns all routes except those of the operator.
func keyRoutes(h *webtest.Env) []*api.Route {
	return slices.DeleteFunc(slices.Clone(h.Server.API.Routes()), func(r *api.Route) bool { return r.Operator })
}

// TestAPIRoutes_require_a_scope asks for every route, those of extensions too, with a
// key for each single scope, which a person or a key has made.
func TestAPIRoutes_require_a_scope(t *testing.T) {
	t.Parallel()
	need.Time(t)
	h := webtest.Setup(t)
	top := newCaller(h, nil, flow.Key{Scopes: flow.Scopes})
	seen := map[string]bool{}
	for _, r := range keyRoutes(h) {
		seen[r.Path] = true
		if len(r.Scopes) == 0 {
			if r.Path != "/v1/openapi.json" && r.Path != "/v1/schema/flow.json" && r.Path != "/livez" && r.Path != "/readyz" {
				t.Errorf("%s %s needs no key", r.Method, r.Path)
			}
			continue
		}
		id := h.PublishedFlow(webtest.PublishGreeting)
		for _, scope := range flow.Scopes {
			for name, maker := range map[string]*caller{"person": nil, "key": top} {
				p := newCaller(h, maker, flow.Key{Scopes: []flow.Scope{scope}})
				status, code, raw := p.send(r.Method, routePath(r, id), "")
				refused := status == http.StatusForbidden && (code == string(flow.CodeScopeMissing) || r.Method == http.MethodHead)
				if may := slices.Contains(r.Scopes, scope); refused == may {
					t.Errorf("%s %s with the scope %s of a %s: %d %s", r.Method, r.Path, scope, name, status, raw)
				}
			}
		}
	}
	for _, path := range []string{"/v1/keys", "/v1/keys/:key_id/rotate", "/v1/credentials/:name", "/v1/usage", "/v1/chat/completions", "/v1/models", "/v1/models/:flow_id", "/mcp", "/v1/apply"} {
		if !seen[path] {
			t.Errorf("the table of routes lacks %s", path)
		}
	}
}

// TestOperatorRoutes_do_not_exist_for_keys asks for the routes of the command line on the same machine
// with a key that may do everything.
func TestOperatorRoutes_do_not_exist_for_keys(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	p := newCaller(h, nil, flow.Key{Scopes: flow.Scopes})
	for _, r := range []struct{ method, path, body string }{
		{"GET", "/v1/local", ""}, {"POST", "/v1/local/users", `{"email": "eve@example.com", "role": "owner", "password": "violin harbor seventeen moss"}`},
		{"DELETE", "/v1/local/users?email=ada@example.com", ""}, {"PUT", "/v1/local/users/password", `{"email": "ada@example.com", "password": "violin harbor seventeen moss"}`},
		{"PUT", "/v1/local/credentials/openai/hosts", `{"hosts": ["evil.example.com"]}`},
	} {
		if status, code, raw := p.send(r.method, r.path, r.body); status != http.StatusNotFound || code != string(flow.CodeNotFound) {
			t.Errorf("%s %s: %d %s", r.method, r.path, status, raw)
		}
	}
	status, _, raw := p.send("GET", "/v1/openapi.json", "")
	if status != http.StatusOK || strings.Contains(raw, "/v1/local") {
		t.Errorf("the OpenAPI document (%d) has routes of the operator", status)
	}
	// What the operator may send on other routes is refused too.
	for _, body := range []string{`{"secret": "sk-right"}`, `{"secret": "sk-right", "provider": "openai", "hosts": ["evil.example.com"]}`} {
		if status, code, raw := p.send("PUT", "/v1/credentials/openai", body); code != string(flow.CodeInputInvalid) {
			t.Errorf("%s: %d %s", body, status, raw)
		}
	}
}

// beyondList are the routes without a flow in their path, with what a key for other flows gets:
// the code of an error, or "" for a response that has nothing of the other flow.
var beyondList = map[string]struct{ path, body, code string }{
	"GET /v1/flow":                               {"", "", ""},
	"GET /v1/runs":                               {"", "", ""},
	"GET /v1/run/:run_id":                        {"", "", "not_found"},
	"GET /v1/usage":                              {"?by=flow", "", ""},
	"GET /v1/models":                             {"", "", ""},
	"GET /v1/kinds":                              {"", "", ""},
	"GET /v1/keys":                               {"", "", ""},
	"GET /v1/webhook-secret":                     {"", "", ""},
	"GET /v1/timezone":                           {"", "", ""},
	"PUT /v1/timezone":                           {"", `{"timezone": "Europe/Berlin"}`, "flow_not_allowed"},
	"POST /v1/flow":                              {"", webtest.PublishGreeting, "flow_not_allowed"},
	"POST /v1/flow/validate":                     {"", webtest.PublishGreeting, ""},
	"POST /v1/apply":                             {"", `{"documents": [` + webtest.PublishGreeting + `]}`, "flow_not_allowed"},
	"POST /v1/schedules/preview":                 {"", `{"cron": "@daily"}`, ""},
	"GET /v1/companions":                         {"", "", ""},
	"GET /v1/companions/:companion":              {"", "", "flow_not_allowed"},
	"PUT /v1/companions/:companion":              {"", `{"schema": "sluice.notes/v1"}`, "flow_not_allowed"},
	"GET /v1/companions/:companion/history":      {"", "", "flow_not_allowed"},
	"GET /v1/alarms":                             {"", "", ""},
	"GET /v1/alarms/:alarm":                      {"", "", "not_found"},
	"GET /v1/alarms/:alarm/messages":             {"", "", "not_found"},
	"GET /v1/alarms/:alarm/secret":               {"", "", "not_found"},
	"PUT /v1/alarms/:alarm":                      {"", `{"kind": "failed", "flow": "FLOW"}`, "input_invalid"},
	"DELETE /v1/alarms/:alarm":                   {"", "", "not_found"},
	"POST /v1/alarms/:alarm/pause":               {"", "", "not_found"},
	"POST /v1/alarms/:alarm/resume":              {"", "", "not_found"},
	"POST /v1/alarms/:alarm/test":                {"", "", "not_found"},
	"POST /v1/alarms/:alarm/rotate":              {"", "", "not_found"},
	"POST /v1/files":                             {"", "", "unsupported_media_type"}, // keeps files for itself only
	"POST /v1/keys":                              {"", `{"name": "x"}`, ""},          // for the flows of its list
	"POST /mcp":                                  {"", `{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}`, ""},
	"POST /v1/chat/completions":                  {"", `{"model": "FLOW", "messages": [{"role": "user", "content": "x"}]}`, "flow_not_allowed"},
	"POST /v1/deliveries/:delivery_id/redeliver": {"", "", "not_found"}, // whose delivery it is, package api tests
	"GET /v1/files/:file_id":                     {"", "", "not_found"},
	"HEAD /v1/files/:file_id":                    {"", "", ""},
	"DELETE /v1/files/:file_id":                  {"", "", "not_found"},
	"GET /v1/keys/:key_id":                       {"", "", "flow_not_allowed"},
	"PATCH /v1/keys/:key_id":                     {"", `{"name": "x"}`, "flow_not_allowed"},
	"POST /v1/keys/:key_id/rotate":               {"", "", "flow_not_allowed"},
	"DELETE /v1/keys/:key_id":                    {"?cascade=true", "", "flow_not_allowed"},
	"GET /v1/credentials":                        {"", "", "flow_not_allowed"},
	"GET /v1/credentials/:name":                  {"", "", "flow_not_allowed"},
	"PUT /v1/credentials/:name":                  {"", `{"secret": "x", "provider": "openai"}`, "flow_not_allowed"},
	"DELETE /v1/credentials/:name":               {"", "", "flow_not_allowed"},
	"POST /v1/credentials/:name/test":            {"", "", "flow_not_allowed"},
	"POST /v1/credentials/:name/tools/check":     {"", "", "flow_not_allowed"},
	"DELETE /v1/credentials/:name/connection":    {"", "", "flow_not_allowed"},
	"GET /v1/users":                              {"", "", "flow_not_allowed"},
	"PATCH /v1/credentials/:name":                {"", `{"max_calls": 1}`, "flow_not_allowed"},
	"POST /v1/flow/import":                       {"", `{"documents": [` + webtest.PublishGreeting + `]}`, "flow_not_allowed"},
	"GET /v1/keys/:key_id/webhook-secret":        {"", "", "flow_not_allowed"},
	"GET /v1/prices":                             {"", "", ""},
	"PATCH /v1/prices":                           {"", `{"model": "openai/x", "call": 0}`, "flow_not_allowed"},
	"DELETE /v1/prices":                          {"?model=openai/x", "", "flow_not_allowed"},
	"GET /v1/workspaces":                         {"", "", "flow_not_allowed"},
	"GET /v1/workspaces/:workspace_id":           {"", "", "flow_not_allowed"},
	"PATCH /v1/workspaces/:workspace_id":         {"", `{"bytes": null}`, "flow_not_allowed"},
	"GET /v1/audit":                              {"", "", "flow_not_allowed"},
	"GET /v1/audit/verify":                       {"", "", "flow_not_allowed"},
	"GET /v1/providers":                          {"", "", ""}, // models are public, and documents may name any
	"GET /v1/providers/:provider/models":         {"", "", "not_found"},
	"GET /v1/hosted-models":                      {"", "", ""},
	"GET /v1/hosted-models/:owner/:model":        {"", "", "not_found"},
	"GET /v1/hosted-models/:owner/:model/diff":   {"?from=a", "", "not_found"},
}

// TestAPIRoutes_respect_the_list_of_flows asks for every route with a key that has all
// scopes and is for another flow. A key that it made is for that flow too.
func TestAPIRoutes_respect_the_list_of_flows(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	hidden, own := h.PublishedFlow(webtest.PublishGreeting), h.PublishedFlow(webtest.PublishGreeting)
	other := newCaller(h, nil, flow.Key{Scopes: flow.Scopes, Flows: []string{hidden}})
	first := newCaller(h, nil, flow.Key{Scopes: flow.Scopes, Flows: []string{own}})
	for _, p := range []*caller{first, newCaller(h, first, flow.Key{Scopes: flow.Scopes, Flows: []string{own}})} {
		for _, r := range keyRoutes(h) {
			if len(r.Scopes) == 0 {
				continue
			}
			name, want := r.Method+" "+r.Path, string(flow.CodeFlowNotAllowed)
			path, body := strings.Replace(routePath(r, hidden), "/v1/keys/none_01", "/v1/keys/"+other.key.ID, 1), ""
			if !strings.Contains(r.Path, ":flow_id") {
				test, known := beyondList[name]
				if !known {
					t.Errorf("%s is new: say in beyondList what a key for other flows gets", name)
					continue
				}
				path, body, want = path+test.path, strings.Replace(test.body, "FLOW", hidden, 1), test.code
			}
			status, code, raw := p.send(r.Method, path, body)
			if code != want || want == "" && status >= 500 || status < 300 && (strings.Contains(raw, hidden) || strings.Contains(raw, other.key.ID)) {
				t.Errorf("%s: %d %s, want %q", name, status, raw, want)
			}
		}
	}
	if f, err := h.Store.FindFlow(t.Context(), flow.DefaultWorkspace, flow.FlowID(hidden)); err != nil || !f.ArchivedAt.IsZero() {
		t.Errorf("the flow was changed: %v", err)
	}
	if k, err := h.Store.FindKey(t.Context(), flow.DefaultWorkspace, other.key.ID); err != nil || k.Name != "program" || !k.RevokedAt.IsZero() {
		t.Errorf("the key was changed: %v", err)
	}
}

// writes are the routes that change something or read a secret, with a request that succeeds. The words in capitals
// stand for IDs.
var writes = map[string]struct{ path, body string }{
	"POST /v1/flow":                                      {"/v1/flow", webtest.PublishGreeting},
	"PUT /v1/flow/:flow_id":                              {"/v1/flow/FLOW", webtest.PublishGreeting},
	"PUT /v1/flow/:flow_id/hooks/:hook":                  {"/v1/flow/TELLING/hooks/github", `{"verify": {"scheme": "none"}, "per_minute": 9}`},
	"GET /v1/flow/:flow_id/hooks/:hook":                  {"/v1/flow/TELLING/hooks/github", ""},
	"POST /v1/flow/:flow_id/hooks/:hook/rotate":          {"/v1/flow/TELLING/hooks/github/rotate", ""},
	"POST /v1/flow/:flow_id/hooks/:hook/capture":         {"/v1/flow/TELLING/hooks/github/capture", `{"on": true}`},
	"PUT /v1/flow/:flow_id/companions/:companion":        {"/v1/flow/FLOW/companions/triggers", `{"schema": "sluice.triggers/v1", "triggers": [{"name": "daily", "kind": "schedule", "cron": "@daily"}]}`},
	"POST /v1/flow/:flow_id/publish":                     {"/v1/flow/FLOW/publish", `{"allow_breaking": true}`},
	"POST /v1/flow/:flow_id/archive":                     {"/v1/flow/FLOW/archive", ""},
	"POST /v1/flow/:flow_id/restore":                     {"/v1/flow/FLOW/restore", ""},
	"POST /v1/apply":                                     {"/v1/apply", `{"documents": [` + strings.Replace(webtest.PublishGreeting, `"Greet"`, `"Applied"`, 1) + `]}`},
	"DELETE /v1/flow/:flow_id/run/:run_id":               {"/v1/flow/FLOW/run/RUN", ""},
	"POST /v1/flow/:flow_id/run/:run_id/cancel":          {"/v1/flow/WAITING/run/OPEN/cancel", ""},
	"DELETE /v1/files/:file_id":                          {"/v1/files/FILE", ""},
	"POST /v1/flow/:flow_id/run/:run_id/approvals/:path": {"/v1/flow/ASKING/run/ASKED/approvals/ask", `{"decision": "approved"}`},
	"POST /v1/deliveries/:delivery_id/redeliver":         {"/v1/deliveries/DELIVERY/redeliver", ""},
	"POST /v1/keys":                                      {"/v1/keys", `{"name": "x"}`},
	"PATCH /v1/keys/:key_id":                             {"/v1/keys/KEY", `{"name": "y"}`},
	"POST /v1/keys/:key_id/rotate":                       {"/v1/keys/KEY/rotate", ""},
	"DELETE /v1/keys/:key_id":                            {"/v1/keys/KEY", ""},
	"PUT /v1/credentials/:name":                          {"/v1/credentials/a", `{"secret": "x", "provider": "openai"}`},
	"POST /v1/credentials/:name/test":                    {"/v1/credentials/a/test", ""},
	"DELETE /v1/credentials/:name":                       {"/v1/credentials/a", ""},
	"PATCH /v1/credentials/:name":                        {"/v1/credentials/a", `{"max_calls": 3}`},
	"PATCH /v1/prices":                                   {"/v1/prices", `{"model": "openai/x", "call": 0.01}`},
	"DELETE /v1/prices":                                  {"/v1/prices?model=openai/x", ""},
	"PATCH /v1/flow/:flow_id/limits":                     {"/v1/flow/FLOW/limits", `{"max_queued": 900}`},
	"POST /v1/flow/:flow_id/webhooks/:node/rotate":       {"/v1/flow/TELLING/webhooks/hook/rotate", ""},
	"PATCH /v1/workspaces/:workspace_id":                 {"/v1/workspaces/default", `{"runs": 100000}`},
	"GET /v1/keys/:key_id/webhook-secret":                {"/v1/keys/OWN/webhook-secret", ""},
	"GET /v1/flow/:flow_id/webhooks":                     {"/v1/flow/TELLING/webhooks", ""},
	"PUT /v1/alarms/:alarm":                              {"/v1/alarms/broken", `{"kind": "failed", "to": [{"webhook": "https://example.com/x"}]}`},
	"POST /v1/alarms/:alarm/pause":                       {"/v1/alarms/broken/pause", ""},
	"POST /v1/alarms/:alarm/resume":                      {"/v1/alarms/broken/resume", ""},
	"POST /v1/alarms/:alarm/test":                        {"/v1/alarms/broken/test", ""},
	"POST /v1/alarms/:alarm/rotate":                      {"/v1/alarms/broken/rotate", ""},
	"DELETE /v1/alarms/:alarm":                           {"/v1/alarms/broken", ""},
	"PUT /v1/flow/:flow_id/triggers/:trigger":            {"/v1/flow/TELLING/triggers/daily", `{"cron": "@daily", "inputs": {"word": "x"}}`},
	"POST /v1/flow/:flow_id/triggers/:trigger/pause":     {"/v1/flow/TELLING/triggers/daily/pause", ""},
	"POST /v1/flow/:flow_id/triggers/:trigger/resume":    {"/v1/flow/TELLING/triggers/daily/resume", ""},
	"POST /v1/flow/:flow_id/triggers/:trigger/now":       {"/v1/flow/TELLING/triggers/daily/now", ""},
	"DELETE /v1/flow/:flow_id/triggers/:trigger":         {"/v1/flow/TELLING/triggers/daily", ""},
	"PUT /v1/flow/:flow_id/cases/:case":                  {"/v1/flow/FLOW/cases/one", `{"inputs": {"who": "Ada"}}`},
	"POST /v1/flow/:flow_id/cases/from-event":            {"/v1/flow/TELLING/cases/from-event", `{"hook": "github", "event": "captured"}`},
	"POST /v1/flow/:flow_id/cases/labels":                {"/v1/flow/FLOW/cases/labels", `{"csv": "case,greeting\none,Hello\n"}`},
	"POST /v1/flow/:flow_id/cases/from-runs":             {"/v1/flow/FLOW/cases/from-runs", `{"filter": {"status": ["succeeded"]}}`},
	"DELETE /v1/flow/:flow_id/cases/:case":               {"/v1/flow/FLOW/cases/one", ""},
	"POST /v1/flow/:flow_id/recordings":                  {"/v1/flow/FLOW/recordings", `{"recordings": [{"schema": "sluice.recording/v1", "node": "x", "node_hash": "0000000000000000", "input_hash": "0000000000000000", "outputs": {}}]}`},
	"PUT /v1/timezone":                                   {"/v1/timezone", `{"timezone": "Europe/Berlin"}`},
	"POST /v1/flow/import":                               {"/v1/flow/import", `{"documents": [` + webtest.PublishGreeting + `]}`},
}

// unaudited are the routes that write no entry, because they change nothing or their key is recorded
// elsewhere.
var unaudited = map[string]string{
	"POST /v1/flow/validate":                            "changes nothing",
	"POST /v1/credentials/:name/tools/check":            "needs an MCP server; a test of handlers/admin reads its entry",
	"DELETE /v1/credentials/:name/connection":           "needs somebody who signed in to an MCP server; a test of e2e reads its entry",
	"POST /v1/schedules/preview":                        "changes nothing",
	"PUT /v1/companions/:companion":                     "what the file holds says what is recorded",
	"POST /v1/flow/:flow_id/run":                        "the run has the key",
	"POST /v1/flow/:flow_id/run/:run_id/rerun":          "the run has the key",
	"POST /v1/flow/:flow_id/batches":                    "the run has the key",
	"POST /v1/flow/:flow_id/tests":                      "the run has the key",
	"POST /v1/flow/:flow_id/tests/:test/marks":          "the mark has the key",
	"PUT /v1/flow/:flow_id/tests/:test/notes":           "the report has the text and who wrote it",
	"POST /v1/flow/:flow_id/tests/:test/cancel":         "only stops a test",
	"POST /v1/flow/:flow_id/tests/:test/retry":          "the run has the key",
	"POST /v1/flow/:flow_id/tests/:test/expect":         "needs a report; TestTests_use_a_result_as_expected reads its entry",
	"POST /v1/flow/:flow_id/triggers/:trigger/backfill": "the run has the key",
	"PATCH /v1/flow/:flow_id/batches/:run_id":           "only changes when rows start",
	"POST /v1/chat/completions":                         "the run has the key",
	"POST /mcp":                                         "the run has the key",
	"POST /v1/files":                                    "the file has the key",
}

// TestAPIWrites_are_audited executes every route that changes something, and looks
// for the acting key in the audit log.
func TestAPIWrites_are_audited(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	p := newCaller(h, nil, flow.Key{Scopes: flow.Scopes})
	id := h.PublishedFlow(webtest.PublishGreeting)
	other := newCaller(h, nil, flow.Key{Scopes: []flow.Scope{flow.ScopeRun}})
	run, err := h.Call(id, p.key, map[string]any{"who": "Ada"})
	if err != nil {
		t.Fatal(err)
	}
	waiting, let := h.SlowFlow()
	defer close(let)
	h.Publish(waiting)
	open := startRun(p, waiting)
	asking := h.PublishedFlow(`{"schema":"sluice.flow/v1","name":"Ask","nodes":[
		{"id":"ask","kind":"approval","config":{"title":"Go?","audience":"anyone with the link"}}, {"id":"out","kind":"output","config":{"name":"out"}}],
		"edges":[{"from":"ask.approved","to":"out.value"}]}`)
	asked := startRun(other, asking)
	watch := h.Runner.WatchRun(asked)
	defer watch.Stop()
	for {
		r, err := h.Store.FindRun(t.Context(), flow.DefaultWorkspace, flow.FlowID(asking), asked)
		if err != nil || r.State.Ended() {
			t.Fatalf("the run asks nothing: %+v, %v", r, err)
		}
		if r.State == flow.RunWaiting {
			break
		}
		<-watch.Changes
	}
	telling := h.PublishedFlow(webtest.WebhookFlow(webtest.NewHook(t, http.StatusOK).URL))
	delivery := h.DeliverWebhook(telling, "delivered")
	file, err := h.Store.SaveFile(t.Context(), flow.NewFile{WorkspaceID: flow.DefaultWorkspace, Name: "a.txt", KeyID: p.key.ID, MaxSize: 100}, strings.NewReader("a"))
	if err != nil {
		t.Fatal(err)
	}
	fill := strings.NewReplacer("FLOW", id, "RUN", string(run.ID), "WAITING", waiting, "OPEN", string(open), "ASKING", asking, "ASKED", string(asked), "DELIVERY", delivery, "TELLING", telling, "KEY", other.key.ID, "OWN", p.key.ID, "FILE", file.ID)
	if status, raw := sendWrite(p, http.MethodPut, "/v1/flow/"+telling+"/hooks/github", `{"verify": {"scheme": "none"}}`); status != http.StatusOK {
		t.Fatalf("%d %s", status, raw)
	}
	hook, err := h.Store.FindTrigger(t.Context(), flow.DefaultWorkspace, flow.FlowID(telling), "github")
	if err != nil {
		t.Fatal(err)
	}
	captured := &triggers.Event{TriggerID: hook.ID, Key: "captured", WorkspaceID: hook.WorkspaceID, FlowID: hook.FlowID, State: triggers.Rejected, Code: flow.CodeInputInvalid, Request: `{"method": "POST", "headers": {"content-type": "application/json"}, "body": "{}", "size": 2}`}
	if err := h.Store.SaveHookEvent(t.Context(), captured); err != nil {
		t.Fatal(err)
	}
	helpBase(h)
	table := keyRoutes(h)
	order := []string{"GET", "PUT", "PATCH", "POST", "DELETE"} // so that there is something to publish and to delete
	slices.SortStableFunc(table, func(a, b *api.Route) int {
		return slices.Index(order, a.Method) - slices.Index(order, b.Method)
	})
	for _, r := range table {
		name := r.Method + " " + r.Path
		if r.Method == http.MethodGet && len(r.Audit) == 0 || r.Method == http.MethodHead || unaudited[name] != "" {
			continue
		}
		w, known := writes[name]
		if !known {
			t.Errorf("%s is new: name a request in writes, and in Route.Audit the actions that it writes to the audit log", name)
			continue
		}
		before := audited(h, p)
		status, raw := sendWrite(p, r.Method, fill.Replace(w.path), w.body)
		if status >= 300 {
			t.Errorf("%s: %d %s", name, status, raw)
			continue
		}
		var added []string
		for _, e := range audited(h, p) {
			if !slices.ContainsFunc(before, func(b flow.AuditEntry) bool { return b.ID == e.ID }) {
				added = append(added, e.Action)
			}
		}
		if len(added) == 0 || slices.ContainsFunc(added, func(action string) bool { return !slices.Contains(r.Audit, action) }) {
			t.Errorf("%s wrote %q to the audit log under its key, but declares %q", name, added, r.Audit)
		}
	}
}

// startRun starts a run and returns its ID.
func startRun(p *caller, flowID string) flow.RunID {
	p.h.T.Helper()
	_, _, raw := p.send("POST", "/v1/flow/"+flowID+"/run", "{}")
	var run struct {
		ID flow.RunID `json:"run_id"`
	}
	if err := json.Unmarshal([]byte(raw), &run); err != nil || run.ID == "" {
		p.h.T.Fatalf("no run was started: %s", raw)
	}
	return run.ID
}

// sendWrite sends a request, with the ETag of the draft where it needs one.
func sendWrite(p *caller, method, path, body string) (int, string) {
	p.h.T.Helper()
	tag := `"rev-0"` // of a file beside the flow
	if !strings.Contains(path, "/companions/") {
		if method != http.MethodPut || !strings.HasPrefix(path, "/v1/flow/") || strings.Count(path, "/") > 3 {
			status, _, raw := p.send(method, path, body)
			return status, raw
		}
		f, err := p.h.Store.FindFlow(p.h.T.Context(), flow.DefaultWorkspace, flow.FlowID(strings.TrimPrefix(path, "/v1/flow/")))
		if err != nil {
			p.h.T.Fatal(err)
		}
		tag = fmt.Sprintf(`"rev-%d"`, f.Rev)
	}
	r, _ := http.NewRequestWithContext(p.h.T.Context(), method, p.h.Http.URL+path, strings.NewReader(strings.Replace(body, "Hello", "Hi", 1)))
	r.Header.Set("Authorization", "Bearer "+p.text)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("If-Match", tag)
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		p.h.T.Fatal(err)
	}
	defer a.Body.Close()
	data, _ := io.ReadAll(a.Body)
	return a.StatusCode, string(data)
}

// audited returns the entries of a caller's key.
func audited(h *webtest.Env, p *caller) (list []flow.AuditEntry) {
	h.T.Helper()
	log, err := h.Store.ListAudit(h.T.Context(), flow.DefaultWorkspace, "", 1000)
	if err != nil {
		h.T.Fatal(err)
	}
	for _, e := range log {
		if e.Actor == p.key.ID && e.IP != "" {
			list = append(list, e)
		}
	}
	return list
}
