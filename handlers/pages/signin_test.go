package pages

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/db/dbtest"
	"sluice/flow"
)

func entry(email, secret string) url.Values {
	return url.Values{"email": {email}, "password": {secret}}
}

func TestSignIn_waits_after_failures(t *testing.T) {
	t.Parallel()
	h, c := setupAt(t)
	h.add("ada@example.com", flow.DefaultWorkspace, flow.MemberOwner)
	b := h.stranger()
	for _, email := range []string{"ada@example.com", "nobody@example.com"} {
		for range freeByAccount + 1 {
			b.post("/sign-in", entry(email, "wrong")).is(http.StatusUnprocessableEntity)
		}
		a := b.post("/sign-in", entry(email, password)).is(http.StatusTooManyRequests).has("1 second", email)
		if after := a.header.Get("Retry-After"); after != "1" {
			t.Errorf("Retry-After %q", after)
		}
	}
	c.move(time.Second)
	b.post("/sign-in", entry("ada@example.com", "wrong")).is(http.StatusUnprocessableEntity)
	b.post("/sign-in", entry("ada@example.com", password)).is(http.StatusTooManyRequests).has("2 seconds")
	again := New(h.server.Config) // a restart forgets nothing
	r := httptest.NewRequest("POST", "/sign-in", strings.NewReader(entry("ada@example.com", password).Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	again.ServeHTTP(w, r)
	if w.Code != http.StatusTooManyRequests {
		t.Errorf("after a restart %d", w.Code)
	}
	c.move(2 * time.Second)
	b.post("/sign-in", entry("ada@example.com", password)).see("/flows")
	if log := h.logged(flow.DefaultWorkspace); log[0] != "session.begin" || log[1] != "session.refuse" {
		t.Errorf("logged %v", log)
	}
}

func TestSignIn_known_browser(t *testing.T) {
	t.Parallel()
	h := setup(t)
	ada := h.add("ada@example.com", flow.DefaultWorkspace, flow.MemberOwner)
	own, eve := h.signIn(ada.Email), h.stranger()
	own.post("/sign-out", nil).see("/sign-in")
	u, _ := url.Parse(h.http.URL)
	eve.client.Jar.SetCookies(u, []*http.Cookie{{Name: h.server.knownCookie(), Value: "made-up", Path: "/"}})
	for range freeByAccount + 1 {
		eve.post("/sign-in", entry(ada.Email, "wrong")).is(http.StatusUnprocessableEntity)
	}
	eve.post("/sign-in", entry(ada.Email, password)).is(http.StatusTooManyRequests)
	own.post("/sign-in", entry(ada.Email, password)).see("/flows") // not locked out by others
	for range freeByAccount + 1 {
		own.post("/sign-in", entry(ada.Email, "wrong")).is(http.StatusUnprocessableEntity)
	}
	own.post("/sign-in", entry(ada.Email, password)).is(http.StatusTooManyRequests)
}

func TestSignIn_takes_equally_long(t *testing.T) {
	t.Parallel()
	h := setup(t)
	for _, email := range []string{"founder@example.com", "nobody@example.com"} {
		began := time.Now()
		h.stranger().post("/sign-in", entry(email, "wrong")).is(http.StatusUnprocessableEntity)
		if took := time.Since(began); took < refusalTime {
			t.Errorf("%s is refused after %s", email, took)
		}
	}
}

func TestSignIn_answers_alike(t *testing.T) {
	t.Parallel()
	h := setup(t)
	known := h.stranger().post("/sign-in", entry("founder@example.com", "wrong"))
	unknown := h.stranger().post("/sign-in", entry("flounder@example.com", "wrong"))
	if got := strings.ReplaceAll(unknown.body, "flounder@", "founder@"); known.status != unknown.status || got != known.body {
		t.Errorf("an unknown person gets %d, a known one %d", unknown.status, known.status)
	}
	long := entry("founder@example.com", strings.Repeat("x", 100_000))
	h.stranger().post("/sign-in", long).is(http.StatusUnprocessableEntity)
}

func TestSignIn_leads_only_to_us(t *testing.T) {
	t.Parallel()
	h := setup(t)
	for _, next := range []string{"https://evil.test", "//evil.test", `/\evil.test`, "/\t/evil.test", "javascript:alert(1)", "/%0a//evil.test\n"} {
		form := entry("founder@example.com", password)
		form.Set("next", next)
		h.stranger().post("/sign-in", form).see("/flows")
	}
	form := entry("founder@example.com", password)
	form.Set("next", "/runs?state=failed")
	h.stranger().post("/sign-in", form).see("/runs?state=failed")
}

func cookieOf(a *answer) *http.Cookie {
	for _, c := range (&http.Response{Header: a.header}).Cookies() {
		if strings.HasSuffix(c.Name, "session") {
			return c
		}
	}
	return nil
}

func TestSession_cookie(t *testing.T) {
	t.Parallel()
	for base, name := range map[string]string{"http://127.0.0.1": "sluice_session", "https://sluice.example.com": "__Host-session"} {
		h := setup(t, func(c *Config) { c.PublicURL = base })
		c := cookieOf(h.stranger().post("/sign-in", entry("founder@example.com", password)))
		if c == nil || c.Name != name || c.Secure != (name == "__Host-session") || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" {
			t.Errorf("%s: %v", base, c)
		}
	}
}

func TestSession_fixation(t *testing.T) {
	t.Parallel()
	h := setup(t)
	b := h.stranger()
	planted := cookieOf(b.post("/sign-in", entry("founder@example.com", password)))
	fresh := cookieOf(b.post("/sign-in", entry("founder@example.com", password)))
	if planted.Value == fresh.Value {
		t.Error("signing in kept the token")
	}
	thief := h.stranger()
	u, _ := url.Parse(h.http.URL)
	thief.client.Jar.SetCookies(u, []*http.Cookie{{Name: planted.Name, Value: planted.Value, Path: "/"}})
	thief.get("/settings/members").is(http.StatusSeeOther)
	thief.client.Jar.SetCookies(u, []*http.Cookie{{Name: planted.Name, Value: "made-up", Path: "/"}})
	if c := cookieOf(thief.post("/sign-in", entry("founder@example.com", password))); c.Value == "made-up" {
		t.Error("a token of a stranger's choice was taken over")
	}
}

func TestSession_ends(t *testing.T) {
	t.Parallel()
	h, c := setupAt(t)
	h.add("ada@example.com", flow.DefaultWorkspace, flow.MemberOwner)
	idle, busy := h.signIn("ada@example.com"), h.signIn("ada@example.com")
	for range 4 {
		c.move(6 * 24 * time.Hour)
		busy.get("/settings/sessions").is(http.StatusOK)
	}
	idle.get("/settings/sessions").is(http.StatusSeeOther)
	c.move(6*24*time.Hour - time.Second)
	busy.get("/settings/sessions").is(http.StatusOK)
	c.move(time.Second)
	busy.get("/settings/sessions").is(http.StatusSeeOther) // 30 days are over
}

func TestSessions_page(t *testing.T) {
	t.Parallel()
	h, c := setupAt(t)
	ada := h.add("ada@example.com", flow.DefaultWorkspace, flow.MemberOwner)
	other := h.signIn(ada.Email)
	c.move(time.Second) // identifiers are in order of time
	b := h.signIn(ada.Email)
	list, err := h.store.ListSessions(t.Context(), ada.ID)
	if err != nil || len(list) != 2 {
		t.Fatalf("%d sessions, %v", len(list), err)
	}
	b.get("/settings/sessions").is(http.StatusOK).has("this one", "127.0.0.1", "/settings/sessions/"+list[1].ID+"/end").lacks(list[0].ID)
	h.add("eve@example.com", flow.DefaultWorkspace, flow.MemberOwner)
	h.signIn("eve@example.com").post("/settings/sessions/"+list[1].ID+"/end", nil).is(http.StatusNotFound)
	b.post("/settings/sessions/"+list[1].ID+"/end", nil).see("/settings/sessions")
	other.get("/settings/sessions").is(http.StatusSeeOther)

	seen := func() time.Time {
		list, err := h.store.ListSessions(t.Context(), ada.ID)
		if err != nil {
			t.Fatal(err)
		}
		return list[0].SeenAt
	}
	b.get("/settings/sessions").has("is signed out") // what it was told is taken
	before := seen()
	c.move(59 * time.Second)
	b.get("/settings/audit").is(http.StatusOK)
	if !seen().Equal(before) {
		t.Error("use was written within the minute")
	}
	c.move(time.Second)
	b.get("/settings/audit").is(http.StatusOK)
	if seen().Equal(before) {
		t.Error("use was not written after a minute")
	}
	b.post("/settings/sessions/end", nil).see("/sign-in")
	b.get("/settings/sessions").is(http.StatusSeeOther)
}

func TestMembers(t *testing.T) {
	t.Parallel()
	h := setup(t)
	ada, lin := h.signIn("founder@example.com"), h.add("lin@example.com", flow.DefaultWorkspace, flow.MemberEditor)
	b := h.signIn(lin.Email)
	path := "/settings/members/" + lin.ID
	founder, err := h.store.FindUserByEmail(t.Context(), "founder@example.com")
	if err != nil {
		t.Fatal(err)
	}
	t.Run("keep their last owner", func(t *testing.T) {
		own := "/settings/members/" + founder.ID
		ada.post(own+"/role", url.Values{"role": {"viewer"}}).is(http.StatusUnprocessableEntity).has("needs an owner")
		ada.post(own+"/remove", nil).is(http.StatusUnprocessableEntity).has("needs an owner")
		ada.post("/settings/members/leave", nil).is(http.StatusUnprocessableEntity).has("needs an owner")
	})
	t.Run("change at once", func(t *testing.T) {
		b.get("/settings/audit").is(http.StatusForbidden)
		ada.post(path+"/role", url.Values{"role": {"owner"}}).see("/settings/members")
		if cookieOf(b.get("/settings/audit").is(http.StatusOK)) == nil {
			t.Error("new rights kept the token")
		}
		ada.post(path+"/role", url.Values{"role": {"king"}}).is(http.StatusUnprocessableEntity)
		ada.post(path+"/role", url.Values{"role": {"viewer"}}).see("/settings/members")
		b.get("/settings/audit").is(http.StatusForbidden)
	})
	t.Run("get a new password by a link", func(t *testing.T) {
		link := h.link(ada.post(path+"/password", nil).is(http.StatusOK))
		fresh := "another fine password"
		c := h.stranger()
		c.get(link).is(http.StatusOK).has(lin.Email)
		c.post("/password/reset", url.Values{"token": {token(link)}, "password": {"short"}}).is(http.StatusUnprocessableEntity)
		c.post("/password/reset", url.Values{"token": {token(link)}, "password": {fresh}}).see("/flows")
		b.get("/settings/sessions").is(http.StatusSeeOther)
		c.get(link).is(http.StatusNotFound)
		h.stranger().post("/sign-in", entry(lin.Email, password)).is(http.StatusUnprocessableEntity)

		other := h.stranger()
		other.post("/sign-in", entry(lin.Email, fresh)).see("/flows")
		c.post("/password", url.Values{"current": {"wrong"}, "new": {password}}).is(http.StatusUnprocessableEntity).has("not your current")
		c.post("/password", url.Values{"current": {fresh}, "new": {password}}).see("/flows")
		c.get("/settings/sessions").is(http.StatusOK)
		other.get("/settings/sessions").is(http.StatusSeeOther)
	})
	t.Run("of other workspaces keep their password", func(t *testing.T) {
		h.found("Lin's", lin)
		ada.post(path+"/password", nil).is(http.StatusUnprocessableEntity).has("workspaces that you do not own")
	})
	t.Run("lose it at once", func(t *testing.T) {
		b := h.signIn(lin.Email)
		b.get("/settings/workspace").is(http.StatusOK).has("Default")
		ada.post(path+"/remove", nil).see("/settings/members")
		b.get("/settings/workspace").is(http.StatusOK).has("Lin&#39;s").lacks("Default")
		ada.post(path+"/remove", nil).is(http.StatusNotFound)
	})
	if log := h.logged(flow.DefaultWorkspace); !slices.Contains(log, "member.role") || !slices.Contains(log, "password.offer") || !slices.Contains(log, "member.remove") {
		t.Errorf("logged %v", log)
	}
}

func TestWorkspaces(t *testing.T) {
	t.Parallel()
	h := setup(t)
	b := h.signIn("founder@example.com")
	b.post("/workspaces", url.Values{"name": {" "}}).is(http.StatusUnprocessableEntity)
	b.post("/workspaces", url.Values{"name": {"Second"}}).see("/flows")
	b.get("/settings/workspace").has("Second", "Default")
	b.post("/settings/workspace", url.Values{"name": {"Renamed"}}).see("/settings/workspace")
	b.get("/settings/workspace").has("Renamed")
	b.post("/sign-out", nil).see("/sign-in")
	back := url.Values{"email": {"founder@example.com"}, "password": {password}}
	b.post("/sign-in", back).see("/flows")
	b.get("/settings/workspace").has(`value="Renamed"`) // where this browser was last
	h.signIn("founder@example.com").get("/settings/workspace").has(`value="Default"`)
	b.post("/workspaces/switch", url.Values{"workspace": {flow.DefaultWorkspace}}).see("/flows")
	b.post("/sign-out", nil).see("/sign-in")
	b.post("/sign-in", back).see("/flows")
	b.get("/settings/workspace").has(`value="Default"`)
	lin := h.add("lin@example.com", flow.DefaultWorkspace, flow.MemberViewer)
	foreign := h.found("Foreign", lin)
	missing := b.post("/workspaces/switch", url.Values{"workspace": {"ws_none"}}).is(http.StatusNotFound)
	if got := b.post("/workspaces/switch", url.Values{"workspace": {foreign}}); got.body != missing.body || got.status != missing.status {
		t.Error("a foreign workspace answers unlike a missing one")
	}
}

func TestSignUp(t *testing.T) {
	t.Parallel()
	closed := setup(t)
	if got, want := closed.stranger().get("/sign-up").is(http.StatusNotFound), closed.stranger().get("/nothing"); got.body != want.body {
		t.Error("closed sign-up answers unlike a missing page")
	}
	open := setup(t, func(c *Config) { c.SignUp = true })
	form := url.Values{"name": {"Kim"}, "email": {"kim@example.com"}, "password": {password}, "workspace": {"Kim's"}}
	b := open.stranger()
	b.post("/sign-up", form).see("/flows")
	b.get("/settings/members").is(http.StatusOK).has("Kim&#39;s", "kim@example.com").lacks("founder@")
	open.stranger().post("/sign-up", form).is(http.StatusUnprocessableEntity).has("already a person", `value="Kim"`)
}

func TestHasher(t *testing.T) {
	t.Parallel()
	h := newHasher()
	var now, most atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			_ = h.do(t.Context(), func() error {
				for n := now.Add(1); ; {
					if m := most.Load(); n <= m || most.CompareAndSwap(m, n) {
						break
					}
				}
				_, err := HashPassword(password)
				now.Add(-1)
				return err
			})
		})
	}
	all.Wait()
	if most.Load() > hashAtOnce {
		t.Errorf("%d at once", most.Load())
	}
	h.patience = 0
	for range hashAtOnce {
		h.room <- struct{}{}
	}
	if _, err := h.hash(t.Context(), password); err != errHasherBusy {
		t.Errorf("a full house: %v", err)
	}
}

