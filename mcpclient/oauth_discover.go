package mcpclient

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"sluice/flow"
	"sluice/flow/value"
	"sluice/flow/wording"
	"sluice/outbound"
)

// metadataAddress matches the address of the metadata in the header of a server that wants a token.
var metadataAddress = regexp.MustCompile(`(?i)\bresource_metadata="([^"]{1,1000})"`)

// Discover finds out where a person signs in to a server: by the metadata of the protected resource (RFC 9728) and that of its
// authorization server (RFC 8414 and its older form). It sends no secret.
func (c *Client) Discover(ctx context.Context, s Server) (*Addresses, error) {
	at, err := outbound.ParseURL(s.URL)
	if err != nil {
		return nil, &Error{Class: ClassRefused, Message: err.Error()}
	}
	a := &Addresses{Resource: s.URL, Issuer: at.Scheme + "://" + at.Host}
	resource, err := c.resourceMetadata(ctx, &s, at)
	if err != nil {
		return nil, err
	}
	if resource != nil {
		name := flow.Text(resource.Get("resource"))
		if named, err := outbound.ParseURL(name); err != nil || named.Scheme != at.Scheme || !strings.EqualFold(named.Host, at.Host) || !strings.HasPrefix(strings.TrimRight(at.Path, "/")+"/", strings.TrimRight(named.Path, "/")+"/") {
			return nil, unsafe(&s, "describes another server, %q, so a token for it would not be its own", wording.Truncate(name, 200))
		}
		issuers, _ := resource.Get("authorization_servers").([]any)
		if len(issuers) == 0 {
			return nil, unsafe(&s, "names no authorization server")
		}
		a.Resource, a.Issuer = name, flow.Text(issuers[0])
		a.Scope = scopes(resource.Get("scopes_supported"))
	}
	if !isSecure(a.Issuer, s.URL) {
		return nil, unsafe(&s, "names the authorization server %q, which is not an https address", wording.Truncate(a.Issuer, 200))
	}
	about, err := c.issuerMetadata(ctx, &s, a.Issuer)
	if err != nil {
		return nil, err
	}
	if named := flow.Text(about.Get("issuer")); named != a.Issuer {
		return nil, unsafe(&s, "names the authorization server %s, which says that it is %q", a.Issuer, wording.Truncate(named, 200))
	}
	methods, _ := about.Get("code_challenge_methods_supported").([]any)
	if !slices.Contains(methods, any("S256")) {
		return nil, unsafe(&s, "has an authorization server without PKCE (S256), which is not secure")
	}
	a.Authorize, a.Token, a.Register = flow.Text(about.Get("authorization_endpoint")), flow.Text(about.Get("token_endpoint")), flow.Text(about.Get("registration_endpoint"))
	a.identity(&s, about)
	a.Document = about.Get("client_id_metadata_document_supported") == true
	a.NamesIssuer = about.Get("authorization_response_iss_parameter_supported") == true
	if ways, isList := about.Get("token_endpoint_auth_methods_supported").([]any); isList {
		a.SecretInBody = !slices.Contains(ways, any("client_secret_basic")) && slices.Contains(ways, any("client_secret_post"))
	}
	return a, a.check(&s)
}

// maxScope is the length of a list of scopes.
const maxScope = 1000

// scopes joins the scopes that a server names.
func scopes(v any) string {
	list, _ := v.([]any)
	var names []string
	for _, item := range list {
		if name := flow.Text(item); name != "" && !strings.ContainsAny(name, " \t\r\n\"\\") && len(names) < 50 {
			names = append(names, name)
		}
	}
	return wording.Truncate(strings.Join(names, " "), maxScope)
}

