// Package oidctest is an OpenID Connect provider for tests. It signs in the person that the test sets, without a page, and can
// be made to lie in every answer.
package oidctest

import (
	"crypto"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"
)

// The client that the provider knows.
const (
	ClientID = "sluice"
	Secret   = "s3cret & more:"
)

// Provider is a running provider. Set its fields before the sign-in that they are for.
type Provider struct {
	*httptest.Server
	Now func() time.Time
	// Claims are added to the ID token, or replace those that are there. nil removes one.
	Claims map[string]any
	// UserInfo is the user info; without it, the provider has none.
	UserInfo map[string]any
	// Metadata is added to the metadata.
	Metadata map[string]any
	// Token replaces the ID token.
	Token func(header, claims map[string]any) string
	// Answer changes the parameters with which the browser is sent back.
	Answer func(url.Values)
	// Post requires the secret in the body instead of the header.
	Post bool
	// Down makes every request fail.
	Down bool

	mu    sync.Mutex
	keys  []*rsa.PrivateKey
	codes map[string]url.Values // authorization requests
	hits  map[string]int
	last  url.Values // the parameters of the last sign-out
}

// New starts a provider and stops it at the end of the test.
func New(t testing.TB) *Provider {
	t.Helper()
	p := &Provider{Now: time.Now, codes: map[string]url.Values{}, hits: map[string]int{}}
	p.Rotate()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", p.metadata)
	mux.HandleFunc("GET /authorize", p.authorize)
	mux.HandleFunc("POST /token", p.token)
	mux.HandleFunc("GET /keys", p.jwks)
	mux.HandleFunc("GET /userinfo", p.userInfo)
	mux.HandleFunc("GET /sign-out", p.signOut)
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		p.hits[r.URL.Path]++
		down := p.Down
		p.mu.Unlock()
		if down {
			http.Error(w, "down", http.StatusServiceUnavailable)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(p.Close)
	return p
}

// Rotate replaces the key that signs tokens. The old one is no longer published.
func (p *Provider) Rotate() {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keys = append(p.keys, key)
}

// Hits returns how often a path was requested.
func (p *Provider) Hits(path string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.hits[path]
}

// SetDown makes every request fail, or work again.
func (p *Provider) SetDown(down bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.Down = down
}

// SignedOut returns the parameters of the last sign-out.
func (p *Provider) SignedOut() url.Values {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last
}

func (p *Provider) key() (*rsa.PrivateKey, string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.keys[len(p.keys)-1], "key-" + string(rune('0'+len(p.keys)))
}

// PublicKey returns the public key that signs tokens, as DER.
func (p *Provider) PublicKey() *rsa.PublicKey {
	key, _ := p.key()
	return &key.PublicKey
}

func write(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func (p *Provider) metadata(w http.ResponseWriter, _ *http.Request) {
	m := map[string]any{
		"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token", "jwks_uri": p.URL + "/keys",
		"end_session_endpoint": p.URL + "/sign-out", "id_token_signing_alg_values_supported": []string{"RS256", "HS256"},
	}
	if p.UserInfo != nil {
		m["userinfo_endpoint"] = p.URL + "/userinfo"
	}
	for name, v := range p.Metadata {
		m[name] = v
	}
	write(w, m)
}

// authorize sends the browser back at once, with a code.
func (p *Provider) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	code := rand.Text()
	p.mu.Lock()
	p.codes[code] = q
	p.mu.Unlock()
	answer := url.Values{"code": {code}, "state": {q.Get("state")}}
	if p.Answer != nil {
		p.Answer(answer)
	}
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+answer.Encode(), http.StatusSeeOther)
}

// token exchanges a code, once, against the secret and the verifier.
func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	id, secret, basic := r.BasicAuth()
	id, _ = url.QueryUnescape(id)
	secret, _ = url.QueryUnescape(secret)
	if p.Post {
		basic, id, secret = !basic, r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	}
	p.mu.Lock()
	asked, ok := p.codes[r.PostFormValue("code")]
	delete(p.codes, r.PostFormValue("code"))
	p.mu.Unlock()
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	if !basic || id != ClientID || secret != Secret || !ok || asked.Get("redirect_uri") != r.PostFormValue("redirect_uri") ||
		asked.Get("code_challenge_method") != "S256" || asked.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(sum[:]) {
		w.WriteHeader(http.StatusBadRequest)
		write(w, map[string]any{"error": "invalid_grant"})
		return
	}
	now := p.Now().Unix()
	claims := map[string]any{"iss": p.URL, "aud": ClientID, "sub": "person-1", "iat": now, "exp": now + 300, "nonce": asked.Get("nonce")}
	for name, v := range p.Claims {
		if claims[name] = v; v == nil {
			delete(claims, name)
		}
	}
	_, kid := p.key()
	header := map[string]any{"alg": "RS256", "kid": kid, "typ": "JWT"}
	idToken := ""
	if p.Token != nil {
		idToken = p.Token(header, claims)
	} else {
		idToken = p.Sign(header, claims)
	}
	write(w, map[string]any{"access_token": "access-1", "token_type": "Bearer", "expires_in": 300, "id_token": idToken})
}

// Sign returns a token that is signed with the current key.
func (p *Provider) Sign(header, claims map[string]any) string {
	key, _ := p.key()
	return SignWith(key, header, claims)
}

// SignWith returns a token that is signed with a key, whatever the header says.
func SignWith(key *rsa.PrivateKey, header, claims map[string]any) string {
	text := Unsigned(header, claims)
	sum := sha256.Sum256([]byte(text))
	sig, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	if err != nil {
		panic(err)
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(sig)
}

// MAC returns a token that is signed with a shared secret.
func MAC(secret []byte, header, claims map[string]any) string {
	text := Unsigned(header, claims)
	h := hmac.New(sha256.New, secret)
	h.Write([]byte(text))
	return text + "." + base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

// Unsigned returns the first two parts of a token.
func Unsigned(header, claims map[string]any) string {
	h, _ := json.Marshal(header)
	c, _ := json.Marshal(claims)
	return base64.RawURLEncoding.EncodeToString(h) + "." + base64.RawURLEncoding.EncodeToString(c)
}

func (p *Provider) jwks(w http.ResponseWriter, _ *http.Request) {
	key, kid := p.key()
	write(w, map[string]any{"keys": []any{map[string]any{
		"kty": "RSA", "use": "sig", "alg": "RS256", "kid": kid, "n": base64.RawURLEncoding.EncodeToString(key.N.Bytes()),
		"e": base64.RawURLEncoding.EncodeToString(big.NewInt(int64(key.E)).Bytes()),
	}}})
}

func (p *Provider) userInfo(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer access-1" {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	write(w, p.UserInfo)
}

func (p *Provider) signOut(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	p.mu.Lock()
	p.last = q
	p.mu.Unlock()
	http.Redirect(w, r, q.Get("post_logout_redirect_uri"), http.StatusSeeOther)
}
