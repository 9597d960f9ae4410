package mcpclient

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"sluice/flow"
	"sluice/flow/value"
	"sluice/flow/wording"
	"sluice/outbound"
)

// A person connects a server by signing in to its authorization server (OAuth 2.1 with an authorization code and PKCE). The
// secret of the credential is then a Connection, as JSON. Its addresses are those that the person saw and confirmed: nothing
// that the server says later changes where tokens are sent.

// ConnectTime is how long a person has to sign in.
const ConnectTime = 10 * time.Minute

// Addresses are where a person signs in to a server, as the server describes it.
type Addresses struct {
	Resource  string `json:"resource"` // the server, as its tokens name it
	Issuer    string `json:"issuer"`
	Authorize string `json:"authorize"`
	Token     string `json:"token"`
	Register  string `json:"register,omitempty"` // empty: a client ID is needed
	Scope     string `json:"scope,omitempty"`
	// UserInfo and Introspect say who has signed in; empty if the server has none on the hosts of the others.
	UserInfo   string `json:"userinfo,omitempty"`
	Introspect string `json:"introspect,omitempty"`
	// Document means that the authorization server reads who a client is at the URL that is the ID of the client.
	Document bool `json:"document,omitempty"`
	// NamesIssuer means that every answer to a sign-in names the issuer (RFC 9207).
	NamesIssuer bool `json:"names_issuer,omitempty"`
	// SecretInBody means that the secret of the client is sent in the form and not as a header.
	SecretInBody bool `json:"secret_in_body,omitempty"`
}

// Digest identifies the addresses, so that those which a person confirms are those that are used.
func (a *Addresses) Digest() string {
	text, _ := json.Marshal(a)
	return hashText(string(text))
}

// Hosts lists the hosts of the addresses, each once.
func (a *Addresses) Hosts() (list []string) {
	seen := map[string]bool{}
	for _, text := range []string{a.Issuer, a.Authorize, a.Token, a.Register} {
		if u, err := url.Parse(text); err == nil && u.Host != "" && !seen[u.Host] {
			seen[u.Host] = true
			list = append(list, u.Host)
		}
	}
	return list
}

// check returns an error unless all addresses are encrypted, or on the server's own host.
func (a *Addresses) check(s *Server) error {
	for what, text := range map[string]string{"issuer": a.Issuer, "authorization endpoint": a.Authorize, "token endpoint": a.Token, "registration endpoint": a.Register} {
		if text == "" && what == "registration endpoint" {
			continue
		}
		if !isSecure(text, s.URL) {
			return unsafe(s, "names the %s %q, which is not an https address", what, wording.Truncate(text, 200))
		}
	}
	return nil
}

// isSecure reports whether a URL is https, or has the scheme and the host of the server, which may be one on a private network.
func isSecure(text, server string) bool {
	u, err := outbound.ParseURL(text)
	at, atErr := url.Parse(server)
	return err == nil && atErr == nil && u.User == nil && u.Fragment == "" && (u.Scheme == "https" || u.Scheme == at.Scheme && u.Host == at.Host)
}

// OAuthClient is how Sluice is known to an authorization server.
type OAuthClient struct {
	ID     string `json:"id"`
	Secret string `json:"secret,omitempty"`
}

// Connection is the sign-in of a person to a server.
type Connection struct {
	Addresses
	Client  OAuthClient `json:"client"`
	Access  string      `json:"access"`
	Refresh string      `json:"refresh,omitempty"`
	Until   time.Time   `json:"until"`
	By      string      `json:"by"` // user ID of the person
	At      time.Time   `json:"at"`
	Account string      `json:"account,omitempty"` // who signed in there, as far as the server says
	Granted string      `json:"granted,omitempty"` // scopes
	// Attempt is a refresh whose answer has not been stored.
	Attempt *attempt `json:"attempt,omitempty"`
	// Dead says why the person must connect again; empty while the connection works.
	Dead string `json:"dead,omitempty"`
}

// attempt is a refresh that was begun.
type attempt struct {
	Until time.Time `json:"until"` // no other instance refreshes before
	Lost  int       `json:"lost"`  // answers that were lost before
}

// Pending is a sign-in that has begun.
type Pending struct {
	Addresses
	Client   OAuthClient `json:"client"`
	State    string      `json:"state"`   // SHA-256
	Session  string      `json:"session"` // of the person
	Verifier string      `json:"verifier"`
	Until    time.Time   `json:"until"`
}

