package account_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/flow"
	"sluice/handlers"
	"sluice/handlers/webtest"
	"sluice/outbound/oidc"
	"sluice/outbound/oidc/oidctest"
)

// withProvider returns an environment whose people sign in with a provider. Groups give roles if mapped is set.
func withProvider(t *testing.T, mapped bool, set ...func(*handlers.Config)) (*webtest.Env, *oidctest.Provider) {
	t.Helper()
	server := oidctest.New(t)
	s := &oidc.Settings{ID: "company", Name: "Company", Issuer: server.URL, ClientID: oidctest.ClientID, ClientSecret: oidctest.Secret, Domains: []string{"example.com"}, Role: "viewer"}
	if mapped {
		s.Role, s.Claim, s.Roles = "", "groups", map[string][]string{"owner": {"own"}, "editor": {"edit"}, "viewer": {"view"}}
	}
	h := webtest.Setup(t, append([]func(*handlers.Config){func(c *handlers.Config) {
		c.SignIn = []*oidc.Provider{oidc.New(s, http.DefaultClient, time.Now)}
	}}, set...)...)
	return h, server
}

// person sets who signs in at the provider.
func person(p *oidctest.Provider, email string, groups ...string) {
	p.Claims = map[string]any{"sub": "sub-of-" + email, "email": email, "email_verified": true, "name": strings.ToUpper(email[:1]) + email[1:3], "groups": groups}
}

// through signs in with the provider and returns the response to the answer of the provider.
func through(b *webtest.Browser, next string) *webtest.Answer {
	b.T.Helper()
	start := b.Get("/sign-in/with/company?" + url.Values{"next": {next}}.Encode()).Is(http.StatusSeeOther)
	resp, err := b.Client.Get(start.Header.Get("Location"))
	if err != nil {
		b.T.Fatal(err)
	}
	resp.Body.Close()
	back, ok := strings.CutPrefix(resp.Header.Get("Location"), b.Base)
	if !ok {
		b.T.Fatalf("the provider sent the browser to %q", resp.Header.Get("Location"))
	}
	return b.Get(back)
}

// roleOf returns the role of a user in the default workspace, or "".
func roleOf(h *webtest.Env, email string) flow.MemberRole {
	h.T.Helper()
	u, err := h.Store.FindUserByEmail(context.Background(), email)
	if err != nil {
		return ""
	}
	m, err := h.Store.FindMember(context.Background(), flow.DefaultWorkspace, u.ID)
	if err != nil {
		return ""
	}
	return m.Role
}

func TestProvider_signs_in_new_people(t *testing.T) {
	t.Parallel()
	h, p := withProvider(t, false)
	b := h.Anonymous()
	b.Get("/sign-in?next=/runs").Is(http.StatusOK).Has("Continue with Company", "/sign-in/with/company?next=%2Fruns")
	person(p, "lin@example.com")
	through(b, "/runs").RedirectsTo("/runs")
	b.Get("/flows").Is(http.StatusOK)
	if role := roleOf(h, "lin@example.com"); role != flow.MemberViewer {
		t.Errorf("role %q", role)
	}
	if log := logged(h, flow.DefaultWorkspace); !slices.Contains(log, "member.join") || log[0] != "session.begin" {
		t.Errorf("logged %v", log)
	}
	// The account has no password, so none signs in.
	for _, secret := range []string{"", webtest.Password} {
		h.Anonymous().Post("/sign-in", entry("lin@example.com", secret)).Is(http.StatusUnprocessableEntity)
	}
	// The subject identifies the person, also with another address.
	p.Claims["email"] = "other@example.com"
	through(h.Anonymous(), "").RedirectsTo("/flows")
	if roleOf(h, "other@example.com") != "" {
		t.Error("another address made another account")
	}
}

func TestProvider_does_not_vouch_for_every_address(t *testing.T) {
	t.Parallel()
	h, p := withProvider(t, false)
	h.Add("ada@example.org", flow.DefaultWorkspace, flow.MemberEditor)
	h.Add("max@example.com", flow.DefaultWorkspace, flow.MemberEditor)
	person(p, "ada@example.org")
	through(h.Anonymous(), "").Is(http.StatusForbidden).Has("does not vouch")
	for _, verified := range []any{false, nil, "no", 1} {
		person(p, "max@example.com")
		p.Claims["email_verified"] = verified
		through(h.Anonymous(), "").Is(http.StatusForbidden).Has("does not vouch")
	}
	person(p, "max@example.com")
	through(h.Anonymous(), "").RedirectsTo("/flows")
	if log := logged(h, flow.DefaultWorkspace); !slices.Contains(log, "identity.link") {
		t.Errorf("logged %v", log)
	}
}

