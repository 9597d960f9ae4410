package mcpclient

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"sluice/flow"
	"sluice/flow/value"
	"sluice/flow/wording"
	"sluice/outbound"
)

// Limits of tokens.
const (
	maxTokenAnswer = 64 << 10 // bytes
	tokenTimeout   = 30 * time.Second
	// tokenMargin is how long before its end a token is replaced.
	tokenMargin = time.Minute
	// unknownLife is how long a token is used whose life the server does not state.
	unknownLife = 5 * time.Minute
)

// Grant is how tokens are requested with OAuth client credentials (RFC 6749, section 4.4). A credential has it as
// its secret, a JSON object.
type Grant struct {
	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret"`
	TokenURL     string `json:"token_url"`
	Scope        string `json:"scope"`
}

// ReadGrant reads the secret of a credential. It returns nil for a secret that is sent as a header, and an error for
// a JSON object that is no grant.
func ReadGrant(secret string) (*Grant, error) {
	if !strings.HasPrefix(strings.TrimSpace(secret), "{") {
		return nil, nil
	}
	g := &Grant{}
	d := json.NewDecoder(strings.NewReader(secret))
	d.DisallowUnknownFields()
	if d.Decode(g) != nil || g.ClientID == "" || g.ClientSecret == "" || g.TokenURL == "" {
		return nil, &Error{Class: ClassRefused, Message: `The secret is not a token, a header or an object such as {"client_id": "…", "client_secret": "…", "token_url": "https://…", "scope": "…"}.`}
	}
	return g, nil
}

// check returns an error for a token URL that is not encrypted. The server itself may be one on a private network.
func (g *Grant) check(server string) error {
	token, err := outbound.ParseURL(g.TokenURL)
	at, atErr := url.Parse(server)
	if err != nil || atErr != nil || token.Scheme != "https" && (token.Scheme != at.Scheme || token.Host != at.Host) {
		return &Error{Class: ClassRefused, Message: "The token URL must begin with https://."}
	}
	return nil
}

// token is an access token.
type token struct {
	text  string
	until time.Time
}

// tokens keeps access tokens in memory, by server and account.
type tokens struct {
	mu   sync.Mutex
	list map[string]*heldToken
}

// heldToken is the token of one account. Its lock is held while a new one is requested, so that each is requested
// once.
type heldToken struct {
	mu  sync.Mutex
	now token
}

// maxTokens is the number of accounts whose tokens are kept.
const maxTokens = 1000

// of returns the place of an account's token.
func (t *tokens) of(key string) *heldToken {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.list == nil || len(t.list) >= maxTokens {
		t.list = map[string]*heldToken{}
	}
	held := t.list[key]
	if held == nil {
		held = &heldToken{}
		t.list[key] = held
	}
	return held
}

// Token returns an access token for a server whose secret is a grant. refused is a token that the server does not
// accept any more, or "".
func (c *Client) token(ctx context.Context, s Server, g *Grant, refused string) (string, error) {
	held := c.tokens.of(s.key())
	held.mu.Lock()
	defer held.mu.Unlock()
	if t := held.now; t.text != "" && t.text != refused && c.now().Before(t.until) {
		return t.text, nil
	}
	t, err := c.requestToken(ctx, s, g)
	if err != nil {
		held.now = token{}
		return "", err
	}
	held.now = t
	return t.text, nil
}

// requestToken asks the authorization server for a token. Redirects are not followed.
func (c *Client) requestToken(ctx context.Context, s Server, g *Grant) (token, error) {
	if err := g.check(s.URL); err != nil {
		return token{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, tokenTimeout)
	defer cancel()
	form := url.Values{"grant_type": {"client_credentials"}, "resource": {s.URL}}
	if g.Scope != "" {
		form.Set("scope", g.Scope)
	}
	basic, _ := http.NewRequest(http.MethodPost, "https://unused", nil) //nolint:noctx // only builds a header
	basic.SetBasicAuth(url.QueryEscape(g.ClientID), url.QueryEscape(g.ClientSecret))
	answer, err := c.http.Do(ctx, outbound.Request{
		Method: http.MethodPost, URL: g.TokenURL, Body: []byte(form.Encode()), MaxBody: maxTokenAnswer, Provider: s.Trusted && sameHost(g.TokenURL, s.URL),
		Header: http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Accept": {"application/json"}, "Authorization": {basic.Header.Get("Authorization")}},
	})
	if err != nil {
		return token{}, &Error{Class: ClassUnreachable, Message: "No token for " + s.Name + ": " + wording.Period(err.Error()), Cause: err}
	}
	v, _ := value.DecodeReceived(answer.Body)
	o, _ := flow.AsObject(v)
	t := token{text: flow.Text(o.Get("access_token"))}
	switch kind := flow.Text(o.Get("token_type")); {
	case answer.Status != http.StatusOK || t.text == "":
		why := wording.Truncate(strings.TrimSpace(flow.Text(o.Get("error"))+" "+flow.Text(o.Get("error_description"))), 300)
		if why == "" {
			why = "status " + statusText(answer.Status)
		}
		return token{}, &Error{Class: ClassAuth, Message: "The authorization server of " + s.Name + " gives no token: " + wording.Period(why)}
	case kind != "" && !strings.EqualFold(kind, "Bearer"):
		return token{}, &Error{Class: ClassAuth, Message: "The authorization server of " + s.Name + " gives a token of a kind that is not supported."}
	}
	t.until = c.now().Add(unknownLife)
	if seconds, ok := flow.Float(o.Get("expires_in")); ok && seconds > 0 {
		t.until = c.now().Add(max(time.Duration(seconds*float64(time.Second))-tokenMargin, time.Second))
	}
	return t, nil
}

// sameHost reports whether two URLs have the same host and port.
func sameHost(a, b string) bool {
	x, err := url.Parse(a)
	y, err2 := url.Parse(b)
	return err == nil && err2 == nil && x.Host == y.Host
}
