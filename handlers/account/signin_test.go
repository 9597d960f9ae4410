package account_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/db/dbtest"
	"sluice/flow"
	"sluice/handlers"
	"sluice/handlers/account"
	"sluice/handlers/web"
	"sluice/handlers/webtest"
)

func entry(email, secret string) url.Values {
	return url.Values{"email": {email}, "password": {secret}}
}

func TestSignIn_waits_after_failures(t *testing.T) {
	t.Parallel()
	h, c := setupAt(t)
	h.Add("ada@example.com", flow.DefaultWorkspace, flow.MemberOwner)
	b := h.Anonymous()
	for _, email := range []string{"ada@example.com", "nobody@example.com"} {
		for range web.FreeTriesPerAccount + 1 {
			b.Post("/sign-in", entry(email, "wrong")).Is(http.StatusUnprocessableEntity)
		}
		a := b.Post("/sign-in", entry(email, webtest.Password)).Is(http.StatusTooManyRequests).Has("1 second", email)
		if after := a.Header.Get("Retry-After"); after != "1" {
			t.Errorf("Retry-After %q", after)
		}
	}
	c.move(time.Second)
	b.Post("/sign-in", entry("ada@example.com", "wrong")).Is(http.StatusUnprocessableEntity)
	b.Post("/sign-in", entry("ada@example.com", webtest.Password)).Is(http.StatusTooManyRequests).Has("2 seconds")
	again := handlers.New(h.Settings) // the limit survives a restart
	r := httptest.NewRequest("POST", "/sign-in", strings.NewReader(entry("ada@example.com", webtest.Password).Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	again.ServeHTTP(w, r)
	if w.Code != http.StatusTooManyRequests {
		t.Errorf("after a restart %d", w.Code)
	}
	c.move(2 * time.Second)
	b.Post("/sign-in", entry("ada@example.com", webtest.Password)).RedirectsTo("/flows")
	if log := logged(h, flow.DefaultWorkspace); log[0] != "session.begin" || log[1] != "session.refuse" {
		t.Errorf("logged %v", log)
	}
}

func TestSignIn_known_browser(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	ada := h.Add("ada@example.com", flow.DefaultWorkspace, flow.MemberOwner)
	own, eve := h.SignIn(ada.Email), h.Anonymous()
	own.Post("/sign-out", nil).RedirectsTo("/sign-in")
	u, _ := url.Parse(h.Http.URL)
	eve.Client.Jar.SetCookies(u, []*http.Cookie{{Name: "sluice_known", Value: "made-up", Path: "/"}})
	for range web.FreeTriesPerAccount + 1 {
		eve.Post("/sign-in", entry(ada.Email, "wrong")).Is(http.StatusUnprocessableEntity)
	}
	eve.Post("/sign-in", entry(ada.Email, webtest.Password)).Is(http.StatusTooManyRequests)
	own.Post("/sign-in", entry(ada.Email, webtest.Password)).RedirectsTo("/flows") // not locked out by others
	for range web.FreeTriesPerAccount + 1 {
		own.Post("/sign-in", entry(ada.Email, "wrong")).Is(http.StatusUnprocessableEntity)
	}
	own.Post("/sign-in", entry(ada.Email, webtest.Password)).Is(http.StatusTooManyRequests)
}

func TestSignIn_takes_equally_long(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	for _, email := range []string{"founder@example.com", "nobody@example.com"} {
		began := time.Now()
		h.Anonymous().Post("/sign-in", entry(email, "wrong")).Is(http.StatusUnprocessableEntity)
		if took := time.Since(began); took < account.RefusalTime {
			t.Errorf("%s is refused after %s", email, took)
		}
	}
}

func TestSignIn_does_not_disclose_accounts(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	known := h.Anonymous().Post("/sign-in", entry("founder@example.com", "wrong"))
	unknown := h.Anonymous().Post("/sign-in", entry("flounder@example.com", "wrong"))
	if got := strings.ReplaceAll(unknown.Body, "flounder@", "founder@"); known.Status != unknown.Status || got != known.Body {
		t.Errorf("an unknown person gets %d, a known one %d", unknown.Status, known.Status)
	}
	long := entry("founder@example.com", strings.Repeat("x", 100_000))
	h.Anonymous().Post("/sign-in", long).Is(http.StatusUnprocessableEntity)
}

func TestSignIn_redirects_only_to_local_paths(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	for _, next := range []string{"https://evil.test", "//evil.test", `/\evil.test`, "/\t/evil.test", "javascript:alert(1)", "/%0a//evil.test\n"} {
		form := entry("founder@example.com", webtest.Password)
		form.Set("next", next)
		h.Anonymous().Post("/sign-in", form).RedirectsTo("/flows")
	}
	form := entry("founder@example.com", webtest.Password)
	form.Set("next", "/runs?state=failed")
	h.Anonymous().Post("/sign-in", form).RedirectsTo("/runs?state=failed")
}

func cookieOf(a *webtest.Answer) *http.Cookie {
	for _, c := range (&http.Response{Header: a.Header}).Cookies() {
		if strings.HasSuffix(c.Name, "session") {
			return c
		}
	}
	return nil
}

func TestSession_cookie(t *testing.T) {
	t.Parallel()
	for base, name := range map[string]string{"http://127.0.0.1": "sluice_session", "https://sluice.example.com": "__Host-session"} {
		h := webtest.Setup(t, func(c *handlers.Config) { c.PublicURL = base })
		c := cookieOf(h.Anonymous().Post("/sign-in", entry("founder@example.com", webtest.Password)))
		if c == nil || c.Name != name || c.Secure != (name == "__Host-session") || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" {
			t.Errorf("%s: %v", base, c)
		}
	}
}

func TestSession_fixation(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	b := h.Anonymous()
	planted := cookieOf(b.Post("/sign-in", entry("founder@example.com", webtest.Password)))
	fresh := cookieOf(b.Post("/sign-in", entry("founder@example.com", webtest.Password)))
	if planted.Value == fresh.Value {
		t.Error("signing in kept the token")
	}
	thief := h.Anonymous()
	u, _ := url.Parse(h.Http.URL)
	thief.Client.Jar.SetCookies(u, []*http.Cookie{{Name: planted.Name, Value: planted.Value, Path: "/"}})
	thief.Get("/settings/members").Is(http.StatusSeeOther)
	thief.Client.Jar.SetCookies(u, []*http.Cookie{{Name: planted.Name, Value: "made-up", Path: "/"}})
	if c := cookieOf(thief.Post("/sign-in", entry("founder@example.com", webtest.Password))); c.Value == "made-up" {
		t.Error("a token of a stranger's choice was taken over")
	}
}

func TestSession_ends(t *testing.T) {
	t.Parallel()
	h, c := setupAt(t)
	h.Add("ada@example.com", flow.DefaultWorkspace, flow.MemberOwner)
	idle, busy := h.SignIn("ada@example.com"), h.SignIn("ada@example.com")
	for range 4 {
		c.move(6 * 24 * time.Hour)
		busy.Get("/settings/sessions").Is(http.StatusOK)
	}
	idle.Get("/settings/sessions").Is(http.StatusSeeOther)
	c.move(6*24*time.Hour - time.Second)
	busy.Get("/settings/sessions").Is(http.StatusOK)
	c.move(time.Second)
	busy.Get("/settings/sessions").Is(http.StatusSeeOther) // after 30 days
}

func TestSessions_page(t *testing.T) {
	t.Parallel()
	h, c := setupAt(t)
	ada := h.Add("ada@example.com", flow.DefaultWorkspace, flow.MemberOwner)
	findMember := h.SignIn(ada.Email)
	c.move(time.Second) // identifiers are in order of time
	b := h.SignIn(ada.Email)
	list, err := h.Store.ListSessions(t.Context(), ada.ID)
	if err != nil || len(list) != 2 {
		t.Fatalf("%d sessions, %v", len(list), err)
	}
	b.Get("/settings/sessions").Is(http.StatusOK).Has("this one", "127.0.0.1", "/settings/sessions/"+list[1].ID+"/end").Lacks(list[0].ID)
	h.Add("eve@example.com", flow.DefaultWorkspace, flow.MemberOwner)
	h.SignIn("eve@example.com").Post("/settings/sessions/"+list[1].ID+"/end", nil).Is(http.StatusNotFound)
	b.Post("/settings/sessions/"+list[1].ID+"/end", nil).RedirectsTo("/settings/sessions")
	findMember.Get("/settings/sessions").Is(http.StatusSeeOther)

	seen := func() time.Time {
		list, err := h.Store.ListSessions(t.Context(), ada.ID)
		if err != nil {
			t.Fatal(err)
		}
		return list[0].SeenAt
	}
	b.Get("/settings/sessions").Has("was signed out") // the address from the trusted header
	before := seen()
	c.move(59 * time.Second)
	b.Get("/settings/audit").Is(http.StatusOK)
	if !seen().Equal(before) {
		t.Error("use was written within the minute")
	}
	c.move(time.Second)
	b.Get("/settings/audit").Is(http.StatusOK)
	if seen().Equal(before) {
		t.Error("use was not written after a minute")
	}
	b.Post("/settings/sessions/end", nil).RedirectsTo("/sign-in")
	b.Get("/settings/sessions").Is(http.StatusSeeOther)
}

func TestMembers(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	ada, lin := h.SignIn("founder@example.com"), h.Add("lin@example.com", flow.DefaultWorkspace, flow.MemberEditor)
	b := h.SignIn(lin.Email)
	path := "/settings/members/" + lin.ID
	founder, err := h.Store.FindUserByEmail(t.Context(), "founder@example.com")
	if err != nil {
		t.Fatal(err)
	}
	t.Run("keep their last owner", func(t *testing.T) {
		own := "/settings/members/" + founder.ID
		ada.Post(own+"/role", url.Values{"role": {"viewer"}}).Is(http.StatusUnprocessableEntity).Has("needs an owner")
		ada.Post(own+"/remove", nil).Is(http.StatusUnprocessableEntity).Has("needs an owner")
		ada.Post("/settings/members/leave", nil).Is(http.StatusUnprocessableEntity).Has("needs an owner")
	})
	t.Run("change role immediately", func(t *testing.T) {
		b.Get("/settings/audit").Is(http.StatusForbidden)
		ada.Post(path+"/role", url.Values{"role": {"owner"}}).RedirectsTo("/settings/members")
		if cookieOf(b.Get("/settings/audit").Is(http.StatusOK)) == nil {
			t.Error("new rights kept the token")
		}
		ada.Post(path+"/role", url.Values{"role": {"king"}}).Is(http.StatusUnprocessableEntity)
		ada.Post(path+"/role", url.Values{"role": {"viewer"}}).RedirectsTo("/settings/members")
		b.Get("/settings/audit").Is(http.StatusForbidden)
	})
	t.Run("set a new password with a link", func(t *testing.T) {
		link := link(h, ada.Post(path+"/password", nil).Is(http.StatusOK))
		fresh := "another fine password"
		c := h.Anonymous()
		c.Get(link).Is(http.StatusOK).Has(lin.Email)
		c.Post("/password/reset", url.Values{"token": {token(link)}, "password": {"short"}}).Is(http.StatusUnprocessableEntity)
		c.Post("/password/reset", url.Values{"token": {token(link)}, "password": {fresh}}).RedirectsTo("/flows")
		b.Get("/settings/sessions").Is(http.StatusSeeOther)
		c.Get(link).Is(http.StatusNotFound)
		h.Anonymous().Post("/sign-in", entry(lin.Email, webtest.Password)).Is(http.StatusUnprocessableEntity)

		findMember := h.Anonymous()
		findMember.Post("/sign-in", entry(lin.Email, fresh)).RedirectsTo("/flows")
		c.Post("/password", url.Values{"current": {"wrong"}, "new": {webtest.Password}}).Is(http.StatusUnprocessableEntity).Has("Enter your current password")
		c.Post("/password", url.Values{"current": {fresh}, "new": {webtest.Password}}).RedirectsTo("/flows")
		c.Get("/settings/sessions").Is(http.StatusOK)
		findMember.Get("/settings/sessions").Is(http.StatusSeeOther)
	})
	t.Run("of other workspaces keep their password", func(t *testing.T) {
		found(h, "Lin's", lin)
		ada.Post(path+"/password", nil).Is(http.StatusUnprocessableEntity).Has("workspaces that you do not own")
	})
	t.Run("lose access immediately", func(t *testing.T) {
		b := h.SignIn(lin.Email)
		b.Get("/settings/workspace").Is(http.StatusOK).Has("Default")
		ada.Post(path+"/remove", nil).RedirectsTo("/settings/members")
		b.Get("/settings/workspace").Is(http.StatusOK).Has("Lin&#39;s").Lacks("Default")
		ada.Post(path+"/remove", nil).Is(http.StatusNotFound)
	})
	if log := logged(h, flow.DefaultWorkspace); !slices.Contains(log, "member.role") || !slices.Contains(log, "password.offer") || !slices.Contains(log, "member.remove") {
		t.Errorf("logged %v", log)
	}
}

func TestWorkspaces(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	b := h.SignIn("founder@example.com")
	b.Post("/workspaces", url.Values{"name": {" "}}).Is(http.StatusUnprocessableEntity)
	b.Post("/workspaces", url.Values{"name": {"Second"}}).RedirectsTo("/flows")
	b.Get("/settings/workspace").Has("Second", "Default")
	b.Post("/settings/workspace", url.Values{"name": {"Renamed"}}).RedirectsTo("/settings/workspace")
	b.Get("/settings/workspace").Has("Renamed")
	b.Post("/sign-out", nil).RedirectsTo("/sign-in")
	back := url.Values{"email": {"founder@example.com"}, "password": {webtest.Password}}
	b.Post("/sign-in", back).RedirectsTo("/flows")
	b.Get("/settings/workspace").Has(`value="Renamed"`) // the page that this browser showed last
	h.SignIn("founder@example.com").Get("/settings/workspace").Has(`value="Default"`)
	b.Post("/workspaces/switch", url.Values{"workspace": {flow.DefaultWorkspace}}).RedirectsTo("/flows")
	b.Post("/sign-out", nil).RedirectsTo("/sign-in")
	b.Post("/sign-in", back).RedirectsTo("/flows")
	b.Get("/settings/workspace").Has(`value="Default"`)
	lin := h.Add("lin@example.com", flow.DefaultWorkspace, flow.MemberViewer)
	foreign := found(h, "Foreign", lin)
	missing := b.Post("/workspaces/switch", url.Values{"workspace": {"ws_none"}}).Is(http.StatusNotFound)
	if got := b.Post("/workspaces/switch", url.Values{"workspace": {foreign}}); got.Body != missing.Body || got.Status != missing.Status {
		t.Error("a foreign workspace answers unlike a missing one")
	}
}

// TestWorkspaces_in_large_numbers checks that the menu of each page stays short, that it has the current
// workspace, and that the others are found by a search.
func TestWorkspaces_in_large_numbers(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	b := h.SignIn("founder@example.com")
	for i := range 20 {
		b.Post("/workspaces", url.Values{"name": {fmt.Sprintf("Customer %02d", i)}}).RedirectsTo("/flows")
	}
	page := b.Get("/settings/members").Is(http.StatusOK)
	if n := strings.Count(page.Body, `name="workspace"`); n != 15 {
		t.Errorf("the menu has %d workspaces", n)
	}
	page.Has(`href="/workspaces"`, `<span>Customer 19<small>owner</small></span>`)
	b.Get("/workspaces?q=customer+07").Is(http.StatusOK).Has("Customer 07").Lacks(`aria-label="Switch to Customer 08"`)
	b.Get("/workspaces?q=nothing").Has("Nothing found")
}

func TestSignUp(t *testing.T) {
	t.Parallel()
	closed := webtest.Setup(t)
	if got, want := closed.Anonymous().Get("/sign-up").Is(http.StatusNotFound), closed.Anonymous().Get("/nothing"); got.Body != want.Body {
		t.Error("closed sign-up answers unlike a missing page")
	}
	open := webtest.Setup(t, func(c *handlers.Config) { c.SignUp = true })
	form := url.Values{"name": {"Kim"}, "email": {"kim@example.com"}, "password": {webtest.Password}, "workspace": {"Kim's"}}
	b := open.Anonymous()
	b.Post("/sign-up", form).RedirectsTo("/flows")
	b.Get("/settings/members").Is(http.StatusOK).Has("Kim&#39;s", "kim@example.com").Lacks("founder@")
}

// TestSignUp_does_not_show_known_addresses signs strangers up with addresses that have an account,
// and with one that has none. Both see the same, now and when they sign in again.
func TestSignUp_does_not_show_known_addresses(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t, func(c *handlers.Config) { c.SignUp = true })
	h.Add("ada@example.com", flow.DefaultWorkspace, flow.MemberOwner)
	seen := map[string]string{}
	for _, email := range []string{"ada@example.com", "nobody@example.com"} {
		const password = "another phrase of words"
		form := url.Values{"name": {"Mallory"}, "email": {strings.ToUpper(email[:1]) + email[1:]}, "password": {password}, "workspace": {"Mine"}}
		b := h.Anonymous()
		up := b.Post("/sign-up", form)
		own := b.Get("/settings/members").Is(http.StatusOK).Has("Mine", email).Lacks("unverified", "founder@")
		b.Post("/sign-out", nil)
		in := b.Post("/sign-in", url.Values{"email": {email}, "password": {password}})
		wrong := h.Anonymous().Post("/sign-in", url.Values{"email": {email}, "password": {"a wrong phrase of words"}})
		seen[email] = fmt.Sprint(up.Status, up.Header.Get("Location"), own.Status, in.Status, in.Header.Get("Location"), wrong.Status, strings.Contains(wrong.Body, "Wrong email or password."))
	}
	if seen["ada@example.com"] != seen["nobody@example.com"] || !strings.HasSuffix(seen["ada@example.com"], "422 true") {
		t.Errorf("the answers differ: %v", seen)
	}
	h.SignIn("ada@example.com").Get("/settings/members").Is(http.StatusOK).Has("founder@")
}

