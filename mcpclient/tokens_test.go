package mcpclient_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/mcpclient"
)

// authority is an authorization server that gives the tokens token-1, token-2 …
type authority struct {
	*httptest.Server
	mu    sync.Mutex
	forms []string
	life  int // seconds; 0: not stated
	fail  func(w http.ResponseWriter) bool
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{life: 3600}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		id, secret, _ := r.BasicAuth()
		a.mu.Lock()
		defer a.mu.Unlock()
		a.forms = append(a.forms, id+" "+secret+" "+r.PostForm.Encode())
		w.Header().Set("Content-Type", "application/json")
		if a.fail != nil && a.fail(w) {
			return
		}
		_, _ = fmt.Fprintf(w, `{"access_token": "token-%d", "token_type": "bearer", "expires_in": %d}`, len(a.forms), a.life)
	}))
	t.Cleanup(a.Close)
	return a
}

func (a *authority) secret() string {
	text, _ := json.Marshal(map[string]string{"client_id": "sluice", "client_secret": "s3cret/+", "token_url": a.URL + "/token", "scope": "read write"})
	return string(text)
}

// behindToken is a server that accepts one token. Its URL has the host of the authorization server's, because
// other hosts need https.
func behindToken(t *testing.T, a *authority) (server *issues, accepted *string) {
	t.Helper()
	server, accepted = newIssues(t, true), new(string)
	*accepted = "token-1"
	server.intercept = func(w http.ResponseWriter, r *http.Request, _ string, next http.Handler) {
		a.mu.Lock()
		ok := r.Header.Get("Authorization") == "Bearer "+*accepted
		a.mu.Unlock()
		if !ok {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	}
	handler := a.Config.Handler
	a.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/token" {
			handler.ServeHTTP(w, r)
			return
		}
		server.Config.Handler.ServeHTTP(w, r)
	})
	return server, accepted
}