func TestProvider_needs_the_password_of_an_owner(t *testing.T) {
	t.Parallel()
	h, p := withProvider(t, false)
	person(p, "founder@example.com")
	b := h.Anonymous()
	through(b, "/runs").RedirectsTo("/sign-in/confirm")
	b.Get("/flows").Is(http.StatusSeeOther)
	b.Get("/sign-in/confirm").Is(http.StatusOK).Has("founder@example.com", "Company")
	b.Post("/sign-in/confirm", url.Values{"password": {"wrong"}}).Is(http.StatusUnprocessableEntity).Has("Wrong password")
	h.Anonymous().Get("/sign-in/confirm").RedirectsTo("/sign-in")
	h.Anonymous().Post("/sign-in/confirm", url.Values{"password": {webtest.Password}}).RedirectsTo("/sign-in")
	b.Post("/sign-in/confirm", url.Values{"password": {webtest.Password}}).RedirectsTo("/runs")
	b.Get("/settings/audit").Is(http.StatusOK).Has("will sign in with")
	through(h.Anonymous(), "").RedirectsTo("/flows") // from now on without the password
	// Somebody else at the provider with the same address must confirm again.
	p.Claims["sub"] = "impostor"
	through(h.Anonymous(), "").RedirectsTo("/sign-in/confirm")
}

func TestProvider_decides_roles_at_each_sign_in(t *testing.T) {
	t.Parallel()
	h, p := withProvider(t, true)
	person(p, "lin@example.com", "all")
	through(h.Anonymous(), "").Is(http.StatusForbidden).Has("gives no access")
	if u, err := h.Store.FindUserByEmail(t.Context(), "lin@example.com"); err == nil {
		t.Errorf("%+v was created", u)
	}
	first := h.Anonymous()
	person(p, "lin@example.com", "own", "view")
	through(first, "").RedirectsTo("/flows")
	first.Get("/settings/audit").Is(http.StatusOK)
	second := h.Anonymous()
	person(p, "lin@example.com", "edit")
	through(second, "").RedirectsTo("/flows")
	if role := roleOf(h, "lin@example.com"); role != flow.MemberEditor {
		t.Errorf("role %q", role)
	}
	first.Get("/flows").Is(http.StatusSeeOther) // lowering ended the session
	second.Get("/flows").Is(http.StatusOK)
	person(p, "lin@example.com", "own")
	through(h.Anonymous(), "").RedirectsTo("/flows")
	second.Get("/flows").Is(http.StatusOK) // raising ends none
	if role := roleOf(h, "lin@example.com"); role != flow.MemberOwner {
		t.Errorf("role %q", role)
	}
	person(p, "lin@example.com")
	through(h.Anonymous(), "").Is(http.StatusForbidden).Has("gives no access")
	second.Get("/flows").Is(http.StatusSeeOther)
	if role := roleOf(h, "lin@example.com"); role != "" {
		t.Errorf("role %q", role)
	}
	if log := logged(h, flow.DefaultWorkspace); !slices.Contains(log, "member.role") || !slices.Contains(log, "member.remove") {
		t.Errorf("logged %v", log)
	}
}

func TestProvider_leaves_the_last_owner(t *testing.T) {
	t.Parallel()
	h, p := withProvider(t, true)
	person(p, "founder@example.com", "view")
	b := h.Anonymous()
	through(b, "").RedirectsTo("/sign-in/confirm")
	b.Post("/sign-in/confirm", url.Values{"password": {webtest.Password}}).RedirectsTo("/flows")
	if role := roleOf(h, "founder@example.com"); role != flow.MemberOwner {
		t.Errorf("role %q", role)
	}
}

func TestProvider_signs_out_there(t *testing.T) {
	t.Parallel()
	h, p := withProvider(t, false)
	person(p, "lin@example.com")
	b := h.Anonymous()
	through(b, "").RedirectsTo("/flows")
	a := b.Post("/sign-out", nil).Is(http.StatusOK).Has("You are signed out", "Sign out of Company")
	to, ok := strings.CutPrefix(a.Header.Get("Refresh"), "0; url=")
	u, err := url.Parse(to)
	if !ok || err != nil || !strings.HasPrefix(to, p.URL+"/sign-out?") || u.Query().Get("client_id") != oidctest.ClientID ||
		u.Query().Get("post_logout_redirect_uri") != h.Settings.PublicURL+"/sign-in" || strings.Count(u.Query().Get("id_token_hint"), ".") != 2 {
		t.Errorf("continues to %q", a.Header.Get("Refresh"))
	}
	b.Get("/flows").Is(http.StatusSeeOther)
}

