package account_test

import (
	"net/http"
	"net/url"
	"testing"

	"sluice/db/dbtest"
	"sluice/flow"
	"sluice/handlers"
	"sluice/handlers/passwords"
	"sluice/handlers/webtest"
)

// All pages that set a password apply the same rules and explain them.
func TestPages_refuse_common_passwords(t *testing.T) {
	t.Parallel()
	const hint, refusal = "Four or more unrelated words", "This is a common password"
	h := webtest.Setup(t, func(c *handlers.Config) { c.SignUp = true })
	ada, lin := h.SignIn("founder@example.com"), h.Add("lin@example.com", flow.DefaultWorkspace, flow.MemberEditor)
	common := func(form url.Values) url.Values {
		for _, name := range []string{"password", "new"} {
			form.Set(name, "Password123!")
		}
		return form
	}
	t.Run("set-up", func(t *testing.T) {
		t.Parallel()
		h := webtest.SetupOn(t, dbtest.SQLite(t))
		if _, err := h.Store.OfferSetUp(t.Context(), flow.Hash([]byte("right"))); err != nil {
			t.Fatal(err)
		}
		h.Anonymous().Get("/setup?token=right").Is(http.StatusOK).Has(hint)
		form := url.Values{"token": {"right"}, "name": {"Ada"}, "email": {"ada@example.com"}, "workspace": {"Acme"}}
		h.Anonymous().Post("/setup", common(form)).Is(http.StatusUnprocessableEntity).Has(refusal)
		form.Set("password", "ada@example.com")
		h.Anonymous().Post("/setup", form).Is(http.StatusUnprocessableEntity).Has("too close to your email")
	})
	t.Run("sign-up", func(t *testing.T) {
		h.Anonymous().Get("/sign-up").Is(http.StatusOK).Has(hint)
		h.Anonymous().Post("/sign-up", common(url.Values{"name": {"Kim"}, "email": {"kim@example.com"}, "workspace": {"Kim's"}})).Is(http.StatusUnprocessableEntity).Has(refusal)
	})
	t.Run("invitation", func(t *testing.T) {
		link := link(h, ada.Post("/settings/members/invites", url.Values{"email": {"max@example.com"}, "role": {"viewer"}}))
		h.Anonymous().Get(link).Is(http.StatusOK).Has(hint)
		h.Anonymous().Post("/invite", common(url.Values{"token": {token(link)}, "name": {"Max"}})).Is(http.StatusUnprocessableEntity).Has(refusal)
	})
	t.Run("new password", func(t *testing.T) {
		link := link(h, ada.Post("/settings/members/"+lin.ID+"/password", nil))
		h.Anonymous().Get(link).Is(http.StatusOK).Has(hint)
		h.Anonymous().Post("/password/reset", common(url.Values{"token": {token(link)}})).Is(http.StatusUnprocessableEntity).Has(refusal)
	})
	t.Run("change", func(t *testing.T) {
		ada.Get("/password").Is(http.StatusOK).Has(hint)
		ada.Post("/password", common(url.Values{"current": {webtest.Password}})).Is(http.StatusUnprocessableEntity).Has(refusal)
	})
}

// A password that was set under older rules keeps working.
func TestSignIn_accepts_existing_common_password(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	hash, err := passwords.Hash("1234567890")
	if err != nil {
		t.Fatal(err)
	}
	u := &flow.User{Email: "old@example.com", Name: "Old", PasswordHash: hash}
	if err := h.Store.CreateUser(t.Context(), flow.DefaultWorkspace, u, flow.MemberViewer); err != nil {
		t.Fatal(err)
	}
	h.Anonymous().Post("/sign-in", entry(u.Email, "1234567890")).RedirectsTo("/flows")
}
