package mcpclient_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/mcpclient"
)

const redirectURL = "https://sluice.example.com/oauth/callback"

// signIn is an authorization server and an MCP server on one host. It checks clients, redirect addresses and PKCE, takes each code
// and each refresh token once, and ends a connection whose refresh token comes twice.
type signIn struct {
	*httptest.Server
	mu       sync.Mutex
	issues   *issues
	clients  map[string]string // redirect addresses by client ID
	codes    map[string]url.Values
	access   string // that the server accepts
	refresh  string
	used     map[string]bool
	revoked  bool
	tokens   int            // requests for tokens
	lose     int            // answers to refreshes that are lost
	metadata map[string]any // replaces members of the metadata of the authorization server; nil removes one
	resource map[string]any // replaces members of the metadata of the server
	hint     string         // address of that metadata; empty: the well-known one
	answer   map[string]any // added to the answer of the token endpoint
	mux      *http.ServeMux
	life     int
}

func newSignIn(t *testing.T) *signIn {
	t.Helper()
	a := &signIn{issues: newIssues(t, true), clients: map[string]string{}, codes: map[string]url.Values{}, used: map[string]bool{}, life: 3600}
	a.issues.intercept = func(w http.ResponseWriter, r *http.Request, _ string, next http.Handler) {
		a.mu.Lock()
		ok, hint := a.access != "" && r.Header.Get("Authorization") == "Bearer "+a.access, a.hint
		a.mu.Unlock()
		if !ok {
			if hint != "" {
				w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token", resource_metadata="`+hint+`"`)
			}
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	}
	mux := http.NewServeMux()
	a.mux = mux
	mux.HandleFunc("/mcp", a.issues.Config.Handler.ServeHTTP)
	mux.HandleFunc("/.well-known/oauth-protected-resource/mcp", func(w http.ResponseWriter, _ *http.Request) {
		a.write(w, map[string]any{"resource": a.URL + "/mcp", "authorization_servers": []string{a.URL + "/as"}, "scopes_supported": []string{"read", "write"}}, a.resource)
	})
	mux.HandleFunc("/.well-known/oauth-authorization-server/as", func(w http.ResponseWriter, _ *http.Request) {
		a.write(w, map[string]any{"issuer": a.URL + "/as", "authorization_endpoint": a.URL + "/authorize", "token_endpoint": a.URL + "/token", "registration_endpoint": a.URL + "/register",
			"code_challenge_methods_supported": []string{"S256"}, "authorization_response_iss_parameter_supported": true}, a.metadata)
	})
	mux.HandleFunc("POST /register", func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			RedirectURIs []string `json:"redirect_uris"`
		}
		_ = json.NewDecoder(r.Body).Decode(&body)
		a.mu.Lock()
		defer a.mu.Unlock()
		id := fmt.Sprintf("client-%d", len(a.clients)+1)
		a.clients[id] = strings.Join(body.RedirectURIs, " ")
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(map[string]string{"client_id": id})
	})
	mux.HandleFunc("POST /token", a.giveToken)
	a.Server = httptest.NewServer(mux)
	t.Cleanup(a.Close)
	return a
}

// write writes metadata.
func (a *signIn) write(w http.ResponseWriter, members, changed map[string]any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for name, v := range changed {
		members[name] = v
	}
	_ = json.NewEncoder(w).Encode(members)
}

// approve is the person at the page of the authorization server: it returns the code.
func (a *signIn) approve(t *testing.T, address string) (code, state string) {
	t.Helper()
	u, err := url.Parse(address)
	q := u.Query()
	a.mu.Lock()
	defer a.mu.Unlock()
	if err != nil || q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" || q.Get("redirect_uri") != a.clients[q.Get("client_id")] || q.Get("resource") != a.URL+"/mcp" {
		t.Fatalf("asked for %s", address)
	}
	code = fmt.Sprintf("code-%d", len(a.codes)+1)
	a.codes[code] = q
	return code, q.Get("state")
}

