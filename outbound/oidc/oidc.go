package oidc

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// Errors of a sign-in. Others are failures of the provider or of the network.
var (
	// ErrDeclined means that the person or the provider ended the sign-in.
	ErrDeclined = errors.New("the provider did not sign the person in")
	// ErrInvalid means that an answer of the provider does not prove who the person is.
	ErrInvalid = errors.New("the answer of the provider is not valid")
)

// Limits of a sign-in.
const (
	// Timeout bounds all requests to the provider for one step of a sign-in.
	Timeout = 15 * time.Second
	// maxSkew is how far the clocks of provider and server may differ.
	maxSkew    = 5 * time.Minute
	maxSubject = 255 // bytes, by OpenID Connect Core, section 2
	maxToken   = 64 << 10
	maxGroups  = 10_000
	maxEmail   = 254
	maxName    = 100
)

// Provider is one OpenID Connect provider. It is safe for concurrent use.
type Provider struct {
	*Settings
	http *http.Client
	now  func() time.Time

	mu    sync.Mutex
	found *metadata
}

// metadata is what a provider says about itself.
type metadata struct {
	*oidc.Provider
	EndSession string   `json:"end_session_endpoint"`
	Auth       []string `json:"token_endpoint_auth_methods_supported"`
	NamesIss   bool     `json:"authorization_response_iss_parameter_supported"`
}

// New returns a provider. It sends nothing until somebody signs in. client bounds the size of responses; it
// follows no redirects.
func New(s *Settings, client *http.Client, now func() time.Time) *Provider {
	return &Provider{Settings: s, http: client, now: now}
}

// context returns a context with the client for requests to the provider.
func (p *Provider) context(ctx context.Context) context.Context {
	return oidc.ClientContext(ctx, p.http)
}

// Discover returns an error if the metadata of the provider cannot be read or does not match the settings. It
// reads them once; after an error, the next call tries again.
func (p *Provider) Discover(ctx context.Context) error {
	_, err := p.discover(ctx)
	return err
}

func (p *Provider) discover(ctx context.Context) (*metadata, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.found != nil {
		return p.found, nil
	}
	// The provider keeps the client for later requests for keys, but not the deadline.
	found, err := oidc.NewProvider(p.context(ctx), p.Issuer)
	if err != nil {
		return nil, fmt.Errorf("read the metadata of %s: %w", p.Issuer, err)
	}
	m := &metadata{Provider: found}
	if err := found.Claims(m); err != nil {
		return nil, fmt.Errorf("read the metadata of %s: %w", p.Issuer, err)
	}
	p.found = m
	return m, nil
}

// config returns the client of the authorization code flow.
func (p *Provider) config(m *metadata, redirect string) *oauth2.Config {
	c := &oauth2.Config{ClientID: p.ClientID, ClientSecret: p.ClientSecret, RedirectURL: redirect, Endpoint: m.Endpoint()}
	c.Endpoint.AuthStyle = oauth2.AuthStyleInHeader
	if p.ClientSecret == "" || p.ClientAuth == "client_secret_post" ||
		p.ClientAuth == "" && len(m.Auth) > 0 && !slices.Contains(m.Auth, "client_secret_basic") {
		c.Endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	c.Scopes = []string{oidc.ScopeOpenID, "email", "profile"}
	for _, s := range p.Scopes {
		if !slices.Contains(c.Scopes, s) {
			c.Scopes = append(c.Scopes, s)
		}
	}
	return c
}

// Attempt is a sign-in that has begun. The browser keeps it until the provider sends the person back.
type Attempt struct {
	Provider string `json:"p"`
	State    string `json:"s"`
	Nonce    string `json:"n"`
	Verifier string `json:"v"` // of PKCE
	Next     string `json:"x"` // the page to go to
}

// Start returns the URL of the provider at which a person signs in, and the attempt to keep until then.
func (p *Provider) Start(ctx context.Context, redirect string) (to string, a Attempt, err error) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	m, err := p.discover(ctx)
	if err != nil {
		return "", a, err
	}
	a = Attempt{Provider: p.ID, State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier()}
	return p.config(m, redirect).AuthCodeURL(a.State, oidc.Nonce(a.Nonce), oauth2.S256ChallengeOption(a.Verifier)), a, nil
}

// Person is who signed in.
type Person struct {
	Issuer, Subject string
	Email           string // "" unless the provider has verified it
	Name            string
	Role            string // by the groups; "" for no access. Mapped reports whether groups decide
	Mapped          bool
	IDToken         string // for signing out at the provider
}

// Finish checks the answer of a provider and returns who signed in.
func (p *Provider) Finish(ctx context.Context, a Attempt, redirect string, query url.Values) (*Person, error) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	if a.State == "" || a.Provider != p.ID || subtle.ConstantTimeCompare([]byte(query.Get("state")), []byte(a.State)) != 1 {
		return nil, fmt.Errorf("%w: it does not belong to this browser", ErrInvalid)
	}
	m, err := p.discover(ctx)
	if err != nil {
		return nil, err
	}
	// RFC 9207: the answer of another provider must not be sent to this one.
	if iss := query.Get("iss"); iss != p.Issuer && (iss != "" || m.NamesIss) {
		return nil, fmt.Errorf("%w: it is from %q", ErrInvalid, iss)
	}
	if code := query.Get("error"); code != "" {
		return nil, fmt.Errorf("%w: %.100q %.300q", ErrDeclined, code, query.Get("error_description"))
	}
	if query.Get("code") == "" {
		return nil, fmt.Errorf("%w: it has no code", ErrInvalid)
	}
	ctx = p.context(ctx)
	token, err := p.config(m, redirect).Exchange(ctx, query.Get("code"), oauth2.VerifierOption(a.Verifier))
	if err != nil {
		return nil, fmt.Errorf("exchange the code at %s: %w", p.Issuer, err)
	}
	raw, _ := token.Extra("id_token").(string)
	return p.person(ctx, m, raw, a.Nonce, token)
}