// TestTokens are requested with client credentials, used until they end, and replaced once the server refuses one.
func TestTokens(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	issues, accepted := behindToken(t, a)
	c, now := newClient(t), time.Now()
	mcpclient.SetClock(c, func() time.Time { return now })
	var sent []string
	server := mcpclient.Server{Name: "issues", URL: a.URL, Secret: a.secret(), Sends: func(text string) { a.mu.Lock(); defer a.mu.Unlock(); sent = append(sent, text) }}
	session := open(t, c, server)
	if _, err := session.Tools(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := "sluice s3cret%2F%2B grant_type=client_credentials&resource=" + strings.NewReplacer(":", "%3A", "/", "%2F").Replace(a.URL) + "&scope=read+write"
	if len(a.forms) != 1 || a.forms[0] != want || sent[0] != "token-1" {
		t.Fatalf("%q, want %q; sent %v", a.forms, want, sent)
	}
	a.mu.Lock()
	*accepted = "token-2" // the server has revoked the first one
	a.mu.Unlock()
	if r, err := session.Call(t.Context(), "add_note", arguments(`{"number": 1}`), "k"); err != nil || r.Text != "Added." || len(a.forms) != 2 || len(issues.keys) != 1 {
		t.Errorf("%+v %v: %d tokens, %d calls", r, err, len(a.forms), len(issues.keys))
	}
	now = now.Add(time.Hour)
	a.mu.Lock()
	*accepted = "token-3"
	a.mu.Unlock()
	before := issues.count("POST tools/call")
	if _, err := session.Call(t.Context(), "add_note", arguments(`{"number": 1}`), "k"); err != nil || len(a.forms) != 3 || issues.count("POST tools/call") != before+1 {
		t.Errorf("%v: %d tokens; a token that has ended was sent", err, len(a.forms))
	}
	a.mu.Lock()
	*accepted = "none"
	a.mu.Unlock()
	_, err := session.Call(t.Context(), "add_note", arguments(`{"number": 1}`), "k")
	if e := failure(t, err); e.Class != mcpclient.ClassAuth || e.Sent || len(a.forms) != 4 || len(issues.keys) != 2 {
		t.Errorf("%+v: %d tokens, %d calls", e, len(a.forms), len(issues.keys))
	}
}

// TestTokens_are_replaced_before_they_end (R27), and a new secret of the credential works at once: nothing has to be
// deleted or made again.
func TestTokens_are_replaced_before_they_end(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	issues, accepted := behindToken(t, a)
	c, now := newClient(t), time.Now()
	mcpclient.SetClock(c, func() time.Time { return now })
	revoked := false
	a.fail = func(w http.ResponseWriter) bool {
		if revoked && !strings.HasPrefix(a.forms[len(a.forms)-1], "again ") {
			w.WriteHeader(400)
			_, _ = w.Write([]byte(`{"error":"invalid_client"}`))
			return true
		}
		return false
	}
	secret := a.secret()
	call := func() error {
		session, err := c.Open(t.Context(), mcpclient.Server{Name: "issues", URL: a.URL, Secret: secret})
		if err == nil {
			_, err = session.Call(t.Context(), "add_note", arguments(`{"number": 1}`), "k")
			_ = session.Close()
		}
		return err
	}
	for _, step := range []struct {
		after  time.Duration
		tokens int
	}{{0, 1}, {58 * time.Minute, 1}, {90 * time.Second, 2}} { // the last is half a minute before the end
		now = now.Add(step.after)
		a.mu.Lock()
		*accepted = fmt.Sprint("token-", step.tokens)
		a.mu.Unlock()
		if err := call(); err != nil || len(a.forms) != step.tokens {
			t.Errorf("after %s: %v, %d tokens, want %d", step.after, err, len(a.forms), step.tokens)
		}
	}
	a.mu.Lock()
	revoked = true
	a.mu.Unlock()
	now = now.Add(time.Hour)
	made := len(issues.keys)
	if e := failure(t, call()); e.Class != mcpclient.ClassAuth || e.Sent || len(issues.keys) != made || !strings.Contains(e.Message, "invalid_client") {
		t.Errorf("with a revoked client: %+v, %d calls", e, len(issues.keys)-made)
	}
	secret = strings.Replace(secret, `"sluice"`, `"again"`, 1)
	asked := len(a.forms)
	a.mu.Lock()
	*accepted = fmt.Sprint("token-", asked+1)
	a.mu.Unlock()
	if err := call(); err != nil || len(a.forms) != asked+1 || len(issues.keys) != made+1 {
		t.Errorf("with a new secret: %v, %d tokens, %d calls", err, len(a.forms)-asked, len(issues.keys)-made)
	}
}

// TestTokens_of_hostile_servers: an authorization server that redirects, answers too much or nothing useful, or that is
// not reached over https, gets nothing executed, and its answer is bounded.
func TestTokens_of_hostile_servers(t *testing.T) {
	t.Parallel()
	other := newAuthority(t)
	for name, c := range map[string]struct {
		fail  func(w http.ResponseWriter) bool
		wants string
	}{
		"redirect": {func(w http.ResponseWriter) bool {
			w.Header().Set("Location", other.URL)
			w.WriteHeader(307)
			return true
		}, "307 Temporary Redirect"},
		"a refusal": {func(w http.ResponseWriter) bool {
			w.WriteHeader(400)
			_, _ = w.Write([]byte(`{"error":"invalid_client","error_description":"No such client."}`))
			return true
		}, "invalid_client No such client."},
		"no token": {func(w http.ResponseWriter) bool { _, _ = w.Write([]byte(`{"token_type":"bearer"}`)); return true }, "gives no token"},
		"other kind": {func(w http.ResponseWriter) bool {
			_, _ = w.Write([]byte(`{"access_token":"x","token_type":"mac"}`))
			return true
		}, "not supported"},
		"too large": {func(w http.ResponseWriter) bool {
			_, _ = w.Write([]byte(`{"access_token":"` + strings.Repeat("x", 65<<10) + `"}`))
			return true
		}, "larger than"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAuthority(t)
			issues, _ := behindToken(t, a)
			a.fail = c.fail
			_, err := newClient(t).Open(t.Context(), mcpclient.Server{Name: "issues", URL: a.URL, Secret: a.secret()})
			if e := failure(t, err); e.Sent || !strings.Contains(e.Message, c.wants) || len(issues.requests) != 0 || len(other.forms) != 0 {
				t.Errorf("%+v", e)
			}
		})
	}
	for name, secret := range map[string]string{
		"another host without https": other.secret(), "not a grant": `{"client_id": "x"}`, "an unknown member": `{"client_id":"a","client_secret":"b","token_url":"https://x.example.com/t","grant":"password"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			issues := newIssues(t, true)
			_, err := newClient(t).Open(t.Context(), mcpclient.Server{Name: "issues", URL: issues.URL, Secret: secret})
			if e := failure(t, err); e.Class != mcpclient.ClassRefused || len(issues.requests) != 0 {
				t.Errorf("%+v; %v", e, issues.requests)
			}
		})
	}
}
