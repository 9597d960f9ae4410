package account

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"time"

	"sluice/flow"
	"sluice/flow/people"
	"sluice/handlers/web"
	"sluice/outbound/oidc"
	accountview "sluice/views/account"
	"sluice/views/components"
)

// providerRoutes returns the routes of signing in with an identity provider.
func (s *Server) providerRoutes() []route {
	return []route{
		{"GET", "/sign-in/with/:provider", web.Open, s.startProvider},
		{"GET", "/sign-in/callback/:provider", web.Open, s.finishProvider},
	}
}

// findProvider returns the provider of the path.
func (c *call) findProvider() (*oidc.Provider, error) {
	for _, p := range c.s.Providers {
		if p.ID == c.Param("provider") {
			return p, nil
		}
	}
	return nil, web.ErrNotFound
}

// providerLinks returns the links of the sign-in page to the providers.
func (c *call) providerLinks(next string) (links []accountview.ProviderLink) {
	for _, p := range c.s.Providers {
		href := "/sign-in/with/" + p.ID
		if next != "" {
			href += "?" + url.Values{"next": {next}}.Encode()
		}
		links = append(links, accountview.ProviderLink{Name: p.Name, Href: href})
	}
	return links
}

// callbackURL returns the URL to which a provider sends people back.
func (s *Server) callbackURL(p *oidc.Provider) string {
	return s.PublicURL + "/sign-in/callback/" + p.ID
}

// attemptLife is how long a sign-in at a provider may take.
const attemptLife = 10 * time.Minute

// attemptCookie is the name of the cookie with the oidc.Attempt. The cookie binds the answer of the provider to the
// browser, whichever instance receives it.
func (s *Server) attemptCookie() string {
	if s.Encrypted() {
		return "__Host-sign-in"
	}
	return "sluice_sign_in"
}

// setAttempt stores an attempt in the browser, or removes it with a nil value.
func (c *call) setAttempt(a *oidc.Attempt) {
	cookie := &http.Cookie{Name: c.s.attemptCookie(), Path: "/", MaxAge: -1, HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: c.s.Sessions.Cookie.Secure}
	if a != nil {
		text, _ := json.Marshal(a)
		cookie.Value, cookie.MaxAge = base64.RawURLEncoding.EncodeToString(text), int(attemptLife.Seconds())
	}
	c.SetCookie(cookie)
}

// attempt returns the attempt of the browser. Without one it is empty, which no answer matches.
func (c *call) attempt() (a oidc.Attempt) {
	cookie, err := c.Cookie(c.s.attemptCookie())
	if err != nil {
		return a
	}
	text, err := base64.RawURLEncoding.DecodeString(cookie.Value)
	if err != nil || json.Unmarshal(text, &a) != nil {
		return oidc.Attempt{}
	}
	return a
}

// maxNext is the maximum length of the page to go to, which is part of a cookie.
const maxNext = 2000

// startProvider is GET /sign-in/with/{provider}: it sends the browser to the provider.
func (s *Server) startProvider(c *call) error {
	p, err := c.findProvider()
	if err != nil {
		return err
	}
	to, a, err := p.Start(c.Ctx(), s.callbackURL(p))
	if err != nil {
		return c.refuseProvider(p, err)
	}
	if next := web.LocalPath(c.QueryParam("next")); len(next) <= maxNext {
		a.Next = next
	}
	c.setAttempt(&a)
	return c.redirectAway(to)
}

// redirectAway redirects to another site.
func (c *call) redirectAway(to string) error {
	c.Response().Header().Set("Cache-Control", "no-store")
	return c.Exchange.Redirect(http.StatusSeeOther, to)
}

// finishProvider is GET /sign-in/callback/{provider}: it signs in the person whom the provider sends back.
func (s *Server) finishProvider(c *call) error {
	p, err := c.findProvider()
	if err != nil {
		return err
	}
	a := c.attempt()
	c.setAttempt(nil) // it works once
	person, err := p.Finish(c.Ctx(), a, s.callbackURL(p), c.QueryParams())
	if err != nil {
		return c.refuseProvider(p, err)
	}
	id := identityOf(p, person)
	u, err := s.identities.SignIn(c.Ctx(), c.IP(), id)
	if errors.Is(err, flow.ErrEmailTaken) { // a concurrent request created the user
		u, err = s.identities.SignIn(c.Ctx(), c.IP(), id)
	}
	later := pending{Next: a.Next, Identity: &id, Provider: p.ID, IDToken: person.IDToken}
	switch {
	case errors.Is(err, people.ErrConfirmOwner):
		if err := c.holdSignIn(later); err != nil {
			return err
		}
		return c.Redirect("/sign-in/confirm")
	case err != nil:
		return c.refuseProvider(p, err)
	}
	return c.complete(u, later)
}

// identityOf returns the person as the library knows them. An address outside of the domains of the provider does not
// count.
func identityOf(p *oidc.Provider, person *oidc.Person) people.Identity {
	id := people.Identity{
		Issuer: person.Issuer, Subject: person.Subject, Provider: p.Name, Name: person.Name,
		WorkspaceID: flow.WorkspaceID(p.Workspace), Role: flow.MemberRole(person.Role), Mapped: person.Mapped,
	}
	if id.WorkspaceID == "" {
		id.WorkspaceID = flow.DefaultWorkspace
	}
	if checkEmail(person.Email) == "" && p.Allows(person.Email) {
		id.Email = person.Email
	}
	return id
}

// refuseProvider shows the sign-in page with the reason why a sign-in at a provider failed. Details are only logged.
func (c *call) refuseProvider(p *oidc.Provider, err error) error {
	status, text := http.StatusBadGateway, p.Name+" cannot be reached. Try again in a moment, or ask the operator of this server."
	e, public := errors.AsType[*flow.Error](err)
	switch {
	case c.Ctx().Err() != nil:
		return err
	case errors.Is(err, oidc.ErrDeclined):
		status, text = http.StatusForbidden, p.Name+" did not sign you in. Try again."
	case errors.Is(err, oidc.ErrInvalid):
		status, text = http.StatusForbidden, "The sign-in with "+p.Name+" has expired or is not valid. Try again."
	case public && e.Code == flow.CodeInputInvalid:
		status, text = http.StatusForbidden, e.Message
	case public:
		return err
	}
	c.s.Log.Warn("sign-in with an identity provider failed", "request_id", c.RequestID(), "provider", p.ID, "error", err)
	return c.renderSignIn(status, accountview.SignInForm{Errors: components.Errors{"": text}})
}

// signOutURL returns the name of the provider that signed the user in, and the URL at which they sign out there. Both
// are empty for other sessions, and if the provider has no such URL.
func (c *call) signOutURL() (name, to string) {
	method := c.s.Sessions.GetString(c.Ctx(), web.SessionMethod)
	for _, p := range c.s.Providers {
		if method == web.MethodProvider+p.ID {
			return p.Name, p.SignOutURL(c.Ctx(), c.s.Sessions.GetString(c.Ctx(), web.SessionIDToken), c.s.PublicURL+"/sign-in")
		}
	}
	return "", ""
}

// renderSignedOut renders the page that continues to signing out at the provider. The response of a form must not
// redirect to another site: the content security policy forbids it.
func (c *call) renderSignedOut(name, to string) error {
	if c.Request().Header.Get("HX-Request") == "true" {
		return c.Redirect(to)
	}
	c.Response().Header().Set("Refresh", "0; url="+to)
	return c.Render(http.StatusOK, accountview.SignedOut(c.Page("Signed out", ""), accountview.ProviderLink{Name: name, Href: to}))
}
