package mcpclient

import (
	"context"
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"sluice/flow"
	"sluice/flow/value"
	"sluice/flow/wording"
	"sluice/outbound"
)

const (
	// accountTime bounds how long an authorization server may take to say who has signed in.
	accountTime = 10 * time.Second
	// maxAccount is the length of a name, in characters.
	maxAccount = 200
)

// identity takes over where the authorization server says who has signed in, from what it says about itself, and asks for the scopes
// of that. Other hosts than those that the person confirms are left out. Without scopes, the server grants its usual ones, which
// would be lost with others.
func (a *Addresses) identity(s *Server, about *flow.Object) {
	hosts := a.Hosts()
	for place, name := range map[*string]string{&a.UserInfo: "userinfo_endpoint", &a.Introspect: "introspection_endpoint"} {
		text := flow.Text(about.Get(name))
		if u, err := url.Parse(text); err == nil && isSecure(text, s.URL) && slices.Contains(hosts, u.Host) {
			*place = text
		}
	}
	offered, _ := about.Get("scopes_supported").([]any)
	wanted := strings.Fields(a.Scope)
	for _, scope := range []string{"openid", "email"} {
		if len(wanted) > 0 && slices.Contains(offered, any(scope)) && !slices.Contains(wanted, scope) {
			wanted = append(wanted, scope)
		}
	}
	a.Scope = strings.Join(wanted, " ")
}

// account returns who has signed in: by the ID token, the userinfo endpoint or an introspection of the access token, whichever says
// it first. It is empty if the server does not say. The name is only shown, so nothing that fails here fails the sign-in.
func (c *Client) account(ctx context.Context, s *Server, n *Connection, idToken string) string {
	ctx, cancel := context.WithTimeout(ctx, accountTime)
	defer cancel()
	if name := accountIn(n.claims(idToken, c.now())); name != "" {
		return name
	}
	header := http.Header{"Accept": {"application/json"}, "Authorization": {"Bearer " + n.Access}}
	if n.UserInfo != "" {
		if status, o, err := c.askJSON(ctx, s, outbound.Request{URL: n.UserInfo, Header: header}); err == nil && status == http.StatusOK {
			if name := accountIn(o); name != "" {
				return name
			}
		}
	}
	if n.Introspect != "" {
		status, o, err := c.askJSON(ctx, s, n.form(n.Introspect, url.Values{"token": {n.Access}, "token_type_hint": {"access_token"}}))
		if err == nil && status == http.StatusOK && o.Get("active") == true {
			return accountIn(o)
		}
	}
	return ""
}

// claims returns the claims of an ID token for this client; an empty object for another one. A token that comes straight from the
// token endpoint needs no check of its signature (OpenID Connect Core 1.0, section 3.1.3.7).
func (n *Connection) claims(idToken string, now time.Time) *flow.Object {
	none := &flow.Object{}
	parts := strings.Split(idToken, ".")
	if len(parts) != 3 {
		return none
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return none
	}
	v, err := value.DecodeReceived(text)
	o, isObject := flow.AsObject(v)
	if err != nil || !isObject {
		return none
	}
	audience, isList := o.Get("aud").([]any)
	if !isList {
		audience = []any{o.Get("aud")}
	}
	end, hasEnd := flow.Float(o.Get("exp"))
	if o.Get("iss") != n.Issuer || !slices.Contains(audience, any(n.Client.ID)) || !hasEnd || now.Unix() > int64(end)+int64(tokenMargin.Seconds()) {
		return none
	}
	return o
}

// accountIn returns the name for people in claims.
func accountIn(o *flow.Object) string {
	for _, name := range []string{"email", "preferred_username", "username", "name"} {
		if text := strings.TrimSpace(flow.Text(o.Get(name))); text != "" && (name != "email" || o.Get("email_verified") != false) {
			return wording.Truncate(flow.ShowInvisible(wording.OneLine(text)), maxAccount)
		}
	}
	return ""
}
