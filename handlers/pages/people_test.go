package pages

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/db"
	"sluice/db/dbtest"
	"sluice/flow"
)

// clock stands still until it is moved.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Now().Truncate(time.Second)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// setupAt is a house whose pages and store have the test's clock.
func setupAt(t *testing.T, set ...func(*Config)) (*house, *clock) {
	t.Helper()
	c := newClock()
	store := dbtest.SQLite(t, func(cfg *db.Config) { cfg.Now = c.Now })
	return setupOn(t, store, append([]func(*Config){func(cfg *Config) { cfg.Now = c.Now }}, set...)...), c
}

// found makes a workspace that somebody owns.
func (h *house) found(name string, owner *flow.User) string {
	h.t.Helper()
	w := &flow.Workspace{Name: name}
	if err := h.store.FoundWorkspace(context.Background(), w, owner.ID); err != nil {
		h.t.Fatal(err)
	}
	return w.ID
}

// link is the one that a page shows once, without the host.
func (h *house) link(a *answer) string {
	h.t.Helper()
	found := regexp.MustCompile(`<code>http://[^/]+(/[^<]+)</code>`).FindStringSubmatch(a.body)
	if found == nil {
		h.t.Fatalf("there is no link in: %s", a.body)
	}
	return found[1]
}

func token(link string) string { return link[strings.Index(link, "token=")+len("token="):] }

// logged are the actions in a workspace's audit log, newest first.
func (h *house) logged(ws string) (actions []string) {
	h.t.Helper()
	list, err := h.store.ListAudit(context.Background(), ws, "", 100)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, e := range list {
		actions = append(actions, e.Action)
	}
	return actions
}

func TestSetUp(t *testing.T) {
	t.Parallel()
	var starters []string
	h := setupOn(t, dbtest.SQLite(t), func(c *Config) {
		c.Welcome = func(_ context.Context, ws string) (string, error) {
			starters = append(starters, ws)
			return "flow_first", nil
		}
	})
	b := h.stranger()
	b.get("/flows").is(http.StatusSeeOther).see("/setup")
	b.get("/setup").is(http.StatusOK).has("waits for its owner")
	b.get("/setup?token=wrong").is(http.StatusOK).has("waits for its owner")
	b.post("/sign-in", url.Values{}).is(http.StatusServiceUnavailable)
	if _, err := h.store.OfferSetUp(t.Context(), flow.Hash([]byte("right"))); err != nil {
		t.Fatal(err)
	}
	b.get("/setup?token=right").is(http.StatusOK).has(`name="token" value="right"`)
	form := url.Values{"token": {"right"}, "name": {"Ada"}, "email": {"ada"}, "password": {"short"}, "workspace": {""}}
	b.post("/setup", form).is(http.StatusUnprocessableEntity).has("not an e-mail", "10 to 512", "Give the workspace a name", `value="Ada"`).lacks("short")
	form = url.Values{"token": {"right"}, "name": {"Ada"}, "email": {"ada@example.com"}, "password": {password}, "workspace": {"Acme"}}
	b.post("/setup", form).see("/flows/flow_first")
	b.get("/settings/members").is(http.StatusOK).has("Acme", "ada@example.com")
	if len(starters) != 1 || starters[0] != flow.DefaultWorkspace {
		t.Errorf("starters for %v", starters)
	}
	t.Run("works once", func(t *testing.T) {
		other := h.stranger()
		other.get("/setup?token=right").is(http.StatusNotFound).has("done its work", "/sign-in")
		other.post("/setup", form).is(http.StatusNotFound)
		other.get("/setup").is(http.StatusNotFound)
	})
}

