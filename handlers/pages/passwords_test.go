package pages

import (
	"crypto/rand"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"sluice/db/dbtest"
	"sluice/flow"
)

func TestCheckPassword(t *testing.T) {
	t.Parallel()
	const email = "Ada.Kowalski@example.com"
	for _, refused := range []struct{ password, says string }{
		{"short", "10 to 512"}, {strings.Repeat("ab", 300), "10 to 512"},
		{"password123", "common"}, {"Password123!", "common"}, {"P@ssw0rd2024", "common"}, {"basketball", "common"}, {"leavemealone", "common"},
		{"sunshine!!", "common"}, {"123monkey123", "common"}, {"LETMEIN12345", "common"}, {"dragon123456", "common"}, {"iloveyou2024", "common"},
		{"!!!welcome1", "common"}, {"1qaz2wsx3edc", "common"}, {"qwertyuiop", "common"}, {"1234567890", "common"}, {"q1w2e3r4t5", "common"},
		{"aaaaaaaaaaaa", "pattern"}, {"ababababab", "pattern"}, {"abc123abc123", "pattern"}, {"poiuytrewqasdf", "pattern"}, {"zxcvbnmasdfg", "pattern"},
		{"98765432109876", "pattern"}, {"abcdefghijkl", "pattern"}, {"xyz1xyz1xyz1", "pattern"}, {"0123456789ab", "pattern"}, {"4rfv5tgb6yhn", "pattern"},
		{"2718281828459", "digits"}, {"31.12.1987", "digits"}, {"0049 170 2931", "digits"},
		{"ada.kowalski@example.com", "email"}, {"Ada.Kowalski", "email"}, {"ada.kowalski-1987", "email"}, {"sluice-sluice", "Sluice"},
		{"mySluice2026", "Sluice"}, {"Slu1ce-2026!", "Sluice"}, {"sluicepassword", "Sluice"}, {"sluice123456789", "Sluice"},
	} {
		if got := CheckPassword(refused.password, email); !strings.Contains(got, refused.says) {
			t.Errorf("%q: %q, want %q", refused.password, got, refused.says)
		}
	}
	for _, taken := range []string{
		password, "Tr0ub4dor&3", "seven purple otters dance", "my sluice opens at noon", "kowalski paints green walls", "xK7#pq2Lm9vT",
		"8264519374028165", "пароль сложный и длинный", "gültige Wörter hier", "olive-tram-kettle-nine",
	} {
		if got := CheckPassword(taken, email); got != "" {
			t.Errorf("%q: %s", taken, got)
		}
	}
	for range 2000 {
		if text := rand.Text()[:12]; CheckPassword(text, email) != "" {
			t.Fatalf("%q: %s", text, CheckPassword(text, email))
		}
	}
}

// Every page that sets a password refuses the same ones and says how to choose.
func TestPages_refuse_common_passwords(t *testing.T) {
	t.Parallel()
	const hint, refusal = "Four or more unrelated words", "This is a common password"
	h := setup(t, func(c *Config) { c.SignUp = true })
	ada, lin := h.signIn("founder@example.com"), h.add("lin@example.com", flow.DefaultWorkspace, flow.MemberEditor)
	common := func(form url.Values) url.Values {
		for _, name := range []string{"password", "new"} {
			form.Set(name, "Password123!")
		}
		return form
	}
	t.Run("set-up", func(t *testing.T) {
		t.Parallel()
		h := setupOn(t, dbtest.SQLite(t))
		if _, err := h.store.OfferSetUp(t.Context(), flow.Hash([]byte("right"))); err != nil {
			t.Fatal(err)
		}
		h.stranger().get("/setup?token=right").is(http.StatusOK).has(hint)
		form := url.Values{"token": {"right"}, "name": {"Ada"}, "email": {"ada@example.com"}, "workspace": {"Acme"}}
		h.stranger().post("/setup", common(form)).is(http.StatusUnprocessableEntity).has(refusal)
		form.Set("password", "ada@example.com")
		h.stranger().post("/setup", form).is(http.StatusUnprocessableEntity).has("too close to your email")
	})
	t.Run("sign-up", func(t *testing.T) {
		h.stranger().get("/sign-up").is(http.StatusOK).has(hint)
		h.stranger().post("/sign-up", common(url.Values{"name": {"Kim"}, "email": {"kim@example.com"}, "workspace": {"Kim's"}})).is(http.StatusUnprocessableEntity).has(refusal)
	})
	t.Run("invitation", func(t *testing.T) {
		link := h.link(ada.post("/settings/members/invites", url.Values{"email": {"max@example.com"}, "role": {"viewer"}}))
		h.stranger().get(link).is(http.StatusOK).has(hint)
		h.stranger().post("/invite", common(url.Values{"token": {token(link)}, "name": {"Max"}})).is(http.StatusUnprocessableEntity).has(refusal)
	})
	t.Run("new password", func(t *testing.T) {
		link := h.link(ada.post("/settings/members/"+lin.ID+"/password", nil))
		h.stranger().get(link).is(http.StatusOK).has(hint)
		h.stranger().post("/password/reset", common(url.Values{"token": {token(link)}})).is(http.StatusUnprocessableEntity).has(refusal)
	})
	t.Run("change", func(t *testing.T) {
		ada.get("/password").is(http.StatusOK).has(hint)
		ada.post("/password", common(url.Values{"current": {password}})).is(http.StatusUnprocessableEntity).has(refusal)
	})
}

// A password of before keeps working, whatever is refused now.
func TestSignIn_with_a_common_password_of_before(t *testing.T) {
	t.Parallel()
	h := setup(t)
	hash, err := HashPassword("1234567890")
	if err != nil {
		t.Fatal(err)
	}
	u := &flow.User{Email: "old@example.com", Name: "Old", PasswordHash: hash}
	if err := h.store.CreateUser(t.Context(), flow.DefaultWorkspace, u, flow.MemberViewer); err != nil {
		t.Fatal(err)
	}
	h.stranger().post("/sign-in", entry(u.Email, "1234567890")).see("/flows")
}
