package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// TestConnect_of_an_MCP_server: an owner checks where the sign-in leads, signs in there and comes back. What comes back counts once.
// The token is sent to the server, and is on no page.
func TestConnect_of_an_MCP_server(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	d := &dashboard{server: s}
	d.person(ownerEmail, "owner")
	var mu sync.Mutex
	var sent []string
	moved := ""
	mux := http.NewServeMux()
	desk := httptest.NewServer(mux)
	t.Cleanup(desk.Close)
	answer := func(path string, members func() map[string]any) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(members()) })
	}
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		sent = append(sent, r.Header.Get("Authorization"))
		mu.Unlock()
		w.WriteHeader(http.StatusUnauthorized)
	})
	answer("/.well-known/oauth-protected-resource/mcp", func() map[string]any {
		return map[string]any{"resource": desk.URL + "/mcp", "authorization_servers": []string{desk.URL}}
	})
	answer("/.well-known/oauth-authorization-server", func() map[string]any {
		return map[string]any{"issuer": desk.URL, "authorization_endpoint": desk.URL + "/authorize" + moved, "token_endpoint": desk.URL + "/token", "userinfo_endpoint": desk.URL + "/userinfo", "registration_endpoint": desk.URL + "/register", "code_challenge_methods_supported": []string{"S256"}}
	})
	answer("/register", func() map[string]any { return map[string]any{"client_id": "sluice-1"} })
	answer("/token", func() map[string]any {
		return map[string]any{"access_token": "access-0123456789", "refresh_token": "refresh-0123456789", "token_type": "bearer"}
	})
	answer("/userinfo", func() map[string]any { return map[string]any{"email": "support@northwind.com"} })
	if r := s.commandWith("", "credential", "add", "--name", "desk", "--provider", "mcp", "--base-url", desk.URL+"/mcp"); r.code != 0 {
		t.Fatal(r.errs)
	}
	cookies := d.cookies()
	ask := func(method, path string, v url.Values) (int, string) {
		t.Helper()
		r := s.client("").do(method, path, []byte(v.Encode()), "Content-Type: application/x-www-form-urlencoded", "Cookie: "+cookies)
		return r.status, string(r.body)
	}
	post := func(path string, v url.Values) (int, string) { t.Helper(); return ask("POST", path, v) }
	read := func(path string) string { t.Helper(); _, page := ask("GET", path, nil); return page }
	find := func(pattern, page string) string {
		t.Helper()
		found := regexp.MustCompile(pattern).FindStringSubmatch(page)
		if found == nil {
			t.Fatalf("no %s in %s", pattern, page)
		}
		return strings.ReplaceAll(found[1], "&amp;", "&")
	}
	if page := read("/credentials/desk"); !strings.Contains(page, "Connect") || strings.Contains(page, "Reconnect") {
		t.Errorf("the page of the credential: %s", page)
	}
	status, page := post("/credentials/desk/connect", nil)
	digest := find(`name="digest" value="([0-9a-f]{64})"`, page)
	if status != 200 || !strings.Contains(page, desk.URL+"/authorize") {
		t.Fatalf("%d %s", status, page)
	}
	moved = "/elsewhere"
	if status, page = post("/credentials/desk/connect", url.Values{"digest": {digest}}); status != 422 || !strings.Contains(page, "names other addresses than before") {
		t.Errorf("%d %s", status, page)
	}
	moved = ""
	_, page = post("/credentials/desk/connect", url.Values{"digest": {digest}})
	at, err := url.Parse(find(fmt.Sprintf(`href="(%s/authorize[^"]*)"`, regexp.QuoteMeta(desk.URL)), page))
	if err != nil {
		t.Fatal(err)
	}
	q := at.Query()
	if q.Get("client_id") != "sluice-1" || !strings.HasSuffix(q.Get("redirect_uri"), "/oauth/callback") || q.Get("code_challenge") == "" {
		t.Errorf("asked for %s", at)
	}
	back := "/oauth/callback?code=c&state=" + url.QueryEscape(q.Get("state"))
	if r := s.client("").do("GET", back, nil); r.status != http.StatusSeeOther || strings.Contains(r.header.Get("Location"), "credentials") {
		t.Errorf("somebody who is not signed in connected it: %d %s", r.status, r.header.Get("Location"))
	}
	s.client("").do("GET", back, nil, "Cookie: "+d.cookies()) // the same person in another browser
	_, _ = ask("GET", strings.Replace(back, "state=", "state=x", 1), nil)
	if page := read("/credentials/desk"); strings.Contains(page, "Reconnect") {
		t.Errorf("another state was accepted: %s", page)
	}
	if status, page := ask("GET", back, nil); status != http.StatusSeeOther {
		t.Fatalf("%d %s", status, page)
	}
	page = read("/credentials/desk")
	page = page[strings.Index(page, "<main"):]
	for _, part := range []string{"is connected.", "Reconnect", "Connected by", "Connected as support@northwind.com", "acts as"} {
		if !strings.Contains(page, part) {
			t.Errorf("no %q in %s", part, page)
		}
	}
	_, _ = ask("GET", back, nil)
	if page := read("/credentials/desk"); !strings.Contains(page, "expired, or was begun elsewhere") {
		t.Errorf("an answer counted twice: %s", page)
	}
	_, _ = post("/credentials/desk/test", nil)
	mu.Lock()
	defer mu.Unlock()
	if len(sent) == 0 || sent[len(sent)-1] != "Bearer access-0123456789" {
		t.Errorf("the server got %q", sent)
	}
	checkConnectionOverAPI(t, s, desk.URL)
	if log := read("/settings/audit"); !strings.Contains(log, "connected the credential") || strings.Count(log, "disconnected the credential") != 1 || strings.Contains(log+page, "-0123456789") {
		t.Errorf("the audit log: %s", log)
	}
	if page := read("/credentials/desk"); !strings.Contains(page, "Reconnect") || !strings.Contains(page, "disconnected it") {
		t.Errorf("the page of a credential that was disconnected over the API: %s", page)
	}
}

// checkConnectionOverAPI reads the connection of the credential desk over the API and with commands, and ends it. Ending it again changes nothing.
func checkConnectionOverAPI(t *testing.T, s *server, issuer string) {
	t.Helper()
	const path = "/v1/credentials/desk"
	c := s.client(s.key("--scope", "admin"))
	state := func() map[string]any {
		t.Helper()
		a := c.want(200, "GET", path, nil)
		if strings.Contains(string(a.body), "-0123456789") {
			t.Errorf("a token is in %s", a.body)
		}
		connection, _ := a.object(t)["connection"].(map[string]any)
		return connection
	}
	if now := state(); now["state"] != "connected" || now["issuer"] != issuer || now["connected_by"] == "" || now["connected_at"] == nil || !strings.HasSuffix(fmt.Sprint(now["url"]), "/credentials/desk") {
		t.Errorf("the connection is %v", now)
	}
	if list := s.must("credential", "connections"); !strings.Contains(list, "desk") || !strings.Contains(list, "connected") {
		t.Errorf("the list of connections is %s", list)
	}
	s.client(s.key("--scope", "run,read")).want(403, "DELETE", path+"/connection", nil)
	s.must("credential", "disconnect", "desk")
	c.want(200, "DELETE", path+"/connection", nil)
	if now := state(); now["state"] != "reconnect" || now["reason"] == "" {
		t.Errorf("the connection is %v after its end", now)
	}
	if r := s.command("credential", "connections", "desk"); !strings.Contains(r.errs, "Connect again at http") {
		t.Errorf("the command does not say how to connect again: %s", r.errs)
	}
}
