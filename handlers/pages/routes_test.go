package pages

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"sluice/flow"
)

func TestEveryRouteDeclaresItsAccess(t *testing.T) {
	t.Parallel()
	for _, r := range setup(t).server.routes {
		if r.access == accessUndeclared {
			t.Errorf("%s %s declares no access", r.method, r.path)
		}
	}
}

// somebody asks for a route: who they are and what they may see of it.
type somebody struct {
	name string
	from access // the highest class that lets them in
	send func(method, path string, htmx bool) *answer
}

var pathParts = regexp.MustCompile(`:[a-z_]+`)

// TestAuthorization asks for every route of the table as everybody, for things
// that are nowhere: only whether they are let in is looked at.
func TestAuthorization(t *testing.T) {
	t.Parallel()
	h := setup(t)
	people := []somebody{
		{"stranger", accessOpen, h.stranger().ask},
		{"viewer", accessViewer, nil}, {"editor", accessEditor, nil}, {"owner", accessOwner, nil}, {"owner of another workspace", accessOwner, nil},
		{"key", accessOpen, h.withKey(t)},
	}
	for _, r := range h.server.routes {
		if r.method == "GET" && strings.HasSuffix(r.path, "/events") && r.access == accessOpen {
			continue
		}
		for _, who := range people {
			t.Run(fmt.Sprintf("%s %s/%s", r.method, r.path, who.name), func(t *testing.T) {
				send := who.send
				if send == nil {
					send = h.fresh(who.name).ask // a route may sign out who asks
				}
				path := pathParts.ReplaceAllString(r.path, "none_01")
				checkAccess(t, r, who, send(r.method, path, false), send(r.method, path, true))
			})
		}
	}
}

// TestHead asks as monitors and previews of links do.
func TestHead(t *testing.T) {
	t.Parallel()
	h := setup(t)
	for path, want := range map[string]int{"/sign-in": 200, "/docs/quickstart": 200, "/flows": 303, "/f/none": 404, "/flows/none/events": 405} {
		if a := h.stranger().ask(http.MethodHead, path, false); a.status != want || a.body != "" {
			t.Errorf("HEAD %s got %d and %q, wanted %d and no body", path, a.status, a.body, want)
		}
	}
}

// checkAccess holds an answer to a browser, and one to htmx, against the class.
func checkAccess(t *testing.T, r route, who somebody, plain, part *answer) {
	t.Helper()
	refused := []int{plain.status, part.status}
	switch {
	case r.access == accessOpen:
		if plain.status == http.StatusUnauthorized || plain.header.Get("Location") == "/sign-in?next="+url.QueryEscape(r.path) {
			t.Errorf("an open route asks to sign in: %d", plain.status)
		}
	case who.from == accessOpen && r.method == "GET":
		if plain.status != http.StatusSeeOther || !strings.HasPrefix(plain.header.Get("Location"), "/sign-in?next=") || part.status != http.StatusUnauthorized {
			t.Errorf("signed out: %v to %q", refused, plain.header.Get("Location"))
		}
	case who.from == accessOpen:
		if plain.status != http.StatusUnauthorized || part.status != http.StatusUnauthorized {
			t.Errorf("signed out: %v", refused)
		}
	case r.access.role() != "" && r.access > who.from:
		if plain.status != http.StatusForbidden || part.status != http.StatusForbidden {
			t.Errorf("too low a role: %v", refused)
		}
	case founds(r) && who.from < accessOwner:
		if plain.status != http.StatusForbidden {
			t.Errorf("who owns nothing may make a workspace: %d", plain.status)
		}
	default:
		if plain.status == http.StatusUnauthorized || plain.status == http.StatusForbidden || plain.status >= 500 {
			t.Errorf("let in, it answers %d", plain.status)
		}
	}
}

// founds tells the routes for which one must own some workspace.
func founds(r route) bool { return r.path == "/workspaces" || r.path == "/workspaces/new" }

// fresh is a browser of somebody new with what their name says.
func (h *house) fresh(name string) *browser {
	h.t.Helper()
	if role := flow.MemberRole(name); role.AtLeast(flow.MemberViewer) {
		return h.as(role)
	}
	email := "other-" + strings.ToLower(rand.Text()[:6]) + "@example.com"
	u, own := &flow.User{Email: email, Name: "Other", PasswordHash: passwordHash()}, &flow.Workspace{Name: "Another"}
	if err := h.store.SignUp(h.t.Context(), u, own); err != nil {
		h.t.Fatal(err)
	}
	return h.signIn(email)
}

// ask sends a request without content, as a browser or as htmx.
func (b *browser) ask(method, path string, htmx bool) *answer {
	b.t.Helper()
	other := *b
	other.htmx = htmx
	return other.send(method, path, "application/x-www-form-urlencoded", strings.NewReader(""))
}

// withKey asks with an API key, which pages do not know.
func (h *house) withKey(t *testing.T) func(method, path string, htmx bool) *answer {
	t.Helper()
	text := flow.NewKeyText()
	k := &flow.Key{WorkspaceID: flow.DefaultWorkspace, Name: "all", Prefix: text[:flow.KeyShown], Hash: flow.Hash([]byte(text)), Scopes: []flow.Scope{flow.ScopeRun, flow.ScopeRead, flow.ScopeManage}}
	if err := h.store.CreateKey(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	b := h.stranger()
	b.client.Transport = bearer(text)
	return b.ask
}

// bearer adds a key to every request.
type bearer string

func (k bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r.Header.Set("Authorization", "Bearer "+string(k))
	return http.DefaultTransport.RoundTrip(r)
}

// What is no text is nothing here, on either database: it never gets to one.
func TestNoText(t *testing.T) {
	t.Parallel()
	h := setup(t)
	b := h.as(flow.MemberOwner)
	id := h.flow(greet)
	for _, path := range []string{"/credentials/%00", "/credentials/%ff", "/flows/%00/limits", "/keys/%00", "/files/%00", "/deliveries?to=%00", "/deliveries?x=%zz&to=%ff", "/flows/" + id + "?run=%00", "/docs?q=%00"} {
		b.get(path).is(http.StatusNotFound)
	}
	b.post("/workspaces/switch", url.Values{"workspace": {"\x00"}}).is(http.StatusUnprocessableEntity).has("The form could not be read.")
	b.post("/keys", url.Values{"name": {"\xff"}}).is(http.StatusUnprocessableEntity).has("The form could not be read.")
	b.sendForm("/flows/"+id+"/run", map[string]string{"parent": "\x00"}, nil).is(http.StatusUnprocessableEntity).has("The form could not be read.")
	b.get("/docs?q=%C3%BC").is(http.StatusOK)
}
