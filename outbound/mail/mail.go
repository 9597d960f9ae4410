// Package mail sends e-mail through the operator's SMTP server.
//
// It owns the connection, encryption and retries. It must not know what a message is about. The server
// is the operator's choice, so it may be on a private network, unlike what flows may reach.
package mail

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	netmail "net/mail"
	"net/url"
	"strconv"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"
)

// Settings say how to reach the SMTP server.
type Settings struct {
	host, user, password string
	port                 int
	implicitTLS          bool // encrypted from the first byte
	policy               gomail.TLSPolicy
	from                 *netmail.Address
}

// Parse reads settings from a URL such as
// smtp://user:password@smtp.example.com:587?from=sluice@example.com. With smtps the connection is encrypted
// from the start, on port 465 by default. With smtp it is encrypted by STARTTLS: always with a user, else if the
// server offers it; the parameter tls=required or tls=off changes that. Without a user the client does not
// authenticate.
func Parse(text string) (*Settings, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || strings.Trim(u.Path, "/") != "" {
		return nil, errors.New("write a URL such as smtp://user:password@smtp.example.com:587?from=sluice@example.com")
	}
	s := &Settings{host: u.Hostname(), port: 587, policy: gomail.TLSOpportunistic}
	switch u.Scheme {
	case "smtp":
	case "smtps":
		s.implicitTLS, s.port = true, 465
	default:
		return nil, fmt.Errorf("the scheme is %q; use smtp or smtps", u.Scheme)
	}
	if port := u.Port(); port != "" {
		if s.port, err = strconv.Atoi(port); err != nil || s.port < 1 || s.port > 65535 {
			return nil, fmt.Errorf("the port is %q; use 1 to 65535", port)
		}
	}
	s.user = u.User.Username()
	s.password, _ = u.User.Password()
	if s.user != "" {
		s.policy = gomail.TLSMandatory
	}
	query := u.Query()
	switch query.Get("tls") {
	case "":
	case "required":
		s.policy = gomail.TLSMandatory
	case "off":
		if s.policy = gomail.NoTLS; s.user != "" && !isLoopback(s.host) {
			return nil, errors.New("tls=off would send the password in clear; leave it out, or use smtps")
		}
	default:
		return nil, fmt.Errorf("tls is %q; use required or off", query.Get("tls"))
	}
	from := query.Get("from")
	if from == "" {
		from = s.user
	}
	if s.from, err = netmail.ParseAddress(from); err != nil {
		return nil, errors.New("add the address of the sender, as in ?from=sluice@example.com")
	}
	for name := range query {
		if name != "tls" && name != "from" {
			return nil, fmt.Errorf("the parameter %s is unknown; use from and tls", name)
		}
	}
	return s, nil
}

// isLoopback reports whether a host is this machine.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Sender returns the address in From.
func (s *Settings) Sender() string { return s.from.Address }

// Server returns host and port of the SMTP server.
func (s *Settings) Server() string { return net.JoinHostPort(s.host, strconv.Itoa(s.port)) }

// message is a plain text for one person.
type message struct {
	to, subject, text string
	id                string // in Message-ID; empty: a random one
}

// Mailer sends messages. It is safe for concurrent use.
type Mailer struct {
	*Settings
	Log *slog.Logger
	// Pauses are those before further attempts after a temporary failure. Default: 30 s, 2, 10 and 30 minutes.
	Pauses []time.Duration

	waiting chan struct{} // has a token for each message that is tried again
}

// New returns a mailer.
func New(s *Settings, log *slog.Logger) *Mailer {
	return &Mailer{Settings: s, Log: log, Pauses: []time.Duration{30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute}, waiting: make(chan struct{}, maxWaiting)}
}

// Limits of sending.
const (
	attemptTime = 15 * time.Second
	maxWaiting  = 100 // messages that are tried again at the same time
)

// Send makes one attempt, and further ones in the background if the failure is temporary: they end with the process. The
// error is that of the first attempt, in words for the person who caused the message.
func (m *Mailer) Send(ctx context.Context, to, subject, text string) error {
	msg := &message{to: to, subject: subject, text: text}
	err := m.attempt(ctx, msg)
	if err == nil {
		return nil
	}
	if !isTemporary(err) {
		return fmt.Errorf("the mail server refused it: %w", err)
	}
	select {
	case m.waiting <- struct{}{}:
		go m.tryAgain(context.WithoutCancel(ctx), msg, m.Pauses)
		return fmt.Errorf("the mail server does not take it now, so it is tried again for an hour: %w", err)
	default:
		return fmt.Errorf("the mail server does not take it now: %w", err)
	}
}

