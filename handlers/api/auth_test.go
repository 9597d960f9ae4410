package api

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/e2e/need"
	"sluice/flow"
)

func TestEveryRouteDeclaresItsAccess(t *testing.T) {
	t.Parallel()
	w := setup(t)
	declared := map[string]bool{}
	for _, r := range w.server.routes {
		declared[r.Method+" "+r.Path] = true
		if (r.Doc.ID == "") != r.Operator {
			t.Errorf("%s %s is not described", r.Method, r.Path)
		}
		if strings.HasPrefix(r.Path, "/v1/") && r.Open && r.Path != "/v1/openapi.json" {
			t.Errorf("%s %s needs no key", r.Method, r.Path)
		}
	}
	for _, r := range w.server.echo.Routes() {
		if !declared[r.Method+" "+r.Path] {
			t.Errorf("%s %s is in the router, not in the table", r.Method, r.Path)
		}
	}
}

// TestExtend_refuses_a_route_without_access checks that a route that names no scopes is not open to
// everybody by mistake.
func TestExtend_refuses_a_route_without_access(t *testing.T) {
	t.Parallel()
	w := setup(t)
	for name, r := range map[string]Route{"neither": {Path: "/v1/a"}, "both": {Path: "/v1/b", Open: true, Scopes: scopesRun}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("the route with %s was added", name)
				}
			}()
			w.server.Extend(Extension{Routes: []Route{r}})
		}()
	}
}

// matrix is the environment of the authorization matrix: the objects that its requests name.
type matrix struct {
	*env
	run, delivery, file, foreign, foreignRun, foreignFile string
}

func setupMatrix(t *testing.T) *matrix {
	m := &matrix{env: setup(t)}
	m.server.invalidKeys = 1 << 20 // all come from one address
	path := m.endedRun(m.echo, `{"ticket": "a"}`)
	m.run = path[strings.LastIndexByte(path, '/')+1:]
	m.delivery = m.ids.New(flow.PrefixDelivery)
	m.store.deliveries = append(m.store.deliveries, flow.DeliveryRecord{Delivery: flow.Delivery{
		ID: m.delivery, WorkspaceID: "default", FlowID: flow.FlowID(m.echo), RunID: flow.RunID(m.run), URL: "https://example.com", Body: []byte(`{}`), State: flow.DeliveryFailed}})
	m.foreign = m.addFlow("ws_other", echoDocument)
	other := m.addKey(flow.Key{WorkspaceID: "ws_other", Scopes: []flow.Scope{flow.ScopeRun}})
	a := m.send(request{method: "POST", path: "/v1/flow/" + m.foreign + "/run", key: other, body: `{"ticket": "a"}`, headers: []string{"Prefer", "wait=60"}})
	m.foreignRun = a.field("run_id").(string)
	m.file = m.uploaded("a.txt", "text/plain", []byte("hello"))
	m.foreignFile = m.files.put(flow.NewFile{WorkspaceID: "ws_other", Name: "a.txt"}, []byte("theirs")).ID
	return m
}

func (m *matrix) request(r *Route) request {
	path := strings.NewReplacer(":flow_id", m.echo, ":run_id", m.run, ":delivery_id", m.delivery, ":file_id", m.file, ":path", "ask").Replace(r.Path)
	out := request{method: r.Method, path: path}
	if strings.HasSuffix(r.Path, "/events") {
		out.headers = []string{"Accept", "text/event-stream"}
	}
	if r.Path == "/v1/files" {
		body, contentType := form(formPart{"file", "b.txt", "text/plain", []byte("b")})
		out.body, out.headers = body, []string{"Content-Type", contentType}
	}
	if r.Path == "/mcp" {
		out.body = `{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}`
	}
	if r.Method == "POST" && strings.HasSuffix(r.Path, "run") {
		out.body = `{"ticket": "b"}`
		if strings.HasSuffix(r.Path, "rerun") {
			out.body = `{}`
		}
	}
	return out
}