func TestSession_ends_as_configured(t *testing.T) {
	t.Parallel()
	h, c := setupAt(t, func(cfg *Config) { cfg.SessionIdle, cfg.SessionMax = time.Hour, 90*time.Minute })
	h.add("ada@example.com", flow.DefaultWorkspace, flow.MemberOwner)
	idle, busy := h.signIn("ada@example.com"), h.signIn("ada@example.com")
	busy.get("/settings/sessions").is(http.StatusOK).has("after 1 hour without use", "after 90 minutes at the latest")
	c.move(59 * time.Minute)
	busy.get("/settings/sessions").is(http.StatusOK)
	c.move(time.Minute)
	idle.get("/settings/sessions").is(http.StatusSeeOther)
	busy.get("/settings/sessions").is(http.StatusOK)
	c.move(30 * time.Minute)
	busy.get("/settings/sessions").is(http.StatusSeeOther)
}

// Sessions that began under longer settings end by those of now.
func TestSession_follows_shorter_settings(t *testing.T) {
	t.Parallel()
	h, c := setupAt(t)
	h.add("ada@example.com", flow.DefaultWorkspace, flow.MemberOwner)
	b := h.signIn("ada@example.com")
	short := New(Config{Store: h.store, Library: h.library, Runner: h.runner, Kinds: kinds(), Models: fakeModels{}, Providers: fakeProviders{h.store}, Files: h.store, PublicURL: h.server.PublicURL, Links: h.server.Links, Now: c.Now, SessionIdle: time.Hour, SessionMax: time.Hour})
	t.Cleanup(short.Drain)
	c.move(2 * time.Hour)
	h.http.Config.Handler = short
	b.get("/settings/sessions").is(http.StatusSeeOther)
}