// Queue makes all attempts in the background. It reports false, and drops the message, if too many wait.
func (m *Mailer) Queue(to, subject, text string) bool {
	select {
	case m.waiting <- struct{}{}:
		go m.tryAgain(context.Background(), &message{to: to, subject: subject, text: text}, append([]time.Duration{0}, m.Pauses...))
		return true
	default:
		m.Log.Warn("A mail was dropped, because too many wait", "server", m.Server())
		return false
	}
}

// Attempt makes one attempt, with the given ID in Message-ID. again reports that another may succeed.
func (m *Mailer) Attempt(ctx context.Context, id, to, subject, text string) (again bool, err error) {
	if err := m.attempt(ctx, &message{to, subject, text, id}); err != nil {
		return isTemporary(err), fmt.Errorf("the mail server did not take it: %w", err)
	}
	return false, nil
}

// tryAgain makes an attempt after each pause, until one succeeds or fails for good.
func (m *Mailer) tryAgain(ctx context.Context, msg *message, pauses []time.Duration) {
	defer func() { <-m.waiting }()
	for _, pause := range pauses {
		time.Sleep(pause)
		if err := m.attempt(ctx, msg); err == nil || !isTemporary(err) {
			return
		}
	}
}

// attempt sends a message, and logs a failure.
func (m *Mailer) attempt(ctx context.Context, msg *message) error {
	err := m.deliver(ctx, msg)
	if err != nil {
		m.Log.Warn("A mail was not sent", "server", m.Server(), "err", err)
	}
	return err
}

// deliver sends a message on a connection of its own.
func (m *Mailer) deliver(ctx context.Context, msg *message) error {
	out := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	out.FromMailAddress(m.from)
	to, err := netmail.ParseAddress(msg.to)
	if err != nil {
		return fmt.Errorf("%q is not an address", msg.to)
	}
	out.ToMailAddress(&netmail.Address{Address: to.Address})
	out.Subject(oneLine(msg.subject))
	_, domain, _ := strings.Cut(m.from.Address, "@")
	out.SetMessageIDWithValue(cmp.Or(msg.id, rand.Text()) + "@" + domain) // the default discloses the name of this machine
	out.SetDate()
	out.SetGenHeader("Auto-Submitted", "auto-generated")
	out.SetBodyString(gomail.TypeTextPlain, msg.text)
	ctx, cancel := context.WithTimeout(ctx, attemptTime)
	defer cancel()
	c, err := m.client()
	if err != nil {
		return err
	}
	return c.DialAndSendWithContext(ctx, out)
}

// oneLine replaces control characters, which would end the header.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text)
}

// client returns a client for one connection.
func (s *Settings) client() (*gomail.Client, error) {
	options := []gomail.Option{gomail.WithPort(s.port), gomail.WithTimeout(attemptTime), gomail.WithTLSPolicy(s.policy)}
	if s.implicitTLS {
		options = append(options, gomail.WithSSL())
	}
	if s.user != "" {
		kind := gomail.SMTPAuthAutoDiscover
		if s.policy == gomail.NoTLS {
			kind = gomail.SMTPAuthPlainNoEnc
		}
		options = append(options, gomail.WithSMTPAuth(kind), gomail.WithUsername(s.user), gomail.WithPassword(s.password))
	}
	return gomail.NewClient(s.host, options...)
}

// Check connects to the server and signs in, without sending anything.
func (s *Settings) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, attemptTime)
	defer cancel()
	c, err := s.client()
	if err != nil {
		return err
	}
	if err := c.DialWithContext(ctx); err != nil {
		return err
	}
	return c.Close()
}

// isTemporary reports whether another attempt may succeed: the server said so, or could not be reached.
func isTemporary(err error) bool {
	if e, ok := errors.AsType[*gomail.SendError](err); ok && e.ErrorCode() != 0 {
		return e.IsTemp()
	}
	_, isNet := errors.AsType[net.Error](err)
	return isNet || errors.Is(err, context.DeadlineExceeded)
}
