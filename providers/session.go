package providers

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"sluice/outbound"
)

// session is an endpoint prepared for one call. All its requests pass Do.
type session struct {
	preset    Preset
	name      string // name of the provider in messages
	base      *url.URL
	secret    string
	trusted   bool
	doer      Doer
	client    *http.Client
	model     string      // of the call, in lower case
	agent     bool        // the call is one of Turn
	habits    *habits     // of models, learned from refusals
	pictures  int64       // limit of a response with images in bytes
	requestID string      // of the last response, for errors while reading it
	sent      func() bool // whether the last request was written, so that the provider may have done the work

	lingerUsage, lingerEnd time.Duration
}

// open validates an endpoint and returns a session for it.
func (c *Client) open(ep Endpoint) (*session, error) {
	preset, ok := FindPreset(ep.Provider)
	if !ok {
		return nil, badRequest("There is no provider named %q.", ep.Provider)
	}
	base, err := baseURL(preset, ep.BaseURL)
	if err != nil {
		return nil, err
	}
	if !httpguts.ValidHeaderFieldValue(ep.Secret) {
		return nil, &Error{Class: ClassAuth, Message: "The secret for " + preset.Title + " has characters that no secret has, such as a line break. Copy it again."}
	}
	if ep.Secret != "" && !ep.Trusted && len(preset.Hosts) > 0 && !slices.Contains(preset.Hosts, strings.ToLower(base.Hostname())) {
		return nil, badRequest("A secret of %s is not sent to %s. Use an OpenAI-compatible provider for another address.", preset.Title, base.Hostname())
	}
	client := *c.doer.HTTPClient(ep.Trusted)
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &session{preset: preset, name: nameOf(preset, base), base: base, secret: ep.Secret, trusted: ep.Trusted, doer: c.doer, client: &client, habits: c.habits, pictures: c.images, lingerUsage: c.lingerUsage, lingerEnd: c.lingerEnd}, nil
}

// nameOf returns the title of a provider, with the host of a custom server.
func nameOf(p Preset, base *url.URL) string {
	if p.BaseURL == "" {
		return base.Hostname()
	}
	return p.Title
}

// baseURL returns the base URL of the API: that of the credential, or else the
// preset's. The path /v1 is added for local servers, whose address people mostly write
// without it.
func baseURL(p Preset, raw string) (*url.URL, error) {
	raw = cmp.Or(raw, p.BaseURL)
	if raw == "" {
		return nil, badRequest("%s needs a base URL, such as https://example.com/v1.", p.Title)
	}
	u, err := outbound.ParseURL(raw)
	if err != nil {
		return nil, &Error{Class: fromOutbound(err).Class, Message: "The base URL of " + p.Title + " cannot be used. " + err.Error()}
	}
	u.Path = strings.TrimRight(u.Path, "/")
	if p.Local && u.Path == "" {
		u.Path = "/v1" // users mostly omit it for local servers
	}
	u.Fragment, u.RawFragment, u.RawPath = "", "", ""
	return u, nil
}

// wanted returns an error if the preset lacks a capability.
func (s *session) wanted(can bool, what string) error {
	if can {
		return nil
	}
	return &Error{Class: ClassIncompatible, Message: s.name + " " + what + ". Choose another provider for this."}
}

// Do sends a request with only the headers that dress allows, and converts every failure and
// error status to an *Error.
func (s *session) Do(req *http.Request) (*http.Response, error) {
	s.dress(req)
	ctx, sent := outbound.TraceSent(req.Context())
	s.sent = sent
	resp, err := s.client.Do(req.WithContext(ctx))
	if err != nil {
		return nil, s.unreached(s.failed(req.Context(), err))
	}
	s.requestID = requestID(resp.Header)
	if resp.StatusCode >= 300 {
		return nil, s.refused(req.Context(), resp)
	}
	resp.Body = &answerBody{ReadCloser: resp.Body, ctx: req.Context(), session: s, limit: maxStream, left: maxStream}
	return resp, nil
}

// kept are the headers of a request that are passed on.
var kept = []string{"Accept", "Content-Type", "Idempotency-Key", "Anthropic-Version"}

// dress replaces the headers of a request by those that the provider needs. Of the
// headers that were set before, only those in kept are sent.
func (s *session) dress(req *http.Request) {
	header := http.Header{"User-Agent": {"Sluice"}}
	for _, name := range kept {
		if v := req.Header.Get(name); v != "" {
			header.Set(name, v)
		}
	}
	s.authorize(header)
	req.Header = header
	if req.URL.RawQuery == "" {
		req.URL.RawQuery = s.base.RawQuery // such as an api-version that a gateway requires
	}
}

// authorize adds the secret in the header that the provider expects. Without a secret
// nothing is added: local servers often need none.
func (s *session) authorize(header http.Header) {
	switch {
	case s.preset.Wire == WireAnthropic:
		header.Set("Anthropic-Version", "2023-06-01") // the only version; SDKs send the same
		if s.secret != "" {
			header.Set("X-Api-Key", s.secret)
		}
	case s.preset.Name == nameAzure && s.secret != "":
		header.Set("Api-Key", s.secret)
	case s.secret != "":
		header.Set("Authorization", "Bearer "+s.secret)
	}
}

// send sends a request to a path below the base URL. length is that of body, or -1 if
// unknown.
func (s *session) send(ctx context.Context, method, path, mime string, body io.Reader, length int64, key string) (*http.Response, error) {
	return s.sendTo(ctx, method, s.base.JoinPath(path).String(), mime, body, length, key)
}

// sendTo sends a request once. length is that of body, -1 if unknown. key identifies
// the step, so that a provider with idempotency keys does not do the work twice.
func (s *session) sendTo(ctx context.Context, method, target, mime string, body io.Reader, length int64, key string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, target, body)
	if err != nil {
		return nil, badRequest("The address of %s cannot be used.", s.name)
	}
	if body != nil {
		req.ContentLength = length
		req.Header.Set("Content-Type", mime)
	}
	req.Header.Set("Accept", "*/*")
	if key != "" {
		req.Header.Set("Idempotency-Key", idempotencyKey(key))
	}
	return s.Do(req)
}

// idempotencyKey converts a key to a header value: providers accept up to 255 characters.
func idempotencyKey(key string) string {
	plain := !strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r >= 0x7f })
	if plain && len(key) <= 255 {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}

// lost marks the error of a call whose request was sent and not refused; see Lost.
func (s *session) lost(err error) error {
	if e, ok := errors.AsType[*Error](err); err == nil || s.sent == nil || !s.sent() || ok && e.unbilled {
		return err
	}
	return AsLost(err)
}

// failed converts an error before or during a response.
func (s *session) failed(ctx context.Context, err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	e := fromOutbound(err)
	e.Message = redact(e.Message, s.secret)
	e.RequestID = s.requestID
	return e
}

// unreached converts the error of a request without a response.
func (s *session) unreached(err error) error {
	e, ok := err.(*Error)
	if !ok || e.Class != ClassUnavailable {
		return err
	}
	e.Message = s.name + " did not answer: " + e.Message
	if s.preset.Local {
		e.Message += " Is it running?"
	}
	return e
}
