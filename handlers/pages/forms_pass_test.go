package pages

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"sluice/flow"
)

func (h *house) offForm(id string) {
	h.t.Helper()
	if err := h.store.SaveForm(context.Background(), flow.NewForm(flow.DefaultWorkspace, id)); err != nil {
		h.t.Fatal(err)
	}
}

func TestFormPassword(t *testing.T) {
	t.Parallel()
	h := setup(t)
	id := h.formOf(ticketRouting, func(f *flow.Form) { f.PasswordHash = passwordHash() })
	b := h.stranger()
	b.get("/f/"+id).is(http.StatusOK).has("Open the form", "noindex").lacks("Route a support ticket", "ticket")
	b.sendForm("/f/"+id, map[string]string{"in.ticket": "refund"}, nil).is(http.StatusForbidden).has("Open the form")
	b.post("/f/"+id+"/password", url.Values{"password": {"wrong"}}).is(http.StatusUnprocessableEntity).has("This is not the password.")
	a := b.post("/f/"+id+"/password", url.Values{"password": {password}}).is(http.StatusSeeOther)
	a.see("/f/" + id)
	if c := a.header.Get("Set-Cookie"); !strings.Contains(c, "Path=/f/"+id) || !strings.Contains(c, "HttpOnly") || !strings.Contains(c, "SameSite=Lax") || !strings.Contains(c, "Max-Age=43200") {
		t.Errorf("cookie %s", c)
	}
	b.get("/f/" + id).is(http.StatusOK).has("Route a support ticket")
	path := b.sendForm("/f/"+id, map[string]string{"in.ticket": "refund"}, nil).is(http.StatusSeeOther).header.Get("Location")
	b.ended(path)

	t.Run("is asked for results too", func(t *testing.T) {
		c := h.stranger()
		c.get(path).is(http.StatusOK).has("Open the form", `name="ticket"`).lacks("refund")
		if a := c.get(path+"/events").is(http.StatusForbidden).has("asks for a password").lacks("refund", "Route a support ticket"); a.header.Get("Cache-Control") != "no-store" {
			t.Errorf("headers %v", a.header)
		}
		b.get(path + "/events").is(http.StatusOK).has("event: over")
		ticket := path[strings.LastIndex(path, "/")+1:]
		c.post("/f/"+id+"/password", url.Values{"password": {password}, "ticket": {ticket}}).is(http.StatusSeeOther).see(path)
		c.get(path).is(http.StatusOK).has("refund")
	})
	t.Run("ends passes when it changes", func(t *testing.T) {
		f, err := h.store.FindForm(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		before := f.PasswordHash
		f.PasswordHash = nobodysHash
		if err := h.store.SaveForm(t.Context(), f); err != nil {
			t.Fatal(err)
		}
		b.get("/f/" + id).is(http.StatusOK).has("Open the form")
		f.PasswordHash = before
		if err := h.store.SaveForm(t.Context(), f); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("slows guessing down", func(t *testing.T) {
		c := h.stranger()
		for range freeByAccount + 1 {
			c.post("/f/"+id+"/password", url.Values{"password": {"wrong"}}).is(http.StatusUnprocessableEntity)
		}
		a := c.post("/f/"+id+"/password", url.Values{"password": {password}}).is(http.StatusTooManyRequests).has("Too many tries.")
		if a.header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
		b.get("/f/" + id).is(http.StatusOK).has("Route a support ticket") // who has a pass is not slowed down
	})
}
