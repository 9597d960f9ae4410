package e2e

import (
	"bufio"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"sluice/e2e/npm"
)

// oauthServer is an MCP server that wants tokens of an independent authorization server; see testdata/oauth/server.mjs.
type oauthServer struct {
	url       string // of the MCP server
	refreshed atomic.Int64
}

func newOAuthServer(t *testing.T) *oauthServer {
	t.Helper()
	data := filepath.Join("testdata", "oauth")
	cmd := exec.Command("node", filepath.Join(data, "server.mjs"), npm.Install(t, data))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines, read := bufio.NewScanner(out), make(chan struct{})
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-read
		_ = cmd.Wait()
	})
	if !lines.Scan() {
		close(read)
		t.Fatal("the authorization server did not start")
	}
	s := &oauthServer{url: lines.Text()}
	go func() {
		defer close(read)
		for lines.Scan() {
			if lines.Text() == "refreshed" {
				s.refreshed.Add(1)
			}
		}
	}()
	return s
}

// Forms of the pages of the authorization server.
var (
	oauthPrompt = regexp.MustCompile(`name="prompt" value="(\w+)"`)
	oauthAction = regexp.MustCompile(`action="([^"]+)"`)
)

// signIn continues at an address as a person in a browser would: it signs in, consents, and returns the address to which the person
// is sent back.
func (s *oauthServer) signIn(t *testing.T, at, callback, person string) string {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	c := &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for range 20 {
		if strings.HasPrefix(at, callback) {
			return at
		}
		resp, err := c.Get(at)
		if err != nil {
			t.Fatal(err)
		}
		page, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			prompt, action := oauthPrompt.FindSubmatch(page), oauthAction.FindSubmatch(page)
			if prompt == nil || action == nil {
				t.Fatalf("no form at %s: %s", at, page)
			}
			resp, err = c.PostForm(string(action[1]), url.Values{"prompt": {string(prompt[1])}, "login": {person}, "password": {"any"}})
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
		}
		next, err := resp.Location()
		if err != nil {
			t.Fatalf("%s at %s: %s", resp.Status, at, page)
		}
		at = next.String()
	}
	t.Fatalf("the sign-in does not end: %s", at)
	return ""
}

// connect connects a credential as a member whose cookies are given, who is person at the authorization server.
func (s *oauthServer) connect(t *testing.T, at *server, cookies, credential, person string) {
	t.Helper()
	post := func(v url.Values) string {
		t.Helper()
		r := at.client("").want(200, "POST", "/credentials/"+credential+"/connect", []byte(v.Encode()), "Content-Type: application/x-www-form-urlencoded", "Cookie: "+cookies)
		return string(r.body)
	}
	digest := regexp.MustCompile(`name="digest" value="([0-9a-f]{64})"`).FindStringSubmatch(post(nil))
	if digest == nil {
		t.Fatal("the page shows no addresses")
	}
	root := strings.TrimSuffix(s.url, "/mcp")
	page := post(url.Values{"digest": {digest[1]}})
	link := regexp.MustCompile(`href="(` + regexp.QuoteMeta(root) + `/auth[^"]*)"`).FindStringSubmatch(page)
	if link == nil {
		t.Fatalf("the page leads nowhere: %s", page)
	}
	back, err := url.Parse(s.signIn(t, strings.ReplaceAll(link[1], "&amp;", "&"), at.base()+"/oauth/callback", person))
	if err != nil {
		t.Fatal(err)
	}
	at.client("").want(303, "GET", back.RequestURI(), nil, "Cookie: "+cookies)
}

