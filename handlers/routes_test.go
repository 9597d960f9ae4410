package handlers_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"sluice/e2e/need"
	"sluice/flow"
	"sluice/handlers/web"
	"sluice/handlers/webtest"
)

func TestEveryRouteDeclaresItsAccess(t *testing.T) {
	t.Parallel()
	for _, r := range webtest.Setup(t).Server.Site.Routes() {
		if r.Access == web.AccessUndeclared {
			t.Errorf("%s %s declares no access", r.Method, r.Path)
		}
	}
}

// somebody is a user who requests a route, with the access that the user has.
type somebody struct {
	name string
	from web.Access // the highest class that admits the user
	send func(method, path string, htmx bool) *webtest.Answer
}

var pathParts = regexp.MustCompile(`:[a-z_]+`)

// TestRoutes_authorize_each_role requests every route of the table with every role. The objects
// in the paths do not exist: the test only checks who is admitted.
func TestRoutes_authorize_each_role(t *testing.T) {
	t.Parallel()
	need.Time(t)
	h := webtest.Setup(t)
	people := []somebody{
		{"stranger", web.Open, h.Anonymous().Ask},
		{"viewer", web.Viewer, nil}, {"editor", web.Editor, nil}, {"owner", web.Owner, nil}, {"owner of another workspace", web.Owner, nil},
		{"key", web.Open, h.WithKey(t)},
	}
	for _, r := range h.Server.Site.Routes() {
		if r.Method == "GET" && strings.HasSuffix(r.Path, "/events") && r.Access == web.Open {
			continue
		}
		for _, who := range people {
			t.Run(fmt.Sprintf("%s %s/%s", r.Method, r.Path, who.name), func(t *testing.T) {
				send := who.send
				if send == nil {
					send = h.NewUser(who.name).Ask // a route may sign out who asks
				}
				path := pathParts.ReplaceAllString(r.Path, "none_01")
				checkAccess(t, r, who, send(r.Method, path, false), send(r.Method, path, true))
			})
		}
	}
}

// TestRoutes_serve_HEAD sends HEAD requests, as monitors and link previews do.
func TestRoutes_serve_HEAD(t *testing.T) {
	t.Parallel()
	need.Time(t)
	h := webtest.Setup(t)
	for path, want := range map[string]int{"/sign-in": 200, "/docs/quickstart": 200, "/flows": 303, "/f/none": 404, "/flows/none/events": 405} {
		if a := h.Anonymous().Ask(http.MethodHead, path, false); a.Status != want || a.Body != "" {
			t.Errorf("HEAD %s got %d and %q, wanted %d and no body", path, a.Status, a.Body, want)
		}
	}
}

// checkAccess checks the response to a browser, and the one to htmx, against the access class.
func checkAccess(t *testing.T, r web.Route, who somebody, plain, part *webtest.Answer) {
	t.Helper()
	refused := []int{plain.Status, part.Status}
	switch {
	case r.Access == web.Open:
		if plain.Status == http.StatusUnauthorized || plain.Header.Get("Location") == "/sign-in?next="+url.QueryEscape(r.Path) {
			t.Errorf("an open route asks to sign in: %d", plain.Status)
		}
	case who.from == web.Open && r.Method == "GET":
		if plain.Status != http.StatusSeeOther || !strings.HasPrefix(plain.Header.Get("Location"), "/sign-in?next=") || part.Status != http.StatusUnauthorized {
			t.Errorf("signed out: %v to %q", refused, plain.Header.Get("Location"))
		}
	case who.from == web.Open:
		if plain.Status != http.StatusUnauthorized || part.Status != http.StatusUnauthorized {
			t.Errorf("signed out: %v", refused)
		}
	case r.Access.Role() != "" && r.Access > who.from:
		if plain.Status != http.StatusForbidden || part.Status != http.StatusForbidden {
			t.Errorf("too low a role: %v", refused)
		}
	case founds(r) && who.from < web.Owner:
		if plain.Status != http.StatusForbidden {
			t.Errorf("who owns nothing may make a workspace: %d", plain.Status)
		}
	default:
		if plain.Status == http.StatusUnauthorized || plain.Status == http.StatusForbidden || plain.Status >= 500 {
			t.Errorf("admitted, it answers %d", plain.Status)
		}
	}
}

// founds reports whether a route creates a workspace, which only the owner of another may do.
func founds(r web.Route) bool {
	return r.Path == "/workspaces" && r.Method == http.MethodPost || r.Path == "/workspaces/new"
}

// TestRoutes_reject_invalid_text sends NUL and invalid UTF-8, which must not reach the database.
func TestRoutes_reject_invalid_text(t *testing.T) {
	t.Parallel()
	need.Time(t)
	h := webtest.Setup(t)
	b := h.As(flow.MemberOwner)
	id := h.Flow(webtest.PublishGreeting)
	for _, path := range []string{"/credentials/%00", "/credentials/%ff", "/flows/%00/limits", "/keys/%00", "/files/%00", "/deliveries?to=%00", "/deliveries?x=%zz&to=%ff", "/flows/" + id + "?run=%00", "/docs?q=%00"} {
		b.Get(path).Is(http.StatusNotFound)
	}
	b.Post("/workspaces/switch", url.Values{"workspace": {"\x00"}}).Is(http.StatusUnprocessableEntity).Has("The form could not be read.")
	b.Post("/keys", url.Values{"name": {"\xff"}}).Is(http.StatusUnprocessableEntity).Has("The form could not be read.")
	b.SendForm("/flows/"+id+"/run", map[string]string{"parent": "\x00"}, nil).Is(http.StatusUnprocessableEntity).Has("The form could not be read.")
	b.Get("/docs?q=%C3%BC").Is(http.StatusOK)
}
