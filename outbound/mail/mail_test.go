package mail_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"sluice/outbound/mail"
	"sluice/outbound/mail/mailtest"
)

func TestParse_refuses_what_cannot_work(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "write a URL", "smtp.example.com:25": "write a URL", "http://x?from=a@b.c": "scheme", "smtp://x": "sender", "smtp://x:99999?from=a@b.c": "port",
		"smtp://x?from=a@b.c&tls=maybe": "tls", "smtp://u:p@mx.example.com?from=a@b.c&tls=off": "in clear", "smtp://x?from=a@b.c&form=d": "form",
	} {
		if _, err := mail.Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if s, err := mail.Parse("smtps://me%40example.com:p%40ss@mx.example.com"); err != nil || s.Server() != "mx.example.com:465" || s.Sender() != "me@example.com" {
		t.Errorf("%+v, %v", s, err)
	}
}

func mailer(t *testing.T, srv *mailtest.Server, parameters string) *mail.Mailer {
	t.Helper()
	s, err := mail.Parse("smtp://" + srv.Credentials + srv.Addr + "?from=Sluice+%3Csluice@example.com%3E" + parameters)
	if err != nil {
		t.Fatal(err)
	}
	m := mail.New(s, slog.New(slog.DiscardHandler))
	m.Pauses = []time.Duration{time.Millisecond, time.Millisecond}
	return m
}

func TestSend_delivers_text_and_no_extra_header(t *testing.T) {
	t.Parallel()
	srv := mailtest.New(t)
	m := mailer(t, srv, "")
	err := m.Send(t.Context(), "ada@example.com", "Join Ünit\r\nBcc: eve@example.com", "Open this:\nhttps://sluice.example.com/invite?token="+strings.Repeat("a", 90)+"\n")
	if err != nil {
		t.Fatal(err)
	}
	got := srv.Next(t)
	if got.From != "sluice@example.com" || strings.Join(got.To, " ") != "ada@example.com" {
		t.Errorf("%+v", got)
	}
	if h := got.Header; h.Get("Bcc") != "" || h.Get("Auto-Submitted") != "auto-generated" || !strings.Contains(got.Subject, "Join Ünit  Bcc: eve") {
		t.Errorf("%v, subject %q", h, got.Subject)
	}
	if id := got.Header.Get("Message-Id"); !strings.HasSuffix(id, "@example.com>") {
		t.Errorf("the ID %s names another host than the sender's", id)
	}
	if !strings.Contains(got.Text, "https://sluice.example.com/invite?token="+strings.Repeat("a", 90)+"\n") {
		t.Errorf("%q", got.Text)
	}
}

func TestSend_tries_again_only_after_temporary_failures(t *testing.T) {
	t.Parallel()
	srv := mailtest.New(t)
	m := mailer(t, srv, "")
	srv.Refuse("451 4.7.1 Greylisted", "451 4.7.1 Greylisted")
	if err := m.Send(t.Context(), "ada@example.com", "a", "b"); err == nil || !strings.Contains(err.Error(), "tried again") {
		t.Errorf("%v", err)
	}
	if got := srv.Next(t); got.Text != "b\n" {
		t.Errorf("%q", got.Text)
	}
	srv.Refuse("550 5.1.1 No such user")
	if err := m.Send(t.Context(), "bob@example.com", "a", "b"); err == nil || !strings.Contains(err.Error(), "No such user") || strings.Contains(err.Error(), "tried again") {
		t.Errorf("%v", err)
	}
	if err := m.Send(t.Context(), "bob@example.com\r\nBcc: eve@example.com", "a", "b"); err == nil {
		t.Error("an address with a line break is accepted")
	}
	srv.Refuse("421 4.3.2 Later")
	if !m.Queue("cleo@example.com", "a", "c") {
		t.Fatal("refused")
	}
	if got := srv.Next(t); got.Text != "c\n" {
		t.Errorf("%q", got.Text)
	}
	if n := srv.Count(); n != 2 {
		t.Errorf("%d messages arrived, want 2", n)
	}
}

func TestSend_signs_in_only_with_a_user(t *testing.T) {
	t.Parallel()
	srv := mailtest.New(t)
	if err := mailer(t, srv, "").Send(t.Context(), "ada@example.com", "a", "b"); err != nil || srv.SignedIn() {
		t.Errorf("%v, signed in %v", err, srv.SignedIn())
	}
	srv.Credentials = "mailer:secret@"
	if err := mailer(t, srv, "&tls=off").Send(t.Context(), "ada@example.com", "a", "b"); err != nil || !srv.SignedIn() {
		t.Errorf("%v, signed in %v", err, srv.SignedIn())
	}
	srv.Credentials = "mailer:wrong@"
	if err := mailer(t, srv, "&tls=off").Check(t.Context()); err == nil {
		t.Error("a wrong password is accepted")
	}
	srv.Credentials = "mailer:secret@"
	if err := mailer(t, srv, "").Check(t.Context()); err == nil {
		t.Error("the password would be sent without encryption")
	}
}