// TestSignUp_does_not_take_an_address invites a person whose address a stranger has signed up with.
func TestSignUp_does_not_take_an_address(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t, func(c *handlers.Config) { c.SignUp = true })
	signUp := func(password string) *webtest.Browser {
		b := h.Anonymous()
		b.Post("/sign-up", url.Values{"name": {"Kim"}, "email": {"kim@example.com"}, "password": {password}, "workspace": {"Mine"}}).RedirectsTo("/flows")
		return b
	}
	stranger := signUp("a phrase of the stranger")
	invite := func() string {
		page := h.SignIn("founder@example.com").Post("/settings/members/invites", url.Values{"email": {"kim@example.com"}, "role": {"editor"}}).Is(http.StatusOK)
		return regexp.MustCompile(`token=([A-Z2-7]+)`).FindStringSubmatch(page.Body)[1]
	}
	link := invite()
	guest := h.Anonymous()
	guest.Get("/invite?token=" + link).Is(http.StatusOK).Has(`name="password"`)
	guest.Post("/invite", url.Values{"token": {link}, "name": {"Kim herself"}, "password": {webtest.Password}}).RedirectsTo("/flows")
	guest.Get("/settings/members").Is(http.StatusOK).Has("Kim herself", "founder@")
	h.SignIn("kim@example.com").Get("/flows").Is(http.StatusOK)
	if m, err := h.Store.ListMembers(t.Context(), flow.DefaultWorkspace); err != nil || len(m) != 2 || m[1].Email != "kim@example.com" || m[1].Name != "Kim herself" {
		t.Errorf("members %+v, %v", m, err)
	}
	stranger.Get("/settings/members").Is(http.StatusOK).Lacks("founder@")

	// A later sign-up takes the place of an unverified account without content.
	signUp("a phrase of the second")
	in := func(password string) int {
		return h.Anonymous().Post("/sign-in", url.Values{"email": {"kim@example.com"}, "password": {password}}).Status
	}
	if first, second, own := in("a phrase of the stranger"), in("a phrase of the second"), in(webtest.Password); first != http.StatusUnprocessableEntity || second != http.StatusSeeOther || own != http.StatusSeeOther {
		t.Errorf("signed in with %d, %d and %d", first, second, own)
	}
}

