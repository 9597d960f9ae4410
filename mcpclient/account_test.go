package mcpclient_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"sluice/mcpclient"
)

// idToken returns an ID token with claims; its signature is not checked.
func idToken(claims map[string]any) string {
	text, _ := json.Marshal(claims)
	return "e30." + base64.RawURLEncoding.EncodeToString(text) + ".c2ln"
}

// TestConnect_says_who_has_signed_in by what the authorization server tells, in the order in which it is asked.
func TestConnect_says_who_has_signed_in(t *testing.T) {
	t.Parallel()
	claims := func(a *signIn, changed map[string]any) map[string]any {
		all := map[string]any{"iss": a.URL + "/as", "aud": "client-1", "exp": time.Now().Add(time.Hour).Unix(), "email": "support@northwind.com"}
		for name, v := range changed {
			all[name] = v
		}
		return all
	}
	user := map[string]any{"email": "user@northwind.com"}
	active := map[string]any{"active": true, "username": "helpdesk"}
	for name, test := range map[string]struct {
		claims           map[string]any // changed ones of the ID token; nil: no ID token
		user, introspect map[string]any // answers; nil: no such address
		elsewhere        bool           // these addresses are on a host that was not confirmed
		want             string
	}{
		"the ID token first":             {map[string]any{}, user, active, false, "support@northwind.com"},
		"an audience of several":         {map[string]any{"aud": []string{"x", "client-1"}}, nil, nil, false, "support@northwind.com"},
		"without a verified address":     {map[string]any{"email_verified": false, "preferred_username": "sue"}, nil, nil, false, "sue"},
		"invisible characters are shown": {map[string]any{"email": "a\u202eb@x.com"}, nil, nil, false, "a⟨U+202E⟩b@x.com"},
		"an ID token of another issuer":  {map[string]any{"iss": "https://evil.example.com"}, nil, nil, false, ""},
		"an ID token for another client": {map[string]any{"aud": "other"}, nil, nil, false, ""},
		"an ID token that has ended":     {map[string]any{"exp": 1}, user, nil, false, "user@northwind.com"},
		"userinfo":                       {nil, user, active, false, "user@northwind.com"},
		"userinfo without a name":        {nil, map[string]any{"sub": "17"}, active, false, "helpdesk"},
		"introspection":                  {nil, nil, active, false, "helpdesk"},
		"introspection of a dead token":  {nil, nil, map[string]any{"active": false, "username": "helpdesk"}, false, ""},
		"hosts that were not confirmed":  {nil, user, active, true, ""},
		"a server that does not say":     {nil, nil, nil, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newSignIn(t)
			a.metadata = map[string]any{"scopes_supported": []string{"openid", "email", "admin"}}
			a.answer = map[string]any{}
			if test.claims != nil {
				a.answer["id_token"] = idToken(claims(a, test.claims))
			}
			serve := func(member, path string, answer map[string]any, want func(r *http.Request) bool) {
				if answer == nil {
					return
				}
				at := a.URL
				if test.elsewhere {
					at = "https://elsewhere.example.com"
				}
				a.metadata[member] = at + path
				a.mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
					if test.elsewhere || !want(r) {
						t.Errorf("%s was asked with %v", path, r.Header)
					}
					_ = json.NewEncoder(w).Encode(answer)
				})
			}
			serve("userinfo_endpoint", "/userinfo", test.user, func(r *http.Request) bool { return r.Header.Get("Authorization") == "Bearer access-1" })
			serve("introspection_endpoint", "/introspect", test.introspect, func(r *http.Request) bool {
				return r.FormValue("token") == "access-1" && r.FormValue("client_id") == "client-1"
			})
			n := mcpclient.ReadConnection(a.connect(t, newClient(t)).secret)
			if n.Account != test.want || n.Scope != "read write openid email" || n.Granted != n.Scope {
				t.Errorf("connected as %q, want %q; scopes %q of %q", n.Account, test.want, n.Granted, n.Scope)
			}
		})
	}
}

// TestConnect_keeps_the_scopes_that_were_granted and asks for none beside the usual ones of a server that names none.
func TestConnect_keeps_the_scopes_that_were_granted(t *testing.T) {
	t.Parallel()
	a := newSignIn(t)
	a.metadata = map[string]any{"scopes_supported": []string{"openid", "email"}}
	a.resource = map[string]any{"scopes_supported": nil}
	a.answer = map[string]any{"scope": " read  only "}
	v := a.connect(t, newClient(t))
	if n := mcpclient.ReadConnection(v.secret); n.Scope != "" || n.Granted != "read only" || n.Account != "" {
		t.Errorf("asked for %q, got %q as %q", n.Scope, n.Granted, n.Account)
	}
	if n := mcpclient.ReadConnection(mcpclient.Disconnect(v.secret, "Ada has left.")); n.Account != "" || n.Granted != "read only" {
		t.Errorf("left is %+v", n)
	}
}