func TestSetUp_exposed(t *testing.T) {
	t.Parallel()
	h := setupOn(t, dbtest.SQLite(t), func(c *Config) { c.Exposed = true })
	b := h.stranger()
	for _, path := range []string{"/", "/flows", "/sign-in", "/nothing", "/setup", "/setup?token=wrong"} {
		b.get(path).is(http.StatusServiceUnavailable).has("waits for its owner")
	}
	b.post("/sign-in", url.Values{}).is(http.StatusServiceUnavailable)
	if _, err := h.store.OfferSetUp(t.Context(), flow.Hash([]byte("right"))); err != nil {
		t.Fatal(err)
	}
	b.get("/setup?token=right").is(http.StatusOK)
	h.add("ada@example.com", flow.DefaultWorkspace, flow.MemberOwner)
	b.get("/sign-in").is(http.StatusOK).has("not encrypted")
}

func TestInvites(t *testing.T) {
	t.Parallel()
	h, c := setupAt(t)
	h.add("ada@example.com", flow.DefaultWorkspace, flow.MemberOwner)
	ada := h.signIn("ada@example.com")
	invite := func(email, role string) string {
		t.Helper()
		return h.link(ada.post("/settings/members/invites", url.Values{"email": {email}, "role": {role}}).is(http.StatusOK))
	}
	t.Run("let somebody new in, once", func(t *testing.T) {
		link := invite("lin@example.com", "editor")
		lin := h.stranger()
		lin.get(link).is(http.StatusOK).has("lin@example.com", "ada invited you as editor")
		form := url.Values{"token": {token(link)}, "name": {"Lin"}, "password": {"short"}}
		lin.post("/invite", form).is(http.StatusUnprocessableEntity).has("10 to 512", `value="Lin"`)
		form.Set("password", password)
		lin.post("/invite", form).see("/flows")
		lin.get("/settings/members").is(http.StatusOK).has("You are now a member", "Lin").lacks("Invite somebody")
		h.stranger().get(link).is(http.StatusNotFound).has("no longer works")
		h.stranger().post("/invite", form).is(http.StatusNotFound)
	})
	t.Run("for an account need its owner signed in", func(t *testing.T) {
		kim := h.add("kim@example.com", flow.DefaultWorkspace, flow.MemberViewer)
		own := h.found("Kim's", kim)
		max := h.add("max@example.com", own, flow.MemberOwner)
		if err := h.store.RemoveMember(t.Context(), flow.DefaultWorkspace, kim.ID, flow.KeyFate{}); err != nil {
			t.Fatal(err)
		}
		link := invite("kim@example.com", "viewer")
		form := url.Values{"token": {token(link)}, "name": {"Eve"}, "password": {password}}
		h.stranger().get(link).is(http.StatusOK).has("Sign in to join")
		h.stranger().post("/invite", form).is(http.StatusForbidden)
		h.signIn(max.Email).get(link).is(http.StatusOK).has("You are signed in as max@example.com")
		h.signIn(max.Email).post("/invite", form).is(http.StatusForbidden)
		b := h.signIn("kim@example.com")
		b.get(link).is(http.StatusOK).has("Join").lacks("password")
		b.post("/invite", form).see("/flows")
		b.get("/settings/workspace").is(http.StatusOK).has("Default", "Kim&#39;s")
	})
	t.Run("are refused, revoked and end", func(t *testing.T) {
		ada.post("/settings/members/invites", url.Values{"email": {"nobody"}, "role": {"king"}}).is(http.StatusUnprocessableEntity).has("not an e-mail", "Choose viewer", `value="nobody"`)
		ada.post("/settings/members/invites", url.Values{"email": {"ADA@example.com"}, "role": {"viewer"}}).is(http.StatusUnprocessableEntity).has("already")
		link := invite("max2@example.com", "viewer")
		id := regexp.MustCompile(`invites/(inv_[^/]+)/revoke`).FindStringSubmatch(ada.get("/settings/members").body)[1]
		ada.post("/settings/members/invites/"+id+"/revoke", nil).see("/settings/members")
		h.stranger().get(link).is(http.StatusNotFound)
		link = invite("max2@example.com", "viewer")
		c.move(flow.InviteLife)
		h.stranger().get(link).is(http.StatusNotFound)
	})
}
