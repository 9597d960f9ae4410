package oidc_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sluice/outbound/oidc"
	"sluice/outbound/oidc/oidctest"
)

const callback = "https://sluice.example.com/sign-in/callback/company"

// setup returns a provider and a client of it.
func setup(t *testing.T, change ...func(*oidc.Settings)) (*oidctest.Provider, *oidc.Provider) {
	t.Helper()
	server := oidctest.New(t)
	s := &oidc.Settings{ID: "company", Name: "Company", Issuer: server.URL, ClientID: oidctest.ClientID, ClientSecret: oidctest.Secret, Domains: []string{"example.com"}, Role: "viewer"}
	for _, f := range change {
		f(s)
	}
	return server, oidc.New(s, client(), time.Now)
}

// client follows no redirects, as the client of the server.
func client() *http.Client {
	return &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// signIn goes through a sign-in, as a browser would.
func signIn(t *testing.T, p *oidc.Provider) (*oidc.Person, error) {
	t.Helper()
	to, a, err := p.Start(t.Context(), callback)
	if err != nil {
		return nil, err
	}
	return p.Finish(t.Context(), a, callback, answer(t, to))
}

// answer returns the parameters with which the provider sends a browser back.
func answer(t *testing.T, to string) url.Values {
	t.Helper()
	resp, err := client().Get(to)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	u, err := url.Parse(resp.Header.Get("Location"))
	if err != nil || !strings.HasPrefix(u.String(), callback) {
		t.Fatalf("sent to %q", resp.Header.Get("Location"))
	}
	return u.Query()
}

func TestSignIn_returns_the_person(t *testing.T) {
	t.Parallel()
	server, p := setup(t)
	server.Claims = map[string]any{"email": "ada@example.com", "email_verified": true, "name": "Ada"}
	got, err := signIn(t, p)
	if err != nil || got.Subject != "person-1" || got.Issuer != server.URL || got.Email != "ada@example.com" || got.Name != "Ada" || got.Role != "viewer" || got.Mapped {
		t.Errorf("%+v %v", got, err)
	}
	server.Claims["email_verified"] = false
	if got, err := signIn(t, p); err != nil || got.Email != "" {
		t.Errorf("an address that is not verified: %+v %v", got, err)
	}
	if n := server.Hits("/.well-known/openid-configuration"); n != 1 {
		t.Errorf("the metadata was read %d times", n)
	}
}

func TestSignIn_with_the_secret_in_the_body(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(*oidctest.Provider, *oidc.Settings){
		"setting": func(_ *oidctest.Provider, s *oidc.Settings) { s.ClientAuth = "client_secret_post" },
		"metadata": func(p *oidctest.Provider, _ *oidc.Settings) {
			p.Metadata = map[string]any{"token_endpoint_auth_methods_supported": []string{"client_secret_post"}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, p := setup(t)
			server.Post = true
			set(server, p.Settings)
			if _, err := signIn(t, p); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestSignIn_maps_groups_to_roles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		claim  string
		groups any
		role   string
	}{
		{"groups", []string{"all", "flows-edit"}, "editor"}, {"groups", []string{"flows-edit", "flows-own"}, "owner"}, {"groups", "flows-edit", "editor"},
		{"groups", []string{"all"}, ""}, {"groups", nil, ""}, {"groups", 7, ""}, {"groups", []any{7, "flows-edit"}, "editor"}, {"groups", []string{"FLOWS-OWN"}, ""},
		{"realm.roles", map[string]any{"roles": []string{"flows-own"}}, "owner"}, {"https://x.example/roles", []string{"flows-edit"}, "editor"},
	} {
		server, p := setup(t, func(s *oidc.Settings) {
			s.Claim, s.Role, s.Roles = c.claim, "", map[string][]string{"owner": {"flows-own"}, "editor": {"flows-edit"}}
		})
		name := c.claim
		if name == "realm.roles" {
			name = "realm"
		}
		server.Claims = map[string]any{name: c.groups}
		if got, err := signIn(t, p); err != nil || got.Role != c.role || !got.Mapped {
			t.Errorf("%s=%v: %+v %v, want %q", c.claim, c.groups, got, err, c.role)
		}
	}
}

func TestSignIn_reads_the_user_info(t *testing.T) {
	t.Parallel()
	server, p := setup(t)
	server.UserInfo = map[string]any{"sub": "person-1", "email": "ada@example.com", "email_verified": true}
	if got, err := signIn(t, p); err != nil || got.Email != "ada@example.com" {
		t.Errorf("%+v %v", got, err)
	}
	server.UserInfo["sub"] = "person-2"
	if _, err := signIn(t, p); !errors.Is(err, oidc.ErrInvalid) {
		t.Errorf("the user info of another person: %v", err)
	}
}

func TestSignIn_follows_rotated_keys(t *testing.T) {
	t.Parallel()
	server, p := setup(t)
	for range 3 {
		if _, err := signIn(t, p); err != nil {
			t.Error(err)
		}
		server.Rotate()
	}
}

func TestSignIn_while_the_provider_is_down(t *testing.T) {
	t.Parallel()
	server, p := setup(t)
	server.SetDown(true)
	if _, err := signIn(t, p); err == nil || errors.Is(err, oidc.ErrInvalid) || errors.Is(err, oidc.ErrDeclined) {
		t.Errorf("%v", err)
	}
	server.SetDown(false)
	to, a, err := p.Start(t.Context(), callback)
	if err != nil {
		t.Fatal(err)
	}
	back := answer(t, to)
	server.SetDown(true)
	if _, err := p.Finish(t.Context(), a, callback, back); err == nil || errors.Is(err, oidc.ErrInvalid) {
		t.Errorf("%v", err)
	}
	server.SetDown(false)
	if _, err := signIn(t, p); err != nil {
		t.Error(err)
	}
}

// TestSignIn_refuses_hostile_tokens signs in with tokens that do not prove who the person is.
func TestSignIn_refuses_hostile_tokens(t *testing.T) {
	t.Parallel()
	server, p := setup(t)
	now := time.Now().Unix()
	stranger, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(server.PublicKey())
	if err != nil {
		t.Fatal(err)
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	claim := func(name string, v any) func(h, c map[string]any) string {
		return func(h, c map[string]any) string {
			if c[name] = v; v == nil {
				delete(c, name)
			}
			return server.Sign(h, c)
		}
	}
	head := func(name string, v any) func(h, c map[string]any) string {
		return func(h, c map[string]any) string {
			if h[name] = v; v == nil {
				delete(h, name)
			}
			return server.Sign(h, c)
		}
	}
	with := func(change func(h, c map[string]any), sign func(h, c map[string]any) string) func(h, c map[string]any) string {
		return func(h, c map[string]any) string { change(h, c); return sign(h, c) }
	}
	alg := func(name string) func(h, c map[string]any) { return func(h, _ map[string]any) { h["alg"] = name } }
	unsigned := func(h, c map[string]any) string { return oidctest.Unsigned(h, c) + "." }
	foreign := func(h, c map[string]any) string { return oidctest.SignWith(stranger, h, c) }
	jwk := map[string]any{"kty": "RSA", "n": base64.RawURLEncoding.EncodeToString(stranger.N.Bytes()), "e": "AQAB"}
	other := "before"
	hash := func(s string) string {
		sum := sha256.Sum256([]byte(s))
		return base64.RawURLEncoding.EncodeToString(sum[:16])
	}
	hostile := map[string]func(h, c map[string]any) string{
		"issuer of another provider":     claim("iss", "https://evil.example.com"),
		"issuer with a slash":            claim("iss", server.URL+"/"),
		"issuer in other case":           claim("iss", strings.ToUpper(server.URL)),
		"no issuer":                      claim("iss", nil),
		"issuer is a list":               claim("iss", []string{server.URL}),
		"audience of another client":     claim("aud", "other"),
		"audience that begins the same":  claim("aud", oidctest.ClientID+"-2"),
		"no audience":                    claim("aud", nil),
		"empty audience":                 claim("aud", []string{}),
		"two audiences without azp":      claim("aud", []string{oidctest.ClientID, "other"}),
		"azp of another client":          claim("azp", "other"),
		"azp is a list":                  claim("azp", []string{oidctest.ClientID}),
		"two audiences with another azp": with(func(_, c map[string]any) { c["aud"], c["azp"] = []string{oidctest.ClientID, "other"}, "other" }, server.Sign),
		"expired":                        claim("exp", now-1),
		"expired long ago":               claim("exp", 1),
		"no expiry":                      claim("exp", nil),
		"expiry is a text":               claim("exp", "tomorrow"),
		"not valid yet":                  claim("nbf", now+3600),
		"issued in the future":           claim("iat", now+3600),
		"no time of issue":               claim("iat", nil),
		"nonce of another sign-in":       claim("nonce", "other"),
		"no nonce":                       claim("nonce", nil),
		"empty nonce":                    claim("nonce", ""),
		"nonce is a list":                claim("nonce", []string{"a"}),
		"no subject":                     claim("sub", nil),
		"empty subject":                  claim("sub", ""),
		"subject is a number":            claim("sub", 1),
		"subject of 300 bytes":           claim("sub", strings.Repeat("s", 300)),
		"hash of another access token":   claim("at_hash", hash("another")),
		"algorithm none":                 with(alg("none"), unsigned),
		"algorithm None":                 with(alg("None"), unsigned),
		"algorithm NONE with signature":  with(alg("NONE"), server.Sign),
		"no algorithm":                   head("alg", nil),
		"HS256 with the public key":      with(alg("HS256"), func(h, c map[string]any) string { return oidctest.MAC(public, h, c) }),
		"HS256 with the DER key":         with(alg("HS256"), func(h, c map[string]any) string { return oidctest.MAC(der, h, c) }),
		"HS256 with the secret":          with(alg("HS256"), func(h, c map[string]any) string { return oidctest.MAC([]byte(oidctest.Secret), h, c) }),
		"RS512 in the header":            head("alg", "RS512"),
		"key of a stranger":              foreign,
		"key of a stranger without kid":  with(func(h, _ map[string]any) { delete(h, "kid") }, foreign),
		"key of a stranger with jwk":     with(func(h, _ map[string]any) { h["jwk"] = jwk }, foreign),
		"key of a stranger with jku":     with(func(h, _ map[string]any) { h["jku"] = "https://evil.example.com/keys" }, foreign),
		"unknown kid":                    head("kid", "other"),
		"kid is a path":                  head("kid", "../../dev/null"),
		"kid is a number":                head("kid", 1),
		"unknown critical header":        head("crit", []string{"exp2"}),
		"no signature":                   unsigned,
		"signature of another token": func(h, c map[string]any) string {
			t := server.Sign(h, c)
			c["sub"] = "owner"
			return oidctest.Unsigned(h, c) + t[strings.LastIndex(t, "."):]
		},
		"cut off":    func(h, c map[string]any) string { t := server.Sign(h, c); return t[:len(t)-9] },
		"two parts":  func(h, c map[string]any) string { return oidctest.Unsigned(h, c) },
		"four parts": func(h, c map[string]any) string { return server.Sign(h, c) + ".x" },
		"empty":      func(map[string]any, map[string]any) string { return "" },
		"text":       func(map[string]any, map[string]any) string { return "hello" },
		"JSON serialization": func(h, c map[string]any) string {
			parts := strings.Split(server.Sign(h, c), ".")
			return `{"protected":"` + parts[0] + `","payload":"` + parts[1] + `","signature":"` + parts[2] + `","header":{"alg":"RS256"}}`
		},
		"claims are a list": func(h, _ map[string]any) string { return oidctest.Unsigned(h, nil) + "." + other },
		"a megabyte":        claim("pad", strings.Repeat("x", 1<<20)),
	}
	if len(hostile) < 40 {
		t.Fatalf("only %d tokens", len(hostile))
	}
	for name, token := range hostile {
		server.Token = token
		if got, err := signIn(t, p); err == nil {
			t.Errorf("%s: signed in as %+v", name, got)
		} else if name != "a megabyte" && !errors.Is(err, oidc.ErrInvalid) && name != "empty" {
			t.Errorf("%s: %v is not ErrInvalid", name, err)
		}
	}
	server.Token = nil
	if _, err := signIn(t, p); err != nil {
		t.Errorf("a good token afterwards: %v", err)
	}
	if n := server.Hits("/keys"); n > len(hostile)+2 {
		t.Errorf("the keys were read %d times", n)
	}
}

// TestFinish_refuses_hostile_answers finishes a sign-in with answers that do not belong to it.
func TestFinish_refuses_hostile_answers(t *testing.T) {
	t.Parallel()
	server, p := setup(t)
	server.Metadata = map[string]any{"authorization_response_iss_parameter_supported": true}
	for name, change := range map[string]func(a *oidc.Attempt, back url.Values){
		"state of another browser": func(_ *oidc.Attempt, back url.Values) { back.Set("state", "other") },
		"no state":                 func(_ *oidc.Attempt, back url.Values) { back.Del("state") },
		"no attempt":               func(a *oidc.Attempt, back url.Values) { *a = oidc.Attempt{}; back.Del("state") },
		"attempt at another":       func(a *oidc.Attempt, _ url.Values) { a.Provider = "other" },
		"other verifier":           func(a *oidc.Attempt, _ url.Values) { a.Verifier += "x" },
		"no code":                  func(_ *oidc.Attempt, back url.Values) { back.Del("code") },
		"code of another":          func(_ *oidc.Attempt, back url.Values) { back.Set("code", "x") },
		"iss of another":           func(_ *oidc.Attempt, back url.Values) { back.Set("iss", "https://evil.example.com") },
		"no iss":                   func(_ *oidc.Attempt, back url.Values) { back.Del("iss") },
		"declined":                 func(_ *oidc.Attempt, back url.Values) { back.Set("error", "access_denied") },
	} {
		to, a, err := p.Start(t.Context(), callback)
		if err != nil {
			t.Fatal(err)
		}
		back := answer(t, to)
		back.Set("iss", server.URL)
		change(&a, back)
		if got, err := p.Finish(t.Context(), a, callback, back); err == nil {
			t.Errorf("%s: signed in as %+v", name, got)
		}
	}
	to, a, err := p.Start(t.Context(), callback)
	if err != nil {
		t.Fatal(err)
	}
	back := answer(t, to)
	back.Set("iss", server.URL)
	if _, err := p.Finish(t.Context(), a, callback, back); err != nil {
		t.Error(err)
	}
	if _, err := p.Finish(t.Context(), a, callback, back); err == nil {
		t.Error("a code worked twice")
	}
}

func TestDiscover_refuses_another_issuer(t *testing.T) {
	t.Parallel()
	server, p := setup(t)
	server.Metadata = map[string]any{"issuer": "https://evil.example.com"}
	if err := p.Discover(t.Context()); err == nil {
		t.Error("metadata of another issuer was accepted")
	}
}

func TestLoad_explains_mistakes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "secret"), []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	load := func(text string) ([]*oidc.Settings, error) {
		path := filepath.Join(dir, "oidc.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return oidc.Load(path)
	}
	good := `{"id": "a", "issuer": "https://id.example.com", "client_id": "x", "client_secret_file": "secret", "domains": ["Example.com"]}`
	list, err := load(`{"providers": [` + good + `]}`)
	if err != nil || list[0].ClientSecret != "s3cret" || list[0].Name != "id.example.com" || list[0].Role != "viewer" || !list[0].Allows("Ada@EXAMPLE.com") || list[0].Allows("ada@x.example.com") || list[0].Allows("ada@example.com@evil.com") {
		t.Errorf("%+v %v", list, err)
	}
	for text, want := range map[string]string{
		`{}`: "0 entries", `[]`: "cannot unmarshal", `{"providers": [null]}`: "null", `{"providers": [` + good + `,` + good + `]}`: "another provider",
		`{"providers": [{"id": "A b"}]}`: "the id is", `{"providers": [{"id": "a", "issuer": "x"}]}`: "the issuer is",
		`{"providers": [{"id": "a", "issuer": "http://id.example.com"}]}`: "must start with https", `{"providers": [{"id": "a", "issuer": "https://x"}]}`: "client_id is missing",
		`{"providers": [{"id": "a", "issuer": "https://x", "client_id": "x"}]}`:                           "domains is missing",
		`{"providers": [{"id": "a", "issuer": "https://x", "client_id": "x", "domains": ["*"]}]}`:         "write a domain",
		strings.Replace(`{"providers": [`+good+`]}`, `"secret"`, `"missing"`, 1):                          "client_secret_file",
		strings.Replace(`{"providers": [`+good+`]}`, `"id"`, `"role": "admin", "id"`, 1):                  "role is",
		strings.Replace(`{"providers": [`+good+`]}`, `"id"`, `"claim": "groups", "id"`, 1):                "belong together",
		strings.Replace(`{"providers": [`+good+`]}`, `"id"`, `"nmae": "x", "id"`, 1):                      "nmae",
		strings.Replace(`{"providers": [`+good+`]}`, `"id"`, `"client_secret": "x", "id"`, 1):             "keep one",
		strings.Replace(`{"providers": [`+good+`]}`, `"id"`, `"client_auth": "private_key_jwt", "id"`, 1): "client_auth is",
		`{"providers": [` + good + `]} x`:                                                                 "text after",
	} {
		if _, err := load(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
