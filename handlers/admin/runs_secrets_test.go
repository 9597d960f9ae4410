package admin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"

	"sluice/flow"
)

// memory is a service that remembers the headers of every request to /use and returns them, in
// several encodings, in every other response.
type memory struct {
	*httptest.Server
	mu   sync.Mutex
	seen []string
}

func newMemory(t *testing.T) *memory {
	t.Helper()
	m := &memory{}
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		m.mu.Lock()
		defer m.mu.Unlock()
		if r.URL.Path == "/use" {
			m.seen = append(m.seen, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), r.Header.Get("X-Api-Key"))
			_, _ = io.WriteString(w, `{"ok":true}`)
			return
		}
		if r.URL.Path == "/fail" {
			w.WriteHeader(http.StatusTeapot)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"last": m.seen, "text": "we got " + strings.Join(m.seen, " and ")})
	}))
	t.Cleanup(m.Close)
	return m
}

const (
	canaryInput      = "canary-input-1a2b3c4d"
	canaryCredential = "canary-credential-5e6f7a8b"
)

// secretsEnv is a server with a credential for the memory, whose use is part of a flow.
func secretsEnv(t *testing.T) (*reach, *memory) {
	t.Helper()
	e, m := &reach{env: setup(t)}, newMemory(t)
	host := strings.TrimPrefix(m.URL, "http://")
	if err := e.Store.SaveCredential(t.Context(), flow.Credential{WorkspaceID: flow.DefaultWorkspace, Name: "mine", Hosts: []string{host}}, canaryCredential); err != nil {
		t.Fatal(err)
	}
	return e, m
}

// use is a node that sends both secrets.
func use(url string) string {
	return `{"id":"use","kind":"http_request","config":{"url":"` + url + `/use","headers":{"Authorization":"Bearer {{key}}","X-Api-Key":{"credential":"mine"}}}}`
}

// peek is a node that reads the memory; it does not name a secret.
func peek(id, url, path string) string {
	return fmt.Sprintf(`{"id":%q,"kind":"http_request","config":{"url":%q},"on_error":"route"}`, id, url+path)
}

// wantNoCanary checks everything that a run shows, also to people with full access.
func (r *reach) wantNoCanary(key, path string, want ...string) {
	r.T.Helper()
	for _, below := range []string{"", "/result", "/steps", "/events", "/children", "/approvals"} {
		got := r.sendWith(key, "GET", path+below, "", "Accept", "*/*")
		if strings.Contains(got.raw, "canary-") {
			r.T.Errorf("%s shows a secret: %s", path+below, got.raw)
		}
		if below == "/steps" {
			for _, part := range want {
				if !strings.Contains(got.raw, part) {
					r.T.Errorf("%s lacks %s: %s", path+below, part, got.raw)
				}
			}
		}
	}
}

// approve answers the question of a run, so that it continues in another execution, as after a
// restart.
func (r *reach) approve(id flow.RunID) {
	r.T.Helper()
	watch := r.Runner.WatchRun(id)
	defer watch.Stop()
	for range watch.Changes {
		run, err := r.Store.FindRun(context.Background(), flow.DefaultWorkspace, "", id)
		if err != nil || run.State.Ended() {
			r.T.Fatalf("the run is %+v, %v", run, err)
		}
		if run.State == flow.RunWaiting {
			break
		}
	}
	_, key := r.env.key(flow.Key{Scopes: []flow.Scope{flow.ScopeApprove}})
	run, err := r.Store.FindRun(context.Background(), flow.DefaultWorkspace, "", id)
	if err != nil {
		r.T.Fatal(err)
	}
	r.send(key, "POST", fmt.Sprintf("/v1/flow/%s/run/%s/approvals/ask", run.FlowID, id), `{"decision":"approved"}`).want(200, "")
}

