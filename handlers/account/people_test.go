package account_test

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
	"sluice/handlers"
	"sluice/handlers/webtest"
)

// clock is a clock that only advances when a test moves it.
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

// setupAt returns an environment whose pages and store use the test's clock.
func setupAt(t *testing.T, set ...func(*handlers.Config)) (*webtest.Env, *clock) {
	t.Helper()
	c := newClock()
	store := dbtest.SQLite(t, func(cfg *db.Config) { cfg.Now = c.Now })
	return webtest.SetupOn(t, store, append([]func(*handlers.Config){func(cfg *handlers.Config) { cfg.Now = c.Now }}, set...)...), c
}

func token(link string) string { return link[strings.Index(link, "token=")+len("token="):] }

func TestSetUp(t *testing.T) {
	t.Parallel()
	var starters []string
	h := webtest.SetupOn(t, dbtest.SQLite(t), func(c *handlers.Config) {
		c.Welcome = func(_ context.Context, ws flow.WorkspaceID) (flow.FlowID, error) {
			starters = append(starters, string(ws))
			return "flow_first", nil
		}
	})
	b := h.Anonymous()
	b.Get("/flows").Is(http.StatusSeeOther).RedirectsTo("/setup")
	b.Get("/setup").Is(http.StatusOK).Has("Finish setting up Sluice")
	b.Get("/setup?token=wrong").Is(http.StatusOK).Has("Finish setting up Sluice")
	b.Post("/sign-in", url.Values{}).Is(http.StatusServiceUnavailable)
	if _, err := h.Store.OfferSetUp(t.Context(), flow.Hash([]byte("right"))); err != nil {
		t.Fatal(err)
	}
	b.Get("/setup?token=right").Is(http.StatusOK).Has(`name="token" value="right"`)
	form := url.Values{"token": {"right"}, "name": {"Ada"}, "email": {"ada"}, "password": {"short"}, "workspace": {""}}
	b.Post("/setup", form).Is(http.StatusUnprocessableEntity).Has("valid email", "10 to 512", "Give the workspace a name", `value="Ada"`).Lacks("short")
	form = url.Values{"token": {"right"}, "name": {"Ada"}, "email": {"ada@example.com"}, "password": {webtest.Password}, "workspace": {"Acme"}}
	b.Post("/setup", form).RedirectsTo("/flows/flow_first")
	b.Get("/settings/members").Is(http.StatusOK).Has("Acme", "ada@example.com")
	if len(starters) != 1 || starters[0] != flow.DefaultWorkspace {
		t.Errorf("starters for %v", starters)
	}
	t.Run("works once", func(t *testing.T) {
		findMember := h.Anonymous()
		findMember.Get("/setup?token=right").Is(http.StatusNotFound).Has("already used", "/sign-in")
		findMember.Post("/setup", form).Is(http.StatusNotFound)
		findMember.Get("/setup").Is(http.StatusNotFound)
	})
}

func TestSetUp_exposed(t *testing.T) {
	t.Parallel()
	h := webtest.SetupOn(t, dbtest.SQLite(t), func(c *handlers.Config) { c.Exposed = true })
	b := h.Anonymous()
	for _, path := range []string{"/", "/flows", "/sign-in", "/nothing", "/setup", "/setup?token=wrong"} {
		b.Get(path).Is(http.StatusServiceUnavailable).Has("Finish setting up Sluice")
	}
	b.Post("/sign-in", url.Values{}).Is(http.StatusServiceUnavailable)
	if _, err := h.Store.OfferSetUp(t.Context(), flow.Hash([]byte("right"))); err != nil {
		t.Fatal(err)
	}
	b.Get("/setup?token=right").Is(http.StatusOK)
	h.Add("ada@example.com", flow.DefaultWorkspace, flow.MemberOwner)
	b.Get("/sign-in").Is(http.StatusOK).Has("not encrypted")
}

func TestInvites(t *testing.T) {
	t.Parallel()
	h, c := setupAt(t)
	h.Add("ada@example.com", flow.DefaultWorkspace, flow.MemberOwner)
	ada := h.SignIn("ada@example.com")
	invite := func(email, role string) string {
		t.Helper()
		return link(h, ada.Post("/settings/members/invites", url.Values{"email": {email}, "role": {role}}).Is(http.StatusOK))
	}
	t.Run("admit a new user once", func(t *testing.T) {
		link := invite("lin@example.com", "editor")
		lin := h.Anonymous()
		lin.Get(link).Is(http.StatusOK).Has("lin@example.com", "ada invited you as editor")
		form := url.Values{"token": {token(link)}, "name": {"Lin"}, "password": {"short"}}
		lin.Post("/invite", form).Is(http.StatusUnprocessableEntity).Has("10 to 512", `value="Lin"`)
		form.Set("password", webtest.Password)
		lin.Post("/invite", form).RedirectsTo("/flows")
		lin.Get("/settings/members").Is(http.StatusOK).Has("You are now a member", "Lin").Lacks("Invite a member")
		h.Anonymous().Get(link).Is(http.StatusNotFound).Has("no longer works")
		h.Anonymous().Post("/invite", form).Is(http.StatusNotFound)
	})
	t.Run("for an existing account require its session", func(t *testing.T) {
		kim := h.Add("kim@example.com", flow.DefaultWorkspace, flow.MemberViewer)
		own := found(h, "Kim's", kim)
		max := h.Add("max@example.com", flow.WorkspaceID(own), flow.MemberOwner)
		if err := h.Store.RemoveMember(t.Context(), flow.DefaultWorkspace, kim.ID, flow.KeyHandover{}); err != nil {
			t.Fatal(err)
		}
		link := invite("kim@example.com", "viewer")
		form := url.Values{"token": {token(link)}, "name": {"Eve"}, "password": {webtest.Password}}
		h.Anonymous().Get(link).Is(http.StatusOK).Has("Sign in to join")
		h.Anonymous().Post("/invite", form).Is(http.StatusForbidden)
		h.SignIn(max.Email).Get(link).Is(http.StatusOK).Has("You are signed in as max@example.com")
		h.SignIn(max.Email).Post("/invite", form).Is(http.StatusForbidden)
		b := h.SignIn("kim@example.com")
		b.Get(link).Is(http.StatusOK).Has("Join").Lacks("password")
		b.Post("/invite", form).RedirectsTo("/flows")
		b.Get("/settings/workspace").Is(http.StatusOK).Has("Default", "Kim&#39;s")
	})
	t.Run("can be refused and revoked, and expire", func(t *testing.T) {
		ada.Post("/settings/members/invites", url.Values{"email": {"nobody"}, "role": {"king"}}).Is(http.StatusUnprocessableEntity).Has("valid email", "Choose viewer", `value="nobody"`)
		ada.Post("/settings/members/invites", url.Values{"email": {"ADA@example.com"}, "role": {"viewer"}}).Is(http.StatusUnprocessableEntity).Has("already")
		link := invite("max2@example.com", "viewer")
		id := regexp.MustCompile(`invites/(inv_[^/]+)/revoke`).FindStringSubmatch(ada.Get("/settings/members").Body)[1]
		ada.Post("/settings/members/invites/"+id+"/revoke", nil).RedirectsTo("/settings/members")
		h.Anonymous().Get(link).Is(http.StatusNotFound)
		link = invite("max2@example.com", "viewer")
		c.move(flow.InviteLife)
		h.Anonymous().Get(link).Is(http.StatusNotFound)
	})
}
