package account_test

import (
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"sluice/flow"
	"sluice/handlers"
	"sluice/handlers/webtest"
	"sluice/outbound/mail"
	"sluice/outbound/mail/mailtest"
)

// withMail starts a server with a mail server.
func withMail(t *testing.T) (*webtest.Env, *mailtest.Server) {
	t.Helper()
	srv := mailtest.New(t)
	s, err := mail.Parse("smtp://" + srv.Addr + "?from=sluice@example.com")
	if err != nil {
		t.Fatal(err)
	}
	return webtest.Setup(t, func(c *handlers.Config) { c.Mail = mail.New(s, slog.New(slog.DiscardHandler)) }), srv
}

// mailed returns the link in a mail, without the host.
func mailed(h *webtest.Env, text string) string {
	h.T.Helper()
	found := regexp.MustCompile(`(?m)^http://[^/]+(/\S+)$`).FindStringSubmatch(text)
	if found == nil {
		h.T.Fatalf("there is no link in: %s", text)
	}
	return found[1]
}

func TestInvite_is_mailed_and_shown(t *testing.T) {
	t.Parallel()
	h, srv := withMail(t)
	ada := h.SignIn("founder@example.com")
	page := ada.Post("/settings/members/invites", url.Values{"email": {"max@example.com"}, "role": {"viewer"}}).Is(http.StatusOK).Has("We sent this link to max@example.com")
	got := srv.Next(t)
	if strings.Join(got.To, " ") != "max@example.com" || mailed(h, got.Text) != link(h, page) || !strings.Contains(got.Subject, "invited you to") {
		t.Errorf("%+v", got)
	}
	h.Anonymous().Get(mailed(h, got.Text)).Is(http.StatusOK).Has("Join")

	srv.Refuse("550 5.1.1 No such user here")
	page = ada.Post("/settings/members/invites", url.Values{"email": {"gone@example.com"}, "role": {"viewer"}}).Is(http.StatusOK).Has("was not sent", "No such user here")
	h.Anonymous().Get(link(h, page)).Is(http.StatusOK).Has("Join")
}

func TestInvites_of_a_workspace_are_not_mailed_without_limit(t *testing.T) {
	t.Parallel()
	h, srv := withMail(t)
	ada := h.SignIn("founder@example.com")
	for i := range 22 {
		page := ada.Post("/settings/members/invites", url.Values{"email": {"max" + string(rune('a'+i)) + "@example.com"}, "role": {"viewer"}}).Is(http.StatusOK)
		if i == 21 {
			page.Has("was not sent", "many mails")
		}
	}
	if n := srv.Count(); n != 21 {
		t.Errorf("%d mails", n)
	}
}

func TestForgotPassword_mails_a_link_to_accounts_only(t *testing.T) {
	t.Parallel()
	h, srv := withMail(t)
	lin := h.Add("lin@example.com", flow.DefaultWorkspace, flow.MemberViewer)
	h.Anonymous().Get("/sign-in").Is(http.StatusOK).Has("/password/forgot")
	h.Anonymous().Get("/password/forgot").Is(http.StatusOK).Has("Send link")
	ask := func(email string) string {
		t.Helper()
		return h.Anonymous().Post("/password/forgot", url.Values{"email": {email}}).Is(http.StatusOK).Has("Check your inbox").Body
	}
	known, unknown := ask("Lin@example.com"), ask("Eve@example.com")
	if strings.ReplaceAll(known, "Lin@", "Eve@") != unknown {
		t.Error("the page discloses that an address is known")
	}
	got := srv.Next(t)
	if strings.Join(got.To, " ") != "lin@example.com" {
		t.Fatalf("%+v", got)
	}
	path := mailed(h, got.Text)
	h.Anonymous().Get(path).Is(http.StatusOK).Has("Set a new password")
	h.Anonymous().Post("/password/reset", url.Values{"token": {token(path)}, "password": {"four unrelated words here"}}).RedirectsTo("/flows")
	h.Anonymous().Get(path).Is(http.StatusNotFound)
	for range 6 { // only four links an account
		ask("lin@example.com")
	}
	for range 3 {
		srv.Next(t)
	}
	if n := srv.Count(); n != 4 {
		t.Errorf("%d mails to %s", n, lin.Email)
	}
	h.Anonymous().Post("/password/forgot", url.Values{"email": {"nobody"}}).Is(http.StatusUnprocessableEntity).Has("valid email")
}

func TestForgotPassword_needs_a_mail_server(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	h.Anonymous().Get("/sign-in").Is(http.StatusOK).Has("Ask an owner")
	h.Anonymous().Get("/password/forgot").Is(http.StatusNotFound)
	h.Anonymous().Post("/password/forgot", url.Values{"email": {"founder@example.com"}}).Is(http.StatusNotFound)
	if got := logged(h, flow.DefaultWorkspace); strings.Contains(strings.Join(got, " "), "password.offer") {
		t.Error("a link was created")
	}
}
