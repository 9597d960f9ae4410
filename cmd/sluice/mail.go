package main

import (
	"context"
	"log/slog"

	"sluice/handlers/web"
	"sluice/jobs"
	"sluice/outbound/mail"
)

// mailSettings returns the settings of the mail server, or nil without a mail server.
func (c *Config) mailSettings() (*mail.Settings, error) {
	if c.SMTPURL == "" {
		return nil, nil
	}
	return mail.Parse(c.SMTPURL)
}

// mailer returns what sends mail, or nil without a mail server.
func (c *Config) mailer(log *slog.Logger) (*mail.Mailer, error) {
	s, err := c.mailSettings()
	if s == nil || err != nil {
		return nil, err
	}
	return mail.New(s, log), nil
}

// ofPeople and ofAlarms return a mailer for the packages that send mail, or nil.
func ofPeople(m *mail.Mailer) web.Mailer {
	if m == nil {
		return nil
	}
	return m
}

func ofAlarms(m *mail.Mailer) jobs.Mailer {
	if m == nil {
		return nil
	}
	return m
}

// mail reports whether the mail server can be reached and takes the user. It sends nothing.
func (f *findings) mail(ctx context.Context, c *Config) {
	s, err := c.mailSettings()
	if s == nil || err != nil { // the configuration was checked before
		return
	}
	if err := s.Check(ctx); err != nil {
		f.add("mail", verdictBad, "Check host, port, user and password in SLUICE_SMTP_URL. Until then, pass links on yourself.", "%s does not work: %v.", s.Server(), err)
		return
	}
	f.add("mail", verdictOK, "", "Mail goes through %s, from %s.", s.Server(), s.Sender())
}