// TestInvite_verifies_an_account_from_a_sign_up invites a person who has signed up with the address.
func TestInvite_verifies_an_account_from_a_sign_up(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t, func(c *handlers.Config) { c.SignUp = true })
	kim := h.Anonymous()
	kim.Post("/sign-up", url.Values{"name": {"Kim"}, "email": {"kim@example.com"}, "password": {webtest.Password}, "workspace": {"Mine"}}).RedirectsTo("/flows")
	page := h.SignIn("founder@example.com").Post("/settings/members/invites", url.Values{"email": {"kim@example.com"}, "role": {"editor"}}).Is(http.StatusOK)
	link := regexp.MustCompile(`token=([A-Z2-7]+)`).FindStringSubmatch(page.Body)[1]
	kim.Get("/invite?token=" + link).Is(http.StatusOK).Lacks(`name="password"`)
	kim.Post("/invite", url.Values{"token": {link}}).RedirectsTo("/flows")
	u, err := h.Store.FindUserByEmail(t.Context(), "kim@example.com")
	if err != nil || u.Name != "Kim" || u.Unverified {
		t.Fatalf("the user is %+v, %v", u, err)
	}
	if list, err := h.Store.ListMemberships(t.Context(), u.ID); err != nil || len(list) != 2 {
		t.Errorf("memberships %+v, %v", list, err)
	}
}