// TestConnect_with_an_independent_authorization_server: Sluice registers itself, a person signs in and consents, flows act as that person,
// two servers refresh the token once, and what the service or an owner has ended says so.
func TestConnect_with_an_independent_authorization_server(t *testing.T) {
	t.Parallel()
	desk := newOAuthServer(t)
	a, b := twoServers(t)
	d := &dashboard{server: a}
	d.person(ownerEmail, "owner")
	d.person("lin@example.com", "editor")
	if r := a.commandWith("", "credential", "add", "--name", "desk", "--provider", "mcp", "--base-url", desk.url); r.code != 0 {
		t.Fatal(r.errs)
	}
	lin := d.cookiesOf("lin@example.com")
	desk.connect(t, a, lin, "desk", "lin")
	if page := string(a.client("").want(200, "GET", "/credentials/desk", nil, "Cookie: "+lin).body); !strings.Contains(page, "Connected as lin@northwind.com") {
		t.Errorf("the page of the credential does not say as whom it is connected: %s", page)
	}

	// The server refuses the first token, so both servers refresh it at the same time.
	key := a.key("--scope", "run,read,admin,edit")
	clients := []*client{a.client(key), b.client(key)}
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			if r := clients[i%2].do("POST", "/v1/credentials/desk/tools/check", object{}); r.status != 200 || !strings.Contains(string(r.body), "who_am_i") {
				t.Errorf("checking the tools: %d %s", r.status, r.body)
			}
		})
	}
	wait.Wait()
	if n := desk.refreshed.Load(); n != 1 {
		t.Errorf("two servers refreshed the token %d times", n)
	}

	tools := a.client(key).want(200, "POST", "/v1/credentials/desk/tools/check", object{}).object(t)["tools"].([]any)
	id := a.publish(documentOf("Who", []object{node("who", "mcp", object{"credential": object{"credential": "desk"}, "tools": storedTools(tools)}), output("answer")}, "who.text > out_answer.value"))
	for _, c := range clients {
		if r := c.succeed(id, object{}); r.Outputs["answer"] != "You are lin." {
			t.Errorf("the run gave %v", r.Outputs)
		}
	}

	// The service takes back what Lin has allowed.
	resp, err := http.Post(strings.TrimSuffix(desk.url, "/mcp")+"/revoke", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	wantEnded(t, clients[0], id, "the service does not renew it.")
	desk.connect(t, a, lin, "desk", "lin")
	if r := clients[1].succeed(id, object{}); r.Outputs["answer"] != "You are lin." {
		t.Errorf("after Reconnect the run gave %v", r.Outputs)
	}

	// An owner sees the connection of a member, and removes the member.
	owner := d.cookies()
	members := string(a.client("").want(200, "GET", "/settings/members", nil, "Cookie: "+owner).body)
	if !strings.Contains(members, "/credentials/desk") || !strings.Contains(members, "Disconnect them") {
		t.Error("the page of members does not list the connection")
	}
	member := regexp.MustCompile(`/settings/members/(user_[^/"]+)/remove`).FindStringSubmatch(members)
	if member == nil {
		t.Fatal("no member can be removed")
	}
	a.client("").want(303, "POST", "/settings/members/"+member[1]+"/remove", []byte("keys=revoke&connections=end"), "Content-Type: application/x-www-form-urlencoded", "Cookie: "+owner)
	wantEnded(t, a.client(a.key("--scope", "run,read")), id, "the person who connected it has left the workspace.")
	page := string(a.client("").want(200, "GET", "/credentials/desk", nil, "Cookie: "+owner).body)
	if !strings.Contains(page, "has left the workspace") || !strings.Contains(page, "Reconnect") {
		t.Errorf("the page of the credential does not say what happened: %s", page)
	}

	// The owner connects it, and disconnects it.
	desk.connect(t, a, owner, "desk", "grace")
	if r := a.client(a.key("--scope", "run,read")).succeed(id, object{}); r.Outputs["answer"] != "You are grace." {
		t.Errorf("as the owner, the run gave %v", r.Outputs)
	}
	a.client("").want(303, "POST", "/credentials/desk/disconnect", nil, "Content-Type: application/x-www-form-urlencoded", "Cookie: "+owner)
	wantEnded(t, a.client(a.key("--scope", "run,read")), id, "somebody has disconnected it.")
	log := string(a.client("").want(200, "GET", "/settings/audit", nil, "Cookie: "+owner).body)
	if !strings.Contains(log, "disconnected the credential") {
		t.Error("the audit log does not say who disconnected it")
	}
}

// wantEnded runs a flow until it fails because its connection has ended: a server looks at most a minute later.
func wantEnded(t *testing.T, c *client, id, why string) {
	t.Helper()
	var last *run
	waitUntil(t, "a run fails because "+why, func() bool {
		last = c.await(c.start(id, object{}))
		return last.Status == "failed"
	})
	if last.Error.Code != "provider_auth" || !strings.Contains(last.Error.Message, why) || !strings.Contains(last.Error.Message, "press Reconnect") {
		t.Errorf("the run failed with %+v", last.Error)
	}
}

// storedTools returns tools as a node stores them, given the answer of a check.
func storedTools(checked []any) (list []any) {
	for _, t := range checked {
		tool := object{}
		for _, name := range []string{"name", "description", "schema", "effect", "sha256"} {
			tool[name] = t.(object)[name]
		}
		list = append(list, tool)
	}
	return list
}