func TestProvider_explains_failures(t *testing.T) {
	t.Parallel()
	h, p := withProvider(t, false)
	person(p, "lin@example.com")
	b := h.Anonymous()
	b.Get("/sign-in/with/other").Is(http.StatusNotFound)
	b.Get("/sign-in/callback/company?code=x&state=y").Is(http.StatusForbidden).Has("has expired or is not valid")
	p.Answer = func(answer url.Values) { answer.Del("code"); answer.Set("error", "access_denied") }
	through(b, "").Is(http.StatusForbidden).Has("Company did not sign you in")
	p.Answer = nil
	p.SetDown(true)
	b.Get("/sign-in/with/company").Is(http.StatusSeeOther) // the metadata is known
	p.SetDown(false)
	// A stolen answer is worth nothing in another browser.
	start := b.Get("/sign-in/with/company").Header.Get("Location")
	resp, err := b.Client.Get(start)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	h.Anonymous().Get(strings.TrimPrefix(resp.Header.Get("Location"), b.Base)).Is(http.StatusForbidden)
	// The page to go to is never on another site.
	through(h.Anonymous(), "https://evil.example.com/").RedirectsTo("/flows")
	if strings.Contains(h.Log.String(), oidctest.Secret) {
		t.Error("the log has the secret of the client")
	}
}

func TestPasswordsOff_keeps_the_first_owner(t *testing.T) {
	t.Parallel()
	h, p := withProvider(t, false, func(c *handlers.Config) { c.PasswordsOff = true })
	h.Add("max@example.com", flow.DefaultWorkspace, flow.MemberOwner)
	h.Anonymous().Get("/sign-in").Is(http.StatusOK).Has("Continue with Company", "Passwords are turned off")
	h.Anonymous().Post("/sign-in", entry("max@example.com", webtest.Password)).Is(http.StatusUnprocessableEntity).Has("sign in with a provider")
	owner := h.SignIn("founder@example.com")
	owner.Get("/password").Is(http.StatusOK)
	person(p, "lin@example.com")
	b := h.Anonymous()
	through(b, "").RedirectsTo("/flows")
	b.Get("/password").Is(http.StatusNotFound)
	invite := link(h, owner.Post("/settings/members/invites", url.Values{"email": {"new@example.com"}, "role": {"editor"}}).Is(http.StatusOK))
	h.Anonymous().Get(invite).Is(http.StatusOK).Has("Continue with Company").Lacks(`type="password"`)
	h.Anonymous().Post("/invite", url.Values{"token": {token(invite)}, "name": {"New"}, "password": {webtest.Password}}).Is(http.StatusForbidden)
	// An owner confirms with the password that no longer signs in.
	person(p, "max@example.com")
	b = h.Anonymous()
	through(b, "").RedirectsTo("/sign-in/confirm")
	b.Post("/sign-in/confirm", url.Values{"password": {webtest.Password}}).RedirectsTo("/flows")
	b.Get("/flows").Is(http.StatusOK)
}

func TestPasswordsOff_ends_sessions(t *testing.T) {
	t.Parallel()
	h, _ := withProvider(t, false)
	h.Add("max@example.com", flow.DefaultWorkspace, flow.MemberEditor)
	max, owner := h.SignIn("max@example.com"), h.SignIn("founder@example.com")
	h.Settings.PasswordsOff = true
	off := handlers.New(h.Settings)
	for path, statuses := range map[string][2]int{"/flows": {http.StatusSeeOther, http.StatusOK}, "/sign-in": {http.StatusOK, http.StatusSeeOther}} {
		for i, b := range []*webtest.Browser{max, owner} {
			r, _ := http.NewRequest("GET", b.Base+path, nil)
			for _, c := range b.Client.Jar.Cookies(r.URL) {
				r.AddCookie(c)
			}
			w := httptest.NewRecorder()
			off.ServeHTTP(w, r)
			if w.Code != statuses[i] {
				t.Errorf("%s of %d: %d, not %d", path, i, w.Code, statuses[i])
			}
		}
	}
}
