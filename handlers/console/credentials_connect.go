package console

import (
	"crypto/rand"
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"

	"sluice/flow"
	"sluice/flow/people"
	"sluice/flow/wording"
	"sluice/handlers/web"
	"sluice/views/components"
	consoleview "sluice/views/console"
	"sluice/views/layout"
)

// oauthCallback is the path to which authorization servers send people back.
const oauthCallback = "/oauth/callback"

// connector returns what connects MCP servers, or an error for a credential of something else.
func connector(c *call, k *flow.Credential) (people.Connector, error) {
	if to, can := c.s.Providers.(people.Connector); can && k.Provider == flow.ProviderMCP {
		return to, nil
	}
	return nil, flow.Errorf(flow.CodeInputInvalid, "Only MCP servers are connected by signing in. %s is something else.", k.Name)
}

// Connection describes the connection of a credential; nil for a credential of something else than an MCP server.
func (s *Server) Connection(c *web.Call, k *flow.Credential) *components.Connection {
	to, can := s.Providers.(people.Connector)
	if !can || k.Provider != flow.ProviderMCP {
		return nil
	}
	v := &components.Connection{}
	_, secret, err := s.Store.OpenCredential(c.Ctx(), c.WorkspaceID(), k.Name)
	if err != nil {
		return v // the page says so
	}
	if n := to.Connected(secret); n != nil {
		*v = components.Connection{Connected: true, Issuer: n.Issuer, At: n.At, Account: n.Account, Scope: n.Scope, Dead: wording.Sentence(n.Dead), By: c.UserNames()(n.By)}
	}
	return v
}

// connectCredential is POST /credentials/{name}/connect. It shows where the person would sign in; with the digest of what was shown,
// it begins the sign-in.
func connectCredential(c *call, k flow.Credential) error {
	to, err := connector(c, &k)
	if err != nil {
		return err
	}
	page := consoleview.ConnectPage{Name: k.Name, URL: k.BaseURL, ClientID: c.Trimmed("client_id"), NeedsPassword: c.NeedsPassword(), Redirect: c.s.PublicURL + oauthCallback, Errors: components.Errors{}}
	render := func(status int) error {
		return c.Render(status, consoleview.Connect(c.Page("Connect "+k.Name, layout.SectionCredentials), page))
	}
	s, err := to.Discover(c.Ctx(), k)
	if err != nil {
		page.Errors[""] = flow.AsError(err).Message
		return render(http.StatusUnprocessableEntity)
	}
	document := c.s.clientDocumentURL()
	page.Known = page.ClientID == "" && s.Document && document != ""
	page.Issuer, page.Authorize, page.Token, page.Register, page.Hosts, page.Digest = s.Issuer, s.Authorize, s.Token, s.Register, strings.Join(s.Hosts, ", "), s.Digest
	switch seen := c.FormValue("digest"); {
	case seen == "":
		return render(http.StatusOK)
	case seen != s.Digest:
		page.Errors[""] = "The server names other addresses than before. Check them again."
		return render(http.StatusUnprocessableEntity)
	case s.Register == "" && page.ClientID == "" && !page.Known:
		page.Errors["client_id"] = "Enter the client ID that the service gave you."
		return render(http.StatusUnprocessableEntity)
	}
	if page.NeedsPassword {
		ok, wait, err := c.ConfirmPassword(c.FormValue("password"))
		switch {
		case err != nil:
			return err
		case wait > 0:
			c.RetryAfter(wait)
			page.Errors["password"] = "Too many attempts. Try again in " + web.WaitText(wait) + "."
			return render(http.StatusTooManyRequests)
		case !ok:
			page.Errors["password"] = "Wrong password. Enter your current password."
			return render(http.StatusUnprocessableEntity)
		}
	}
	begin := people.ConnectBegin{ClientID: page.ClientID, ClientSecret: c.Trimmed("client_secret"), Session: c.SessionID(), Redirect: c.s.PublicURL + oauthCallback, Document: document,
		State: rand.Text() + "." + base64.RawURLEncoding.EncodeToString([]byte(k.Name))}
	change, address, err := to.Begin(c.Ctx(), k, s, begin)
	if err != nil {
		page.Errors[""] = flow.AsError(err).Message
		return render(http.StatusUnprocessableEntity)
	}
	if err := c.s.credentials.BeginConnect(c.Ctx(), k, change); err != nil {
		return err
	}
	page.Continue = address
	return render(http.StatusOK)
}

// finishConnect is GET /oauth/callback.
func finishConnect(c *call) error {
	state := c.QueryParam("state")
	_, encoded, _ := strings.Cut(state, ".")
	name, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil || len(name) == 0 {
		return flow.Errorf(flow.CodeInputInvalid, "This is not an answer to a sign-in that Sluice began. Open Credentials and connect again.")
	}
	k, err := c.s.Store.FindCredential(c.Ctx(), c.WorkspaceID(), string(name))
	if err != nil {
		return err
	}
	to, err := connector(c, &k)
	if err != nil {
		return err
	}
	failed := strings.TrimSpace(c.QueryParam("error") + " " + c.QueryParam("error_description"))
	if failed != "" {
		failed = wording.Period(wording.Truncate(wording.OneLine(failed), 300))
	}
	err = c.s.credentials.FinishConnect(c.Ctx(), c.Actor(), to, k, people.ConnectAnswer{
		State: state, Code: c.QueryParam("code"), Issuer: c.QueryParam("iss"), Failed: failed,
		Session: c.SessionID(), Redirect: c.s.PublicURL + oauthCallback, PersonID: c.Member.UserID,
	})
	if err != nil {
		e := flow.AsError(err)
		if e.Code == flow.CodeInternal {
			return err
		}
		c.Toast(components.ToneBad, e.Message)
	} else {
		c.Toast(components.ToneOK, "“"+k.Name+"” is connected.")
	}
	return c.Redirect("/credentials/" + url.PathEscape(k.Name))
}

// disconnectCredential is POST /credentials/{name}/disconnect.
func disconnectCredential(c *call, k flow.Credential) error {
	to, err := connector(c, &k)
	if err != nil {
		return err
	}
	ends := people.Connections{Store: c.s.Store, Connector: to}
	if err := ends.End(c.Ctx(), c.Actor(), k.WorkspaceID, k.Name); err != nil {
		return err
	}
	c.Toast(components.ToneOK, "“"+k.Name+"” is disconnected.")
	return c.Redirect("/credentials/" + url.PathEscape(k.Name))
}

// clientDocument is the path at which authorization servers read who Sluice is, instead of registering it.
const clientDocument = "/oauth/client.json"

// clientDocumentURL returns the URL of the document, which is the ID of Sluice as a client; "" if authorization servers cannot read it,
// because Sluice has no https address.
func (s *Server) clientDocumentURL() string {
	if strings.HasPrefix(s.PublicURL, "https://") {
		return s.PublicURL + clientDocument
	}
	return ""
}

// showClientDocument is GET /oauth/client.json.
func showClientDocument(c *call) error {
	at := c.s.clientDocumentURL()
	if at == "" {
		return web.ErrNotFound
	}
	c.Response().Header().Set("Cache-Control", "public, max-age=3600")
	return c.JSONBlob(http.StatusOK, flow.EncodeJSON(map[string]any{
		"client_id": at, "client_name": "Sluice", "client_uri": c.s.PublicURL, "redirect_uris": []any{c.s.PublicURL + oauthCallback},
		"grant_types": []any{"authorization_code", "refresh_token"}, "response_types": []any{"code"}, "token_endpoint_auth_method": "none",
	}))
}