func TestSession_ends_as_configured(t *testing.T) {
	t.Parallel()
	h, c := setupAt(t, func(cfg *handlers.Config) { cfg.SessionIdle, cfg.SessionMax = time.Hour, 90*time.Minute })
	h.Add("ada@example.com", flow.DefaultWorkspace, flow.MemberOwner)
	idle, busy := h.SignIn("ada@example.com"), h.SignIn("ada@example.com")
	busy.Get("/settings/sessions").Is(http.StatusOK).Has("after 1 hour without use", "after 90 minutes at the latest")
	c.move(59 * time.Minute)
	busy.Get("/settings/sessions").Is(http.StatusOK)
	c.move(time.Minute)
	idle.Get("/settings/sessions").Is(http.StatusSeeOther)
	busy.Get("/settings/sessions").Is(http.StatusOK)
	c.move(30 * time.Minute)
	busy.Get("/settings/sessions").Is(http.StatusSeeOther)
}

// Sessions that began under a longer lifetime end by the current one.
func TestSession_follows_shorter_settings(t *testing.T) {
	t.Parallel()
	h, c := setupAt(t)
	h.Add("ada@example.com", flow.DefaultWorkspace, flow.MemberOwner)
	b := h.SignIn("ada@example.com")
	short := handlers.New(handlers.Config{Store: h.Store, Library: h.Library, Runner: h.Runner, Kinds: webtest.Kinds(), Models: webtest.FakeModels{}, Providers: webtest.FakeProviders{Store: h.Store}, PublicURL: h.Server.Site.PublicURL, Links: h.Server.Console.Links, Now: c.Now, SessionIdle: time.Hour, SessionMax: time.Hour})
	t.Cleanup(short.Drain)
	c.move(2 * time.Hour)
	h.Http.Config.Handler = short
	b.Get("/settings/sessions").Is(http.StatusSeeOther)
}