func TestAuthorizationMatrix(t *testing.T) {
	t.Parallel()
	need.Time(t)
	m := setupMatrix(t)
	all := flow.Scopes
	good := flow.NewKeyText()
	badSum := good[:len(good)-1] + string("AB"[strings.IndexByte("BA", good[len(good)-1])&1])
	if flow.ValidKeyText(badSum) {
		badSum = good[:len(good)-1] + "C"
	}
	full := m.addKey(flow.Key{Scopes: all})
	other := m.addFlow("default", echoDocument)
	tests := []struct {
		name    string
		key     string
		headers []string
		status  int
		code    flow.Code
	}{
		{"none", "-", nil, 401, flow.CodeKeyMissing},
		{"cookie only", "-", []string{"Cookie", "sluice_session=" + full + "; key=" + full}, 401, flow.CodeKeyMissing},
		{"basic", "-", []string{"Authorization", "Basic " + full}, 401, flow.CodeKeyInvalid},
		{"nothing after Bearer", "-", []string{"Authorization", "Bearer"}, 401, flow.CodeKeyInvalid},
		{"two", "-", []string{"X-Nothing", "1", "Authorization", "Bearer " + full + ", Bearer " + full}, 401, flow.CodeKeyInvalid},
		{"unknown", good, nil, 401, flow.CodeKeyInvalid},
		{"bad checksum", badSum, nil, 401, flow.CodeKeyInvalid},
		{"garbage", "\"'; DROP TABLE keys", nil, 401, flow.CodeKeyInvalid},
		{"revoked", m.addKey(flow.Key{Scopes: all, RevokedAt: time.Now()}), nil, 401, flow.CodeKeyRevoked},
		{"expired", m.addKey(flow.Key{Scopes: all, ExpiresAt: time.Now().Add(-time.Second)}), nil, 401, flow.CodeKeyExpired},
		{"no scope", m.addKey(flow.Key{}), nil, 403, flow.CodeScopeMissing},
		{"other workspace", m.addKey(flow.Key{Scopes: all, WorkspaceID: "ws_other"}), nil, 404, flow.CodeNotFound},
		{"flow not in its list", m.addKey(flow.Key{Scopes: all, Flows: []string{other}}), nil, 403, flow.CodeFlowNotAllowed},
	}
	for _, r := range m.server.routes {
		for _, test := range tests {
			req := m.request(r)
			req.key, req.headers = test.key, append(req.headers, test.headers...)
			a := m.send(req)
			switch {
			case r.Operator: // does not exist, whatever the key
				a.wantCode(t, 404, flow.CodeNotFound)
			case r.Open, slices.Contains([]string{"GET /v1/flow", "GET /v1/runs", "POST /mcp"}, r.Method+" "+r.Path) && (test.status == 404 || test.code == flow.CodeFlowNotAllowed):
				a.want(t, 200) // lists what there is for the key
			case slices.Contains([]string{"POST /v1/flow", "POST /v1/flow/import", "POST /v1/flow/validate", "POST /v1/apply"}, r.Method+" "+r.Path) && (test.status == 404 || test.code == flow.CodeFlowNotAllowed):
				// No flow is named yet; a key with a list is refused, or the empty body.
				if a.status != 415 && a.body["code"] != "flow_not_allowed" {
					t.Errorf("%s %s with %s: %d %v", r.Method, r.Path, test.name, a.status, a.body["code"])
				}
			case len(r.Scopes) == len(flow.Scopes) && (test.status == 404 || test.code == flow.CodeFlowNotAllowed):
				a.want(t, 200) // the secret of that key
			case r.Path == "/v1/files" && (test.status == 404 || test.code == flow.CodeFlowNotAllowed):
				a.want(t, 201) // keeps it for the key
			default:
				if (strings.HasPrefix(r.Path, "/v1/files/") || strings.HasPrefix(r.Path, "/v1/run/")) && test.code == flow.CodeFlowNotAllowed {
					test.status, test.code = 404, flow.CodeNotFound // callers without access cannot learn whether it exists
				}
				if a.status != test.status || r.Method != "HEAD" && a.body["code"] != string(test.code) {
					t.Errorf("%s %s with %s: %d %v, wanted %d %s", r.Method, r.Path, test.name, a.status, a.body["code"], test.status, test.code)
				}
				if got := a.header.Get("WWW-Authenticate"); (a.status == 401) != strings.HasPrefix(got, "Bearer") && a.status != 403 {
					t.Errorf("%s with %s: WWW-Authenticate %q", r.Path, test.name, got)
				}
			}
		}
	}
	if slices.Contains(m.store.asked, flow.Hash([]byte(badSum))) {
		t.Error("the database was asked for a key with a bad checksum")
	}
}

func TestScopes(t *testing.T) {
	t.Parallel()
	m := setupMatrix(t)
	for _, r := range m.server.routes {
		if r.Open {
			continue
		}
		for _, scope := range flow.Scopes {
			req := m.request(r)
			req.key = m.addKey(flow.Key{Scopes: []flow.Scope{scope}})
			a := m.send(req)
			may := slices.Contains(r.Scopes, scope)
			if (a.status == 403) == may || !may && r.Method != "HEAD" && a.body["code"] != "scope_missing" {
				t.Errorf("%s %s with scope %s: %d %v", r.Method, r.Path, scope, a.status, a.body["code"])
			}
		}
	}
}

