package forms

import (
	"net/http"
	"time"

	"sluice/flow"
	"sluice/handlers/web"
	formsview "sluice/views/forms"
)

// passLife is how long a visitor need not give the password again.
const passLife = 12 * time.Hour

// admitted is a handler of a form whose password, if it has one, was given. Who
// did not give it is asked for it.
func admitted(handle func(*visit) error) func(*call) error {
	return passing(handle, func(v *visit) error { return v.askPassword(http.StatusOK, v.Param("ticket"), "") })
}

// following is admitted for what a script reads: refused, it loads its page anew,
// and that asks.
func following(handle func(*visit) error) func(*call) error {
	return passing(handle, func(v *visit) error {
		v.hide()
		return errNoPass
	})
}

func passing(handle, refuse func(*visit) error) func(*call) error {
	return visiting(func(v *visit) error {
		if v.form.PasswordHash != "" && !v.passes() {
			return refuse(v)
		}
		return handle(v)
	})
}

var errNoPass = web.NewError(http.StatusForbidden, "This asks for a password. Load the page again to give it.")

func (v *visit) passes() bool {
	cookie, err := v.Cookie(v.passCookie())
	return err == nil && v.s.seals.Passes(v.form, cookie.Value, v.s.Now())
}

func (v *visit) passCookie() string {
	if v.s.Encrypted() {
		return "__Secure-form"
	}
	return "sluice_form"
}

// askPassword tells nothing of the form: not even what it is called.
func (v *visit) askPassword(status int, ticket, trouble string) error {
	if v.Request().Method == http.MethodPost && status == http.StatusOK {
		status = http.StatusForbidden
	}
	v.hide()
	return v.Render(status, formsview.FormPassword(v.public("Password"), formsview.PasswordAsk{Ticket: ticket, Error: trouble}))
}

// hide keeps an answer out of search engines, and its address from other sites.
func (v *visit) hide() {
	h := v.Response().Header()
	h.Set("X-Robots-Tag", "noindex, nofollow")
	h.Set("Cache-Control", "no-store")
}

// takePassword is POST password. Failures slow the address down, for this form
// and for all that can be guessed at here.
func (v *visit) takePassword() error {
	if err := v.call.ParseForm(); err != nil {
		return err
	}
	ticket := v.FormValue("ticket")
	if v.form.PasswordHash == "" {
		return v.Redirect(v.wanted(ticket))
	}
	where := web.RateLimitKey(v.IP())
	one := flow.Try{Name: web.AttemptKey("form", v.flow.ID+" "+where), Free: web.FreeTriesPerAccount}
	all := flow.Try{Name: web.AttemptKey("address", where), Free: web.FreeTriesPerAddress}
	wait, err := v.s.Store.TakeTry(v.Ctx(), one, all)
	if err != nil {
		return err
	}
	if wait > 0 {
		v.RetryAfter(wait)
		return v.askPassword(http.StatusTooManyRequests, ticket, "Too many tries. The next one is possible in "+web.WaitText(wait)+".")
	}
	fits, err := v.s.Hasher.Matches(v.Ctx(), v.FormValue("password"), v.form.PasswordHash)
	if err != nil {
		return err
	}
	if !fits {
		return v.askPassword(http.StatusUnprocessableEntity, ticket, "This is not the password.")
	}
	if err := v.s.Store.ForgiveTry(v.Ctx(), one.Name, all.Name); err != nil {
		return err
	}
	v.givePass()
	return v.Redirect(v.wanted(ticket))
}

// wanted is where somebody was going who was asked for the password.
func (v *visit) wanted(ticket string) string {
	if ticket == "" {
		return v.path()
	}
	return v.runPath(ticket)
}

// givePass sets the cookie of who knows the password. Inside a page of another
// site browsers keep it only apart from that of other sites, and only over an
// encrypted connection.
func (v *visit) givePass() {
	until := v.s.Now().Add(passLife)
	cookie := &http.Cookie{
		Name: v.passCookie(), Value: v.s.seals.Pass(v.form, until), Path: v.path(), MaxAge: int(passLife.Seconds()),
		HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: v.s.Encrypted(),
	}
	if v.s.Encrypted() && len(v.form.Origins) > 0 {
		cookie.SameSite, cookie.Partitioned = http.SameSiteNoneMode, true
	}
	v.SetCookie(cookie)
}