// oauthSecret is the secret of a credential that a person connects. Before, it may have had another secret, which stays until then.
type oauthSecret struct {
	OAuth   *Connection `json:"oauth,omitempty"`
	Pending *Pending    `json:"pending,omitempty"`
	Before  string      `json:"before,omitempty"`
}

// readOAuth reads the secret of a credential; nil for another one.
func readOAuth(secret string) *oauthSecret {
	var o oauthSecret
	if !strings.HasPrefix(secret, `{"oauth":`) && !strings.HasPrefix(secret, `{"pending":`) || json.Unmarshal([]byte(secret), &o) != nil {
		return nil
	}
	return &o
}

// write returns the secret of the credential.
func (o *oauthSecret) write() string {
	text, _ := json.Marshal(o)
	return string(text)
}

// ReadConnection returns the connection in the secret of a credential; nil for another secret.
func ReadConnection(secret string) *Connection {
	if o := readOAuth(secret); o != nil {
		return o.OAuth
	}
	return nil
}

// Disconnect returns the secret of a connection without its tokens and its account. why completes "The connection has ended: ". Another secret is
// returned as it is.
func Disconnect(secret, why string) string {
	o := readOAuth(secret)
	if o == nil || o.OAuth == nil {
		return secret
	}
	o.Pending, o.OAuth.Attempt = nil, nil
	o.OAuth.Access, o.OAuth.Refresh, o.OAuth.Account, o.OAuth.Dead = "", "", "", why
	return o.write()
}

// plainSecret returns the secret that is sent while a first sign-in is pending.
func plainSecret(secret string) string {
	if o := readOAuth(secret); o != nil && o.OAuth == nil {
		return o.Before
	}
	return secret
}

// Begin returns the sign-in of a person, and the address where the person continues. state must be unguessable.
func Begin(a *Addresses, client OAuthClient, state, session, redirect string, now time.Time) (p *Pending, address string) {
	p = &Pending{Addresses: *a, Client: client, State: hashText(state), Session: session, Verifier: rand.Text() + rand.Text(), Until: now.Add(ConnectTime)}
	sum := sha256.Sum256([]byte(p.Verifier))
	query := url.Values{
		"response_type": {"code"}, "client_id": {client.ID}, "redirect_uri": {redirect}, "state": {state}, "resource": {a.Resource},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"},
	}
	if a.Scope != "" {
		query.Set("scope", a.Scope)
	}
	separator := "?"
	if strings.Contains(a.Authorize, "?") {
		separator = "&"
	}
	return p, a.Authorize + separator + query.Encode()
}

// Put returns the secret of a credential with a sign-in that has begun. A connection stays in use until the person has signed in.
func (p *Pending) Put(secret string) string {
	o := readOAuth(secret)
	if o == nil {
		o = &oauthSecret{Before: secret}
	}
	o.Pending = p
	return o.write()
}

// Take ends the sign-in that an answer belongs to: it can be used once, by the session that began it. It returns the secret
// without it.
func Take(secret, state, session string, now time.Time) (changed string, p *Pending, err error) {
	o := readOAuth(secret)
	if o == nil || o.Pending == nil || o.Pending.State != hashText(state) || o.Pending.Session != session || session == "" || !now.Before(o.Pending.Until) {
		return secret, nil, &Error{Class: ClassAuth, Message: "This sign-in has expired, or was begun elsewhere. Connect again."}
	}
	p, o.Pending = o.Pending, nil
	if o.OAuth == nil {
		return o.Before, p, nil
	}
	return o.write(), p, nil
}

// CheckIssuer returns an error if an answer to a sign-in names another issuer than the one that was asked (RFC 9207).
func (p *Pending) CheckIssuer(issuer string) error {
	if issuer == "" && !p.NamesIssuer || issuer == p.Issuer {
		return nil
	}
	return &Error{Class: ClassAuth, Message: "The answer comes from another authorization server than the one that was asked. Nothing was connected."}
}