// TestOtherWorkspaces_are_not_found checks that the objects of another workspace, unknown IDs
// and malformed IDs get the same response.
func TestOtherWorkspaces_are_not_found(t *testing.T) {
	t.Parallel()
	need.Time(t)
	m := setupMatrix(t)
	key := m.addKey(flow.Key{Scopes: flow.Scopes})
	listed := m.addKey(flow.Key{Scopes: flow.Scopes, Flows: []string{m.held}})
	flows := []string{m.foreign, m.ids.New(flow.PrefixFlow), "flow_x", "FLOW_" + m.echo[5:], strings.ToUpper(m.echo), "..", "%00", "%2e%2e%2f", m.run, strings.Repeat("a", 3000)}
	runs := []string{m.foreignRun, m.ids.New(flow.PrefixRun), "run_x", m.echo, "%27"}
	shapes := map[string]string{}
	ask := func(r *Route, path, body string, key string) {
		req := m.request(r)
		req.path, req.key = path, key
		if body != "" && req.body != "" {
			req.body = body
		}
		a := m.send(req)
		if a.status != 404 {
			t.Errorf("%s %s: %d %s", r.Method, path, a.status, a.raw)
			return
		}
		if r.Method != "HEAD" {
			shapes[m.shape(a)] = r.Method + " " + path
		}
	}
	for _, r := range m.server.routes {
		path := m.request(r).path
		if strings.Contains(r.Path, ":flow_id") {
			for _, id := range flows {
				for _, body := range []string{"", `{`, `{"run_options": 3}`} {
					ask(r, strings.Replace(path, m.echo, id, 1), body, key)
				}
				ask(r, strings.Replace(path, m.echo, id, 1), "", listed)
			}
		}
		if strings.Contains(r.Path, ":run_id") {
			for _, id := range runs {
				ask(r, strings.Replace(path, m.run, id, 1), "", key)
			}
			if !strings.Contains(path, m.echo) {
				ask(r, path, "", listed)
				continue
			}
			ask(r, strings.Replace(path, m.echo, m.held, 1), "", key)
		}
		if strings.Contains(r.Path, ":delivery_id") {
			for _, id := range []string{m.ids.New(flow.PrefixDelivery), "whd_x", m.run} {
				ask(r, strings.Replace(path, m.delivery, id, 1), "", key)
			}
		}
		if strings.Contains(r.Path, ":file_id") {
			for _, id := range []string{m.foreignFile, m.ids.New(flow.PrefixFile), "file_x", strings.ToUpper(m.file), m.run, "%00", ".."} {
				ask(r, strings.Replace(path, m.file, id, 1), "", key)
			}
			ask(r, path, "", listed)
		}
	}
	for _, path := range []string{"/nothing", "/v1", "/v1/", "/v1/flows", "/v1/file", "/mcp/", "/mcp/x", "/v1/flow/" + m.echo + "/", "//v1/flow"} {
		ask(m.server.routes[0], path, "", key)
		ask(m.server.routes[0], path, "", "-")
	}
	if len(shapes) != 1 {
		t.Errorf("%d different answers: %v", len(shapes), shapes)
	}
}

var ownParts = regexp.MustCompile(`"(instance|request_id)":"[^"]*"`)

// shape returns a response without the parts that differ between requests.
func (m *matrix) shape(a *reply) string {
	h := a.header.Clone()
	for _, name := range []string{"Date", "X-Request-Id", "Content-Length"} {
		h.Del(name)
	}
	return fmt.Sprint(h) + ownParts.ReplaceAllString(string(a.raw), `"$1":""`)
}

func TestKeyInURL(t *testing.T) {
	t.Parallel()
	w := setup(t)
	for _, query := range []string{"?key=x", "?api_key=x", "?access_token=", "?key=" + w.key, "?a=" + w.key, "?" + w.key, "?x=slu%5F" + w.key[4:], "?x=%zz" + w.key} {
		for _, key := range []string{w.key, "-"} {
			a := w.send(request{method: "GET", path: "/v1/flow" + query, key: key})
			a.wantCode(t, 400, flow.CodeKeyInURL)
			if strings.Contains(string(a.raw), w.key[4:]) {
				t.Errorf("the answer repeats the key: %s", a.raw)
			}
		}
	}
	for _, path := range []string{"/v1/flow/" + w.key, "/v1/flow/" + w.key + "/x", "/" + w.key} {
		if a := w.get(path); strings.Contains(string(a.raw), w.key) {
			t.Errorf("the answer repeats the key: %s", a.raw)
		}
	}
	w.get("/v1/flow?monkey=1").want(t, 200)
	if strings.Contains(w.log.String(), w.key) {
		t.Error("the log holds the key")
	}
}

func TestKeyUseIsRecorded(t *testing.T) {
	t.Parallel()
	w := setup(t)
	for range 3 {
		w.get("/v1/flow")
	}
	w.send(request{method: "GET", path: "/v1/flow", key: "-"})
	if err := w.server.Close(); err != nil {
		t.Fatal(err)
	}
	if err := w.server.Close(); err != nil {
		t.Fatal(err)
	}
	if len(w.store.uses) != 1 || w.store.uses[0].Count != 3 || w.store.uses[0].IP != "127.0.0.1" || w.store.uses[0].At.IsZero() {
		t.Errorf("uses are %+v", w.store.uses)
	}
}

func TestBearerIsCaseInsensitive(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.send(request{method: "GET", path: "/v1/flow", key: "-", headers: []string{"Authorization", "bearer  " + w.key}}).want(t, http.StatusOK)
}
