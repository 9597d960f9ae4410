package forms

import (
	"net/http"
	"time"

	"sluice/flow/fairness"
	"sluice/handlers/web"
	formsview "sluice/views/forms"
)

// passLife is the time after which a visitor has to enter the password again.
const passLife = 12 * time.Hour

// withPassword wraps a handler of a form. If the form has a password that the
// visitor has not entered yet, the response is a page that asks for it.
func withPassword(handle func(*formCall) error) func(*call) error {
	return checkPassword(handle, func(v *formCall) error { return v.askPassword(http.StatusOK, v.Param("ticket"), "") })
}

// withPasswordForScript is withPassword for requests by scripts. They get an
// error instead of a page; the script then reloads its page, which asks for the
// password.
func withPasswordForScript(handle func(*formCall) error) func(*call) error {
	return checkPassword(handle, func(v *formCall) error {
		v.setPrivateHeaders()
		return errPasswordRequired
	})
}

// checkPassword calls handle if the form has no password or the visitor has entered
// it, and renderRefusal otherwise.
func checkPassword(handle, renderRefusal func(*formCall) error) func(*call) error {
	return onForm(func(v *formCall) error {
		if v.form.PasswordHash != "" && !v.hasPass() {
			return renderRefusal(v)
		}
		return handle(v)
	})
}

var errPasswordRequired = web.NewError(http.StatusForbidden, "This form needs a password. Reload the page and enter it.")

// hasPass reports whether the visitor entered the current password of the form
// within passLife.
func (v *formCall) hasPass() bool {
	cookie, err := v.Cookie(v.passCookie())
	return err == nil && v.s.seals.VerifyPass(v.form, cookie.Value, v.s.Now())
}

// passCookie returns the name of the cookie for visitors who entered the
// password. Browsers accept the prefix __Secure- only over HTTPS. The prefix
// __Host- is not possible, because the cookie is limited to the path of the
// form.
func (v *formCall) passCookie() string {
	if v.s.Encrypted() {
		return "__Secure-form"
	}
	return "sluice_form"
}

// askPassword renders the page that asks for the password. It shows nothing
// about the form, not even its title.
func (v *formCall) askPassword(status int, ticket, problem string) error {
	if v.Request().Method == http.MethodPost && status == http.StatusOK {
		status = http.StatusForbidden
	}
	v.setPrivateHeaders()
	return v.Render(status, formsview.FormPassword(v.publicPage("Password"), formsview.PasswordAsk{Ticket: ticket, Error: problem}))
}

// setPrivateHeaders keeps a response out of search engines and caches.
func (v *formCall) setPrivateHeaders() {
	h := v.Response().Header()
	h.Set("X-Robots-Tag", "noindex, nofollow")
	h.Set("Cache-Control", "no-store")
}

// submitPassword is POST password. To slow down guessing, failed attempts are counted
// per form and address, and per address together with all other passwords.
func (v *formCall) submitPassword() error {
	if err := v.call.ParseForm(); err != nil {
		return err
	}
	ticket := v.FormValue("ticket")
	if v.form.PasswordHash == "" {
		return v.Redirect(v.destination(ticket))
	}
	address := web.RateLimitKey(v.IP())
	perForm := fairness.Try{Name: web.AttemptKey("form", string(v.flow.ID)+" "+address), Free: web.FreeTriesPerAccount}
	perAddress := fairness.Try{Name: web.AttemptKey("address", address), Free: web.FreeTriesPerAddress}
	wait, err := v.s.Store.TakeTry(v.Ctx(), perForm, perAddress)
	if err != nil {
		return err
	}
	if wait > 0 {
		v.RetryAfter(wait)
		return v.askPassword(http.StatusTooManyRequests, ticket, "Too many attempts. Try again in "+web.WaitText(wait)+".")
	}
	matches, err := v.s.Hasher.Matches(v.Ctx(), v.FormValue("password"), v.form.PasswordHash)
	if err != nil {
		return err
	}
	if !matches {
		return v.askPassword(http.StatusUnprocessableEntity, ticket, "Wrong password.")
	}
	if err := v.s.Store.ForgiveTry(v.Ctx(), perForm.Name, perAddress.Name); err != nil {
		return err
	}
	v.setPassCookie()
	return v.Redirect(v.destination(ticket))
}

// destination returns the page that the visitor requested before entering the
// password.
func (v *formCall) destination(ticket string) string {
	if ticket == "" {
		return v.path()
	}
	return v.runPath(ticket)
}

// setPassCookie sets the cookie of a visitor who entered the password. Inside a
// frame of another site, browsers keep it only as a partitioned cookie (CHIPS),
// separate from those of other sites, and only over HTTPS.
func (v *formCall) setPassCookie() {
	expires := v.s.Now().Add(passLife)
	cookie := &http.Cookie{
		Name: v.passCookie(), Value: v.s.seals.Pass(v.form, expires), Path: v.path(), MaxAge: int(passLife.Seconds()),
		HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: v.s.Encrypted(),
	}
	if v.s.Encrypted() && len(v.form.Origins) > 0 {
		cookie.SameSite, cookie.Partitioned = http.SameSiteNoneMode, true
	}
	v.SetCookie(cookie)
}