// resourceMetadata returns what a server says about itself: at the address that it names when it refuses a request, or at the
// well-known ones. It is nil if there is nothing.
func (c *Client) resourceMetadata(ctx context.Context, s *Server, at *url.URL) (*flow.Object, error) {
	const wellKnown = "/.well-known/oauth-protected-resource"
	root := at.Scheme + "://" + at.Host
	list := []string{root + wellKnown + strings.TrimRight(at.EscapedPath(), "/"), root + wellKnown}
	answer, err := c.http.Do(ctx, outbound.Request{
		Method: http.MethodPost, URL: s.URL, MaxBody: maxTokenAnswer, Truncate: true, Timeout: tokenTimeout, Provider: s.Trusted,
		Header: http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}},
		Body:   []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`),
	})
	if err != nil {
		return nil, &Error{Class: ClassUnreachable, Message: "The connection to " + s.Name + " failed: " + wording.Period(err.Error()), Cause: err}
	}
	if found := metadataAddress.FindStringSubmatch(strings.Join(answer.Header.Values("WWW-Authenticate"), ", ")); found != nil {
		if !isSecure(found[1], s.URL) || !sameHost(found[1], s.URL) {
			return nil, unsafe(s, "describes itself at %q, which is not an https address of its own host", wording.Truncate(found[1], 200))
		}
		list = []string{found[1]}
	}
	return c.firstJSON(ctx, s, list)
}

// issuerMetadata returns what an authorization server says about itself.
func (c *Client) issuerMetadata(ctx context.Context, s *Server, issuer string) (*flow.Object, error) {
	u, err := url.Parse(issuer)
	if err != nil {
		return nil, unsafe(s, "names an authorization server that is no address")
	}
	root, path := u.Scheme+"://"+u.Host, strings.TrimRight(u.EscapedPath(), "/")
	list := []string{root + "/.well-known/oauth-authorization-server" + path, root + "/.well-known/openid-configuration" + path}
	if path != "" {
		list = append(list, root+path+"/.well-known/openid-configuration")
	}
	about, err := c.firstJSON(ctx, s, list)
	if err == nil && about == nil {
		err = unsafe(s, "does not say where to sign in: %s has no description of an authorization server. Use a token of the service instead", issuer)
	}
	return about, err
}

// firstJSON returns the object at the first of some addresses that has one; nil if none has.
func (c *Client) firstJSON(ctx context.Context, s *Server, list []string) (*flow.Object, error) {
	for _, address := range list {
		status, o, err := c.askJSON(ctx, s, outbound.Request{URL: address, Header: http.Header{"Accept": {"application/json"}}})
		switch {
		case err != nil:
			return nil, err
		case status == http.StatusOK && o.Len() > 0:
			return o, nil
		case status == http.StatusOK || status >= 500:
			return nil, unsafe(s, "gives no JSON object at %s", wording.Truncate(address, 200))
		}
	}
	return nil, nil
}

// maxClientText is the length of the ID and the secret of a client.
const maxClientText = 4000

// Register makes Sluice known to an authorization server (RFC 7591).
func (c *Client) Register(ctx context.Context, s Server, a *Addresses, redirect string) (OAuthClient, error) {
	if err := a.check(&s); err != nil {
		return OAuthClient{}, err
	}
	body, _ := json.Marshal(map[string]any{
		"client_name": "Sluice", "redirect_uris": []string{redirect}, "grant_types": []string{"authorization_code", "refresh_token"},
		"response_types": []string{"code"}, "token_endpoint_auth_method": "none", "scope": a.Scope,
	})
	status, o, err := c.askJSON(ctx, &s, outbound.Request{Method: http.MethodPost, URL: a.Register, Body: body, Header: http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json"}}})
	if err != nil {
		return OAuthClient{}, err
	}
	client := OAuthClient{ID: flow.Text(o.Get("client_id")), Secret: flow.Text(o.Get("client_secret"))}
	if status != http.StatusOK && status != http.StatusCreated || client.ID == "" || len(client.ID)+len(client.Secret) > maxClientText {
		why := wording.Truncate(wording.OneLine(strings.TrimSpace(flow.Text(o.Get("error"))+" "+flow.Text(o.Get("error_description"))+" (status "+statusText(status)+")")), 300)
		return OAuthClient{}, &Error{Class: ClassAuth, Message: "The authorization server of " + s.Name + " does not register clients automatically: " + wording.Period(why) + " Enter a client ID of the service."}
	}
	a.SecretInBody = a.SecretInBody || value.Plain(o.Get("token_endpoint_auth_method")) == "client_secret_post"
	return client, nil
}