// giveToken is the token endpoint.
func (a *signIn) giveToken(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tokens++
	f := r.PostForm
	fail := func(code string) {
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(map[string]string{"error": code})
	}
	switch f.Get("grant_type") {
	case "authorization_code":
		asked, ok := a.codes[f.Get("code")]
		delete(a.codes, f.Get("code"))
		sum := sha256.Sum256([]byte(f.Get("code_verifier")))
		if !ok || asked.Get("client_id") != f.Get("client_id") || asked.Get("redirect_uri") != f.Get("redirect_uri") || asked.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(sum[:]) {
			fail("invalid_grant")
			return
		}
	case "refresh_token":
		if a.used[f.Get("refresh_token")] {
			a.revoked = true
		}
		if a.revoked || f.Get("refresh_token") != a.refresh {
			fail("invalid_grant")
			return
		}
		if a.lose > 0 { // before anything is changed
			a.lose--
			panic(http.ErrAbortHandler)
		}
		a.used[a.refresh] = true
	default:
		fail("unsupported_grant_type")
		return
	}
	a.access, a.refresh = fmt.Sprintf("access-%d", a.tokens), fmt.Sprintf("refresh-%d", a.tokens)
	given := map[string]any{"access_token": a.access, "refresh_token": a.refresh, "token_type": "Bearer", "expires_in": a.life}
	maps.Copy(given, a.answer)
	_ = json.NewEncoder(w).Encode(given)
}

// vault stores the secret of a credential for several instances.
type vault struct {
	mu     sync.Mutex
	secret string
}

func (v *vault) update(_ context.Context, change func(string) (string, error)) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	changed, err := change(v.secret)
	if err == nil {
		v.secret = changed
	}
	return err
}

// server returns the MCP server with the stored secret.
func (a *signIn) server(v *vault) mcpclient.Server {
	s := mcpclient.Server{Name: "issues", URL: a.URL + "/mcp"}
	if v != nil {
		s.Secret, s.Update = v.secret, v.update
	}
	return s
}

// connect signs a person in, and returns where the connection is stored.
func (a *signIn) connect(t *testing.T, c *mcpclient.Client) *vault {
	t.Helper()
	v := &vault{}
	p := a.begin(t, c, v)
	secret, err := c.Redeem(t.Context(), a.server(nil), p.taken(t, v, p.state, "session-1"), p.code, redirectURL, "user_1")
	if err != nil {
		t.Fatal(err)
	}
	v.secret = secret
	return v
}

// begun is a sign-in that the person has approved.
type begun struct{ code, state string }

// begin begins a sign-in.
func (a *signIn) begin(t *testing.T, c *mcpclient.Client, v *vault) begun {
	t.Helper()
	addresses, err := c.Discover(t.Context(), a.server(nil))
	if err != nil {
		t.Fatal(err)
	}
	client, err := c.Register(t.Context(), a.server(nil), addresses, redirectURL)
	if err != nil {
		t.Fatal(err)
	}
	p, address := mcpclient.Begin(addresses, client, "state-1", "session-1", redirectURL, time.Now())
	v.secret = p.Put(v.secret)
	code, state := a.approve(t, address)
	return begun{code, state}
}

