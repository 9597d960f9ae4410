package admin_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"sluice/flow"
	"sluice/flow/library"
	"sluice/handlers"
	"sluice/handlers/webtest"
)

func TestMain(m *testing.M) { webtest.Main(m) }

// env is a server with the real store and engine.
type env struct{ *webtest.Env }

func setup(t *testing.T, set ...func(*handlers.Config)) *env { return &env{webtest.Setup(t, set...)} }

// key creates a key and returns it with its secret.
func (e *env) key(k flow.Key) (*flow.Key, string) {
	e.T.Helper()
	if k.WorkspaceID == "" {
		k.WorkspaceID = flow.DefaultWorkspace
	}
	if k.Name == "" {
		k.Name = "test"
	}
	ring := library.Keyring{Store: e.Store, IDs: flow.NewIDs(), Now: e.Server.Site.Now}
	text, err := ring.Create(e.T.Context(), flow.Actor{ID: "cli"}, &k)
	if err != nil {
		e.T.Fatal(err)
	}
	return &k, text
}

// reply is a response of the API.
type reply struct {
	t      *testing.T
	what   string
	status int
	header http.Header
	raw    string
	body   map[string]any
}

// send sends a request with a key; "" for none.
func (e *env) send(key, method, path, body string) *reply {
	e.T.Helper()
	r, err := http.NewRequestWithContext(e.T.Context(), method, e.Http.URL+path, strings.NewReader(body))
	if err != nil {
		e.T.Fatal(err)
	}
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Prefer", "wait=60")
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		e.T.Fatal(err)
	}
	defer a.Body.Close()
	data, err := io.ReadAll(a.Body)
	if err != nil {
		e.T.Fatal(err)
	}
	out := &reply{t: e.T, what: method + " " + path, status: a.StatusCode, header: a.Header, raw: string(data)}
	_ = json.Unmarshal(data, &out.body)
	return out
}

// want checks the status and, for an error, its code.
func (r *reply) want(status int, code flow.Code) *reply {
	r.t.Helper()
	if r.status != status || code != "" && r.body["code"] != string(code) {
		r.t.Errorf("%s: %d %s, wanted %d %s", r.what, r.status, r.raw, status, code)
	}
	return r
}