func TestPasswordLink_works_for_an_hour(t *testing.T) {
	t.Parallel()
	h, c := setupAt(t)
	h.add("ada@example.com", flow.DefaultWorkspace, flow.MemberOwner)
	lin := h.add("lin@example.com", flow.DefaultWorkspace, flow.MemberEditor)
	ada := h.signIn("ada@example.com")
	offer := func() string {
		return h.link(ada.post("/settings/members/"+lin.ID+"/password", nil).is(http.StatusOK).has("works once, for 1 hour"))
	}
	link := offer()
	c.move(flow.ResetLife - time.Second)
	h.stranger().get(link).is(http.StatusOK)
	c.move(time.Second)
	h.stranger().get(link).is(http.StatusNotFound).has("password reset links for 1 hour")
	h.stranger().post("/password/reset", url.Values{"token": {token(link)}, "password": {password}}).is(http.StatusNotFound)
}

// Links that do not work slow the network down that opens them, and those that
// work are let in all the same.
func TestLinks_are_not_guessed(t *testing.T) {
	t.Parallel()
	h, c := setupAt(t)
	h.add("ada@example.com", flow.DefaultWorkspace, flow.MemberOwner)
	lin := h.add("lin@example.com", flow.DefaultWorkspace, flow.MemberEditor)
	ada, eve := h.signIn("ada@example.com"), h.stranger()
	invite := h.link(ada.post("/settings/members/invites", url.Values{"email": {"kim@example.com"}, "role": {"viewer"}}))
	reset := h.link(ada.post("/settings/members/"+lin.ID+"/password", nil))
	guesses := []func() *answer{
		func() *answer { return eve.get("/invite?token=guess") },
		func() *answer { return eve.post("/invite", url.Values{"token": {"guess"}}) },
		func() *answer { return eve.get("/password/reset?token=guess") },
		func() *answer { return eve.post("/password/reset", url.Values{"token": {"guess"}}) },
		func() *answer { return eve.get("/setup?token=guess") },
		func() *answer { return eve.post("/setup", url.Values{"token": {"guess"}}) },
	}
	for range freeLinks/len(guesses) + 1 {
		for _, guess := range guesses {
			if a := guess(); a.status == http.StatusTooManyRequests {
				break
			}
		}
	}
	for _, guess := range guesses {
		if a := guess().is(http.StatusTooManyRequests).has("Too many links that do not work"); a.header.Get("Retry-After") != "1" {
			t.Errorf("Retry-After %q", a.header.Get("Retry-After"))
		}
	}
	eve.get(invite).is(http.StatusOK)
	eve.get(reset).is(http.StatusOK)
	eve.get("/setup").is(http.StatusNotFound)
	h.signIn("ada@example.com")
	c.move(time.Second)
	guesses[0]().is(http.StatusNotFound)
	guesses[0]().is(http.StatusTooManyRequests)
}

func TestSetUp_token_is_not_guessed(t *testing.T) {
	t.Parallel()
	h := setupOn(t, dbtest.SQLite(t), func(c *Config) { c.Exposed = true })
	if _, err := h.store.OfferSetUp(t.Context(), flow.Hash([]byte("right"))); err != nil {
		t.Fatal(err)
	}
	b := h.stranger()
	for range freeLinks + 1 {
		b.get("/setup?token=guess").is(http.StatusServiceUnavailable)
	}
	b.get("/setup?token=guess").is(http.StatusTooManyRequests)
	b.get("/setup?token=right").is(http.StatusOK)
}