// taken takes the sign-in.
func (begun) taken(t *testing.T, v *vault, state, session string) *mcpclient.Pending {
	t.Helper()
	changed, p, err := mcpclient.Take(v.secret, state, session, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	v.secret = changed
	return p
}

// tools lists the tools with a new session.
func (a *signIn) tools(t *testing.T, c *mcpclient.Client, v *vault) error {
	t.Helper()
	session, err := c.Open(t.Context(), a.server(v))
	if err != nil {
		return err
	}
	defer func() { _ = session.Close() }()
	_, err = session.Tools(t.Context())
	return err
}

// TestConnect signs a person in with a code and PKCE. Two instances refresh one connection whose tokens rotate, each token once,
// also when both do so at the same time (R27).
func TestConnect(t *testing.T) {
	t.Parallel()
	a := newSignIn(t)
	first, second, now := newClient(t), newClient(t), time.Now()
	for _, c := range []*mcpclient.Client{first, second} {
		mcpclient.SetClock(c, func() time.Time { return now })
	}
	v := a.connect(t, first)
	for _, c := range []*mcpclient.Client{first, second} {
		if err := a.tools(t, c, v); err != nil {
			t.Fatal(err)
		}
	}
	if a.tokens != 1 {
		t.Errorf("%d requests for tokens, want 1", a.tokens)
	}
	now = now.Add(2 * time.Hour)
	var all sync.WaitGroup
	failed := make([]error, 8)
	for i := range failed {
		c := []*mcpclient.Client{first, second}[i%2]
		all.Go(func() { failed[i] = a.tools(t, c, v) })
	}
	all.Wait()
	for _, err := range failed {
		if err != nil {
			t.Error(err)
		}
	}
	if a.tokens != 2 || a.revoked {
		t.Errorf("%d requests for tokens, want 2; revoked: %v", a.tokens, a.revoked)
	}
	a.mu.Lock()
	a.access = "" // the service has ended the access token early
	a.mu.Unlock()
	if err := a.tools(t, second, v); err != nil || a.tokens != 3 {
		t.Errorf("%v after %d requests for tokens", err, a.tokens)
	}
	if err := a.tools(t, first, v); err != nil || a.tokens != 3 {
		t.Errorf("the other instance: %v after %d requests for tokens", err, a.tokens)
	}
}

// TestConnection_ends once the service does not renew it, or after a lost answer and one more attempt. The error says what to do.
func TestConnection_ends(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lose          int
		revoke        bool
		fails, tokens int
	}{
		"revoked":       {0, true, 2, 2},
		"lost once":     {1, false, 0, 3},
		"lost twice":    {2, false, 3, 3},
		"without break": {0, false, 0, 2},
	} {
		a, client, now := newSignIn(t), newClient(t), time.Now()
		mcpclient.SetClock(client, func() time.Time { return now })
		v := a.connect(t, client)
		now = now.Add(2 * time.Hour)
		a.lose, a.revoked = c.lose, c.revoke
		fails, last := 0, error(nil)
		for range max(c.fails, 1) + 1 {
			if err := a.tools(t, client, v); err != nil {
				fails, last = fails+1, err
			}
		}
		dead := mcpclient.ReadConnection(v.secret).Dead != ""
		if c.fails < 2 {
			if fails != c.fails || dead {
				t.Errorf("%s: %d failed, want %d; %v", name, fails, c.fails, last)
			}
		} else if !dead || !strings.Contains(last.Error(), "press Reconnect") {
			t.Errorf("%s: %v", name, last)
		}
		if a.tokens != c.tokens {
			t.Errorf("%s: %d requests for tokens, want %d", name, a.tokens, c.tokens)
		}
	}
}

// TestTake uses a sign-in once, in the session that began it, in time, and only for the issuer that was asked.
func TestTake(t *testing.T) {
	t.Parallel()
	a, c := newSignIn(t), newClient(t)
	v := &vault{secret: "old-token"}
	p := a.begin(t, c, v)
	for _, wrong := range []struct {
		state, session string
		late           time.Duration
	}{{"state-2", "session-1", 0}, {p.state, "session-2", 0}, {p.state, "", 0}, {p.state, "session-1", mcpclient.ConnectTime}} {
		if _, _, err := mcpclient.Take(v.secret, wrong.state, wrong.session, time.Now().Add(wrong.late)); err == nil {
			t.Errorf("%+v was taken", wrong)
		}
	}
	taken := p.taken(t, v, p.state, "session-1")
	if v.secret != "old-token" {
		t.Errorf("the secret is %q", v.secret)
	}
	if _, _, err := mcpclient.Take(v.secret, p.state, "session-1", time.Now()); err == nil {
		t.Error("taken twice")
	}
	for _, issuer := range []string{"", "https://evil.example.com"} {
		if taken.CheckIssuer(issuer) == nil {
			t.Errorf("an answer of %q was accepted", issuer)
		}
	}
	if err := taken.CheckIssuer(a.URL + "/as"); err != nil {
		t.Error(err)
	}
	other := *taken
	other.Verifier = "of another sign-in"
	if _, err := c.Redeem(t.Context(), a.server(nil), &other, p.code, redirectURL, "user_1"); err == nil {
		t.Error("a code was exchanged with another verifier")
	}
	if _, err := c.Redeem(t.Context(), a.server(nil), taken, p.code, redirectURL, "user_1"); err == nil {
		t.Error("a code that was sent before was exchanged")
	}
}