// person verifies an ID token and reads who it is about. What the token lacks is read from the user info of the
// provider.
func (p *Provider) person(ctx context.Context, m *metadata, raw, nonce string, token *oauth2.Token) (*Person, error) {
	id, all, err := p.verify(ctx, m, raw, nonce, token.AccessToken)
	if err != nil {
		return nil, err
	}
	_, hasEmail := all["email"]
	if (!hasEmail || p.Claim != "" && lookup(all, p.Claim) == nil) && m.UserInfoEndpoint() != "" {
		info, err := m.UserInfo(ctx, oauth2.StaticTokenSource(token))
		if err != nil {
			return nil, fmt.Errorf("read the user info at %s: %w", p.Issuer, err)
		}
		if info.Subject != id.Subject { // OpenID Connect Core, section 5.3.2
			return nil, fmt.Errorf("%w: the user info is about another person", ErrInvalid)
		}
		var more map[string]any
		if err := info.Claims(&more); err != nil {
			return nil, fmt.Errorf("%w: the user info is not JSON", ErrInvalid)
		}
		for name, v := range more {
			if _, ok := all[name]; !ok {
				all[name] = v
			}
		}
	}
	person := &Person{Issuer: p.Issuer, Subject: id.Subject, IDToken: raw, Name: text(all["name"], maxName), Mapped: p.Claim != "", Role: p.Role}
	if verified := all["email_verified"]; verified == true || verified == "true" {
		person.Email = text(all["email"], maxEmail)
	}
	if p.Claim != "" {
		person.Role = p.roleOf(groups(lookup(all, p.Claim)))
	}
	return person, nil
}

// verify checks an ID token by OpenID Connect Core, section 3.1.3.7, and returns its members.
func (p *Provider) verify(ctx context.Context, m *metadata, raw, nonce, accessToken string) (*oidc.IDToken, map[string]any, error) {
	if raw == "" || len(raw) > maxToken {
		return nil, nil, fmt.Errorf("%w: the ID token has %d bytes", ErrInvalid, len(raw))
	}
	if strings.Count(raw, ".") != 2 || strings.ContainsAny(raw, "{} \n") { // the library also reads the JSON serialization
		return nil, nil, fmt.Errorf("%w: the ID token is not a JWT", ErrInvalid)
	}
	id, err := m.Verifier(&oidc.Config{ClientID: p.ClientID, Now: p.now}).Verify(ctx, raw)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	var all map[string]any
	if err := id.Claims(&all); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	azp, named := all["azp"]
	wrong := ""
	switch {
	case nonce == "" || subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(nonce)) != 1:
		wrong = "the nonce is of another sign-in"
	case id.Subject == "" || len(id.Subject) > maxSubject:
		wrong = "the subject is missing or too long"
	case named && azp != p.ClientID || !named && len(id.Audience) > 1:
		wrong = "it was issued to another client"
	case id.IssuedAt.Unix() <= 0 || id.IssuedAt.After(p.now().Add(maxSkew)):
		wrong = "it was issued in the future"
	case id.AccessTokenHash != "" && id.VerifyAccessToken(accessToken) != nil:
		wrong = "it belongs to another access token"
	}
	if wrong != "" {
		return nil, nil, fmt.Errorf("%w: %s", ErrInvalid, wrong)
	}
	return id, all, nil
}

// lookup returns a member by a name, or by a path with dots.
func lookup(all map[string]any, path string) any {
	if v, ok := all[path]; ok {
		return v
	}
	name, rest, found := strings.Cut(path, ".")
	var inner map[string]any
	if text, err := json.Marshal(all[name]); !found || err != nil || json.Unmarshal(text, &inner) != nil {
		return nil
	}
	return lookup(inner, rest)
}

// groups returns the names in a claim: a list, or a single name.
func groups(v any) (list []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, one := range v[:min(len(v), maxGroups)] {
			if s, ok := one.(string); ok {
				list = append(list, s)
			}
		}
	}
	return list
}

// roleOf returns the role with the most rights that any group gives.
func (p *Provider) roleOf(groups []string) string {
	for _, role := range roles {
		if slices.ContainsFunc(p.Roles[role], func(g string) bool { return slices.Contains(groups, g) }) {
			return role
		}
	}
	return p.Role
}

// text returns a text of at most limit bytes, or "".
func text(v any, limit int) string {
	s, _ := v.(string)
	if s = strings.TrimSpace(s); len(s) > limit {
		return ""
	}
	return s
}

// signOutPatience is how long signing out waits for the metadata of a provider.
const signOutPatience = 3 * time.Second

// SignOutURL returns the URL at which a person signs out of the provider and comes back to a page, or "" if the
// provider has none or cannot be reached.
func (p *Provider) SignOutURL(ctx context.Context, idToken, back string) string {
	ctx, cancel := context.WithTimeout(ctx, signOutPatience)
	defer cancel()
	m, err := p.discover(ctx)
	if err != nil || m.EndSession == "" {
		return ""
	}
	u, err := url.Parse(m.EndSession)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" {
		return ""
	}
	query := u.Query()
	query.Set("client_id", p.ClientID)
	query.Set("post_logout_redirect_uri", back)
	if idToken != "" {
		query.Set("id_token_hint", idToken)
	}
	u.RawQuery = query.Encode()
	return u.String()
}