func TestPasswordLink_works_for_an_hour(t *testing.T) {
	t.Parallel()
	h, c := setupAt(t)
	h.Add("ada@example.com", flow.DefaultWorkspace, flow.MemberOwner)
	lin := h.Add("lin@example.com", flow.DefaultWorkspace, flow.MemberEditor)
	ada := h.SignIn("ada@example.com")
	offer := func() string {
		return link(h, ada.Post("/settings/members/"+lin.ID+"/password", nil).Is(http.StatusOK).Has("works once, for 1 hour"))
	}
	link := offer()
	c.move(flow.ResetLife - time.Second)
	h.Anonymous().Get(link).Is(http.StatusOK)
	c.move(time.Second)
	h.Anonymous().Get(link).Is(http.StatusNotFound).Has("password reset links for 1 hour")
	h.Anonymous().Post("/password/reset", url.Values{"token": {token(link)}, "password": {webtest.Password}}).Is(http.StatusNotFound)
}

// Invalid links slow down the network that opens them; valid links are
// admitted anyway.
func TestLinks_limit_guessing(t *testing.T) {
	t.Parallel()
	h, c := setupAt(t)
	h.Add("ada@example.com", flow.DefaultWorkspace, flow.MemberOwner)
	lin := h.Add("lin@example.com", flow.DefaultWorkspace, flow.MemberEditor)
	ada, eve := h.SignIn("ada@example.com"), h.Anonymous()
	invite := link(h, ada.Post("/settings/members/invites", url.Values{"email": {"kim@example.com"}, "role": {"viewer"}}))
	reset := link(h, ada.Post("/settings/members/"+lin.ID+"/password", nil))
	guesses := []func() *webtest.Answer{
		func() *webtest.Answer { return eve.Get("/invite?token=guess") },
		func() *webtest.Answer { return eve.Post("/invite", url.Values{"token": {"guess"}}) },
		func() *webtest.Answer { return eve.Get("/password/reset?token=guess") },
		func() *webtest.Answer { return eve.Post("/password/reset", url.Values{"token": {"guess"}}) },
		func() *webtest.Answer { return eve.Get("/setup?token=guess") },
		func() *webtest.Answer { return eve.Post("/setup", url.Values{"token": {"guess"}}) },
	}
	for range account.FreeLinks/len(guesses) + 1 {
		for _, guess := range guesses {
			if a := guess(); a.Status == http.StatusTooManyRequests {
				break
			}
		}
	}
	for _, guess := range guesses {
		if a := guess().Is(http.StatusTooManyRequests).Has("Too many invalid links"); a.Header.Get("Retry-After") != "1" {
			t.Errorf("Retry-After %q", a.Header.Get("Retry-After"))
		}
	}
	eve.Get(invite).Is(http.StatusOK)
	eve.Get(reset).Is(http.StatusOK)
	eve.Get("/setup").Is(http.StatusNotFound)
	h.SignIn("ada@example.com")
	c.move(time.Second)
	guesses[0]().Is(http.StatusNotFound)
	guesses[0]().Is(http.StatusTooManyRequests)
}

func TestSetUp_limits_token_guessing(t *testing.T) {
	t.Parallel()
	h := webtest.SetupOn(t, dbtest.SQLite(t), func(c *handlers.Config) { c.Exposed = true })
	if _, err := h.Store.OfferSetUp(t.Context(), flow.Hash([]byte("right"))); err != nil {
		t.Fatal(err)
	}
	b := h.Anonymous()
	for range account.FreeLinks + 1 {
		b.Get("/setup?token=guess").Is(http.StatusServiceUnavailable)
	}
	b.Get("/setup?token=guess").Is(http.StatusTooManyRequests)
	b.Get("/setup?token=right").Is(http.StatusOK)
}