// TestRun_redacts_secrets_in_later_steps lets a service return, in later steps, the secrets that an
// earlier step sent: in a result, an error, the log of a webhook and a child run, before and after
// the run has waited.
func TestRun_redacts_secrets_in_later_steps(t *testing.T) {
	t.Parallel()
	r, m := secretsEnv(t)
	r.PublishedFlow(`{"schema":"sluice.flow/v1","name":"Child","slug":"child","nodes":[{"id":"go","kind":"input","config":{"name":"go","type":"json"}},
 ` + strings.ReplaceAll(peek("peek", m.URL, "/last?{{go}}"), `,"on_error":"route"`, "") + `,{"id":"out","kind":"output","config":{"name":"got"}}],
 "edges":[{"from":"go.value","to":"peek.go"},{"from":"peek.body","to":"out.value"}]}`)
	parent := r.PublishedFlow(`{"schema":"sluice.flow/v1","name":"Parent","slug":"parent","nodes":[
 {"id":"key","kind":"input","config":{"name":"key","secret":true}},` + use(m.URL) + `,
 ` + peek("soon", m.URL, "/last?{{after}}") + `,{"id":"ask","kind":"approval","config":{"values":["shown"]}},
 ` + peek("later", m.URL, "/last?{{after}}") + `,` + peek("wrong", m.URL, "/fail?{{after}}") + `,
 {"id":"call","kind":"subflow","config":{"flow":"child"}},{"id":"hook","kind":"webhook","config":{"url":"` + m.URL + `/hook"}},
 {"id":"out","kind":"output","config":{"name":"got"}}],
 "edges":[{"from":"key.value","to":"use.key"},{"from":"use.status","to":"soon.after"},{"from":"soon.body","to":"ask.shown"},
 {"from":"ask.approved","to":"later.after"},{"from":"later.status","to":"wrong.after"},{"from":"later.body","to":"call.input.go"},{"from":"call.got","to":"out.value"}]}`)
	_, key := r.env.key(flow.Key{Scopes: flow.Scopes})
	started := r.sendWith(key, "POST", "/v1/flow/parent/run", `{"key":"`+canaryInput+`"}`, "X-Test", "no wait").want(202, "")
	id := flow.RunID(fmt.Sprint(started.body["run_id"]))
	r.approve(id)
	if run := r.Ended(id); run.State != flow.RunSucceeded {
		t.Fatalf("the run is %s: %v", run.State, run.Error)
	}
	if len(m.seen) != 2 || m.seen[0] != canaryInput || m.seen[1] != canaryCredential {
		t.Fatalf("the service got %q", m.seen)
	}
	r.wantNoCanary(key, "/v1/flow/parent/run/"+string(id), `we got [secret] and [secret]`, `"soon"`, `"later"`, `"wrong"`)
	list := r.send(key, "GET", "/v1/flow/parent/run/"+string(id)+"/children", "").want(200, "")
	found := regexp.MustCompile(`"run_id":"(run_[0-9a-z]+)"`).FindAllStringSubmatch(list.raw, -1)
	if len(found) == 0 {
		t.Fatalf("children %s", list.raw)
	}
	r.wantNoCanary(key, "/v1/flow/child/run/"+found[len(found)-1][1], `we got [secret] and [secret]`)
	r.DeliveryIs(parent, string(flow.DeliveryDelivered))
	if got := r.send(key, "GET", "/v1/flow/parent/deliveries", ""); strings.Contains(got.raw, "canary-") || !strings.Contains(got.raw, "we got [secret]") {
		t.Errorf("the log of deliveries: %s", got.raw)
	}
}

// TestRun_redacts_secrets_of_child_runs lets a child use a secret that its caller gets back.
func TestRun_redacts_secrets_of_child_runs(t *testing.T) {
	t.Parallel()
	r, m := secretsEnv(t)
	r.PublishedFlow(`{"schema":"sluice.flow/v1","name":"Child","slug":"child","nodes":[
 ` + strings.ReplaceAll(use(m.URL), "Bearer {{key}}", "Bearer none-at-all") + `,{"id":"out","kind":"output","config":{"name":"got"}}],"edges":[{"from":"use.status","to":"out.value"}]}`)
	r.PublishedFlow(`{"schema":"sluice.flow/v1","name":"Parent","slug":"parent","nodes":[
 {"id":"call","kind":"subflow","config":{"flow":"child"}},` + peek("later", m.URL, "/last?{{after}}") + `,{"id":"out","kind":"output","config":{"name":"got"}}],
 "edges":[{"from":"call.got","to":"later.after"},{"from":"later.body","to":"out.value"}]}`)
	_, key := r.env.key(flow.Key{Scopes: flow.Scopes})
	started := r.send(key, "POST", "/v1/flow/parent/run", `{}`).want(200, "")
	if m.seen[1] != canaryCredential {
		t.Fatalf("the service got %q", m.seen)
	}
	r.wantNoCanary(key, fmt.Sprintf("/v1/flow/parent/run/%v", started.body["run_id"]), `[secret]`)
}

// TestRun_keeps_data_that_a_step_uses_as_a_secret passes a token from one step to others. It is data
// of the run, so a text that contains it stays as it is, except where a service returns it.
func TestRun_keeps_data_that_a_step_uses_as_a_secret(t *testing.T) {
	t.Parallel()
	r, m := secretsEnv(t)
	r.PublishedFlow(`{"schema":"sluice.flow/v1","name":"Token","slug":"token","nodes":[
 {"id":"token","kind":"input","config":{"name":"token"}},
 {"id":"call","kind":"http_request","config":{"url":"` + m.URL + `/use","headers":{"Authorization":"Bearer {{t}}"}}},
 {"id":"words","kind":"template","config":{"template":"Bearer {{t}} {{status}}"}},{"id":"out","kind":"output","config":{"name":"got"}}],
 "edges":[{"from":"token.value","to":"call.t"},{"from":"token.value","to":"words.t"},{"from":"call.status","to":"words.status"},{"from":"words.text","to":"out.value"}]}`)
	_, key := r.env.key(flow.Key{Scopes: flow.Scopes})
	if got := r.send(key, "POST", "/v1/flow/token/run", `{"token":"plain-token-of-a-login"}`).want(200, ""); !strings.Contains(got.raw, `"got":"Bearer plain-token-of-a-login 200"`) {
		t.Errorf("outputs %s", got.raw)
	}
}