// TestDiscover_refuses_hostile_servers: nothing is asked of addresses that a server must not name.
func TestDiscover_refuses_hostile_servers(t *testing.T) {
	t.Parallel()
	reached := make(chan string, 100)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { reached <- r.URL.Path }))
	t.Cleanup(elsewhere.Close)
	for name, c := range map[string]struct {
		set func(a *signIn)
		say string
	}{
		"resource of another host":   {func(a *signIn) { a.resource = map[string]any{"resource": "https://evil.example.com/mcp"} }, "describes another server"},
		"resource of another path":   {func(a *signIn) { a.resource = map[string]any{"resource": a.URL + "/other"} }, "describes another server"},
		"no authorization server":    {func(a *signIn) { a.resource = map[string]any{"authorization_servers": nil} }, "names no authorization server"},
		"issuer without encryption":  {func(a *signIn) { a.resource = map[string]any{"authorization_servers": []string{elsewhere.URL}} }, "not an https address"},
		"issuer on a file":           {func(a *signIn) { a.resource = map[string]any{"authorization_servers": []string{"file:///etc/passwd"}} }, "not an https address"},
		"issuer of another name":     {func(a *signIn) { a.metadata = map[string]any{"issuer": "https://evil.example.com"} }, "which says that it is"},
		"no PKCE":                    {func(a *signIn) { a.metadata = map[string]any{"code_challenge_methods_supported": []string{"plain"}} }, "without PKCE"},
		"token endpoint elsewhere":   {func(a *signIn) { a.metadata = map[string]any{"token_endpoint": elsewhere.URL} }, "names the token endpoint"},
		"sign-in elsewhere":          {func(a *signIn) { a.metadata = map[string]any{"authorization_endpoint": "javascript:alert(1)"} }, "names the authorization endpoint"},
		"registration with a user":   {func(a *signIn) { a.metadata = map[string]any{"registration_endpoint": "https://a:b@example.com/"} }, "names the registration endpoint"},
		"metadata of another server": {func(a *signIn) { a.hint = elsewhere.URL + "/meta" }, "not an https address of its own host"},
		"endless metadata":           {func(a *signIn) { a.metadata = map[string]any{"x": strings.Repeat("x", 100<<10)} }, "No answer of the authorization server"},
	} {
		a := newSignIn(t)
		c.set(a)
		found, err := newClient(t).Discover(t.Context(), a.server(nil))
		if err == nil || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%s: %+v %v", name, found, err)
		}
	}
	a := newSignIn(t)
	a.metadata = map[string]any{"registration_endpoint": "https://10.0.0.1/register", "token_endpoint": "https://169.254.169.254/token"}
	addresses, err := newClient(t).Discover(t.Context(), a.server(nil))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := newClient(t).Register(t.Context(), a.server(nil), addresses, redirectURL); err == nil || !strings.Contains(err.Error(), "private") {
		t.Errorf("registered at a private address: %v", err)
	}
	if len(reached) > 0 {
		t.Errorf("another server was asked for %s", <-reached)
	}
}

// TestDisconnect_ends_a_connection_everywhere erases the tokens of a connection. Each instance notices within seconds, and says why.
func TestDisconnect_ends_a_connection_everywhere(t *testing.T) {
	t.Parallel()
	a, client, now := newSignIn(t), newClient(t), time.Now()
	mcpclient.SetClock(client, func() time.Time { return now })
	v := a.connect(t, client)
	if err := a.tools(t, client, v); err != nil {
		t.Fatal(err)
	}
	before := mcpclient.ReadConnection(v.secret)
	v.mu.Lock()
	v.secret = mcpclient.Disconnect(v.secret, "Ada has left.")
	v.mu.Unlock()
	now = now.Add(11 * time.Second)
	if err := a.tools(t, client, v); err == nil || !strings.Contains(err.Error(), "has ended: Ada has left. Open") {
		t.Errorf("after Disconnect: %v", err)
	}
	n := mcpclient.ReadConnection(v.secret)
	if n.By != before.By || n.Issuer != before.Issuer || n.Access != "" || n.Refresh != "" || before.Access == "" || strings.Contains(v.secret, before.Access) {
		t.Errorf("left is %s", v.secret)
	}
	if a.tokens != 1 {
		t.Errorf("%d requests for tokens, want 1", a.tokens)
	}
	if got := mcpclient.Disconnect("X-Key: abc", "why"); got != "X-Key: abc" {
		t.Errorf("another secret became %q", got)
	}
}

// TestDiscover_finds_client_ID_documents of authorization servers that read who a client is.
func TestDiscover_finds_client_ID_documents(t *testing.T) {
	t.Parallel()
	for _, supported := range []bool{true, false} {
		a := newSignIn(t)
		a.metadata = map[string]any{"client_id_metadata_document_supported": supported}
		found, err := newClient(t).Discover(t.Context(), a.server(nil))
		if err != nil || found.Document != supported {
			t.Errorf("%v: %+v, %v", supported, found, err)
		}
	}
}