// Redeem exchanges the code of a sign-in for tokens.
func (c *Client) Redeem(ctx context.Context, s Server, p *Pending, code, redirect, by string) (secret string, err error) {
	conn := &Connection{Addresses: p.Addresses, Client: p.Client, By: by, At: c.now()}
	if err := conn.check(&s); err != nil {
		return "", err
	}
	answer, err := c.askTokens(ctx, &s, conn, url.Values{"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {redirect}, "code_verifier": {p.Verifier}})
	if err != nil {
		return "", err
	}
	conn.take(answer, c.now())
	conn.Granted = cmp.Or(answer.scope, p.Scope)
	conn.Account = c.account(ctx, &s, conn, answer.id)
	return (&oauthSecret{OAuth: conn}).write(), nil
}

// tokenAnswer is what an authorization server gives.
type tokenAnswer struct {
	access, refresh string
	id              string        // ID token; "" without one
	scope           string        // granted; "" if it is what was asked for
	life            time.Duration // 0: not stated
}

// take takes over new tokens. An authorization server that rotates refresh tokens gives another one.
func (n *Connection) take(t *tokenAnswer, now time.Time) {
	n.Access, n.Attempt, n.Dead = t.access, nil, ""
	if t.refresh != "" {
		n.Refresh = t.refresh
	}
	n.Until = now.Add(unknownLife)
	if t.life > 0 {
		n.Until = now.Add(max(t.life-tokenMargin, time.Second))
	}
}

// askTokens sends a request to the token endpoint. The error is definite (ClassAuth) if the server has refused.
func (c *Client) askTokens(ctx context.Context, s *Server, n *Connection, form url.Values) (*tokenAnswer, error) {
	form.Set("resource", n.Resource)
	status, o, err := c.askJSON(ctx, s, n.form(n.Token, form))
	if err != nil {
		return nil, err
	}
	t := &tokenAnswer{access: flow.Text(o.Get("access_token")), refresh: flow.Text(o.Get("refresh_token")), id: flow.Text(o.Get("id_token"))}
	t.scope = wording.Truncate(strings.Join(strings.Fields(flow.Text(o.Get("scope"))), " "), maxScope)
	if kind := flow.Text(o.Get("token_type")); status == http.StatusOK && t.access != "" && (kind == "" || strings.EqualFold(kind, "Bearer")) {
		if seconds, ok := flow.Float(o.Get("expires_in")); ok && seconds > 0 {
			t.life = time.Duration(min(seconds, 1e8) * float64(time.Second))
		}
		return t, nil
	}
	why := wording.Truncate(wording.OneLine(strings.TrimSpace(flow.Text(o.Get("error"))+" "+flow.Text(o.Get("error_description")))), 300)
	if why == "" {
		why = "status " + statusText(status)
	}
	class := ClassUnreachable
	if status >= 400 && status < 500 && status != http.StatusTooManyRequests && status != http.StatusRequestTimeout {
		class = ClassAuth
	}
	return nil, &Error{Class: class, Message: "The authorization server of " + s.Name + " gives no token: " + wording.Period(why)}
}

// form returns a request with a form that the client signs with its secret, if it has one.
func (n *Connection) form(address string, form url.Values) outbound.Request {
	header := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Accept": {"application/json"}}
	if n.Client.Secret != "" && !n.SecretInBody {
		header.Set("Authorization", basicAuth(n.Client.ID, n.Client.Secret))
	} else {
		form.Set("client_id", n.Client.ID)
		if n.Client.Secret != "" {
			form.Set("client_secret", n.Client.Secret)
		}
	}
	return outbound.Request{Method: http.MethodPost, URL: address, Body: []byte(form.Encode()), Header: header, SecretBody: true}
}

// askJSON sends a request to an authorization server and reads a JSON object; an empty one for anything else. Redirects are not
// followed, and a private address is reached only on the host of a server that the operator entered.
func (c *Client) askJSON(ctx context.Context, s *Server, r outbound.Request) (status int, o *flow.Object, err error) {
	r.MaxBody, r.Timeout, r.Provider = maxTokenAnswer, tokenTimeout, s.Trusted && sameHost(r.URL, s.URL)
	ctx, sent := outbound.TraceSent(ctx)
	answer, err := c.http.Do(ctx, r)
	if err != nil {
		return 0, nil, &Error{Class: ClassUnreachable, Sent: sent(), Message: "No answer of the authorization server of " + s.Name + ": " + wording.Period(err.Error()), Cause: err}
	}
	v, _ := value.DecodeReceived(answer.Body)
	if o, _ = flow.AsObject(v); o == nil {
		o = &flow.Object{}
	}
	return answer.Status, o, nil
}

// basicAuth returns the header with the secret of a client.
func basicAuth(id, secret string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(url.QueryEscape(id)+":"+url.QueryEscape(secret)))
}

// hashText returns the SHA-256 of a text.
func hashText(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// unsafe returns the error for a server whose sign-in is not used.
func unsafe(s *Server, format string, args ...any) *Error {
	return &Error{Class: ClassRefused, Message: wording.Period(s.Name + " " + fmt.Sprintf(format, args...))}
}
