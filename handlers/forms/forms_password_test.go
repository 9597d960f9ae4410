package forms_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"sluice/flow"
	"sluice/flow/forms"
	"sluice/handlers/passwords"
	"sluice/handlers/web"
	"sluice/handlers/webtest"
)

func TestFormPassword(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id := h.FormOf(webtest.TicketRouting, func(f *forms.Form) { f.PasswordHash = webtest.PasswordHash() })
	b := h.Anonymous()
	b.Get("/f/"+id).Is(http.StatusOK).Has("Open the form", "noindex").Lacks("Route a support ticket", "ticket")
	b.SendForm("/f/"+id, map[string]string{"in.ticket": "refund"}, nil).Is(http.StatusForbidden).Has("Open the form")
	b.Post("/f/"+id+"/password", url.Values{"password": {"wrong"}}).Is(http.StatusUnprocessableEntity).Has("Wrong password.")
	a := b.Post("/f/"+id+"/password", url.Values{"password": {webtest.Password}}).Is(http.StatusSeeOther)
	a.RedirectsTo("/f/" + id)
	if c := a.Header.Get("Set-Cookie"); !strings.Contains(c, "Path=/f/"+id) || !strings.Contains(c, "HttpOnly") || !strings.Contains(c, "SameSite=Lax") || !strings.Contains(c, "Max-Age=43200") {
		t.Errorf("cookie %s", c)
	}
	b.Get("/f/" + id).Is(http.StatusOK).Has("Route a support ticket")
	path := b.SendForm("/f/"+id, map[string]string{"in.ticket": "refund"}, nil).Is(http.StatusSeeOther).Header.Get("Location")
	b.Ended(path)

	t.Run("is required for results", func(t *testing.T) {
		c := h.Anonymous()
		c.Get(path).Is(http.StatusOK).Has("Open the form", `name="ticket"`).Lacks("refund")
		if a := c.Get(path+"/events").Is(http.StatusForbidden).Has("needs a password").Lacks("refund", "Route a support ticket"); a.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("headers %v", a.Header)
		}
		b.Get(path + "/events").Is(http.StatusOK).Has("event: over")
		ticket := path[strings.LastIndex(path, "/")+1:]
		c.Post("/f/"+id+"/password", url.Values{"password": {webtest.Password}, "ticket": {ticket}}).Is(http.StatusSeeOther).RedirectsTo(path)
		c.Get(path).Is(http.StatusOK).Has("refund")
	})
	t.Run("invalidates cookies when it changes", func(t *testing.T) {
		f, err := h.Store.FindForm(t.Context(), flow.FlowID(id))
		if err != nil {
			t.Fatal(err)
		}
		before := f.PasswordHash
		f.PasswordHash = passwords.UnknownUserHash
		if err := h.Store.SaveForm(t.Context(), f); err != nil {
			t.Fatal(err)
		}
		b.Get("/f/" + id).Is(http.StatusOK).Has("Open the form")
		f.PasswordHash = before
		if err := h.Store.SaveForm(t.Context(), f); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("slows down guessing", func(t *testing.T) {
		c := h.Anonymous()
		for range web.FreeTriesPerAccount + 1 {
			c.Post("/f/"+id+"/password", url.Values{"password": {"wrong"}}).Is(http.StatusUnprocessableEntity)
		}
		a := c.Post("/f/"+id+"/password", url.Values{"password": {webtest.Password}}).Is(http.StatusTooManyRequests).Has("Too many attempts.")
		if a.Header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
		b.Get("/f/" + id).Is(http.StatusOK).Has("Route a support ticket") // who has a pass is not slowed down
	})
}
