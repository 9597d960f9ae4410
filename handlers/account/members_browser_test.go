package account_test

import (
	"testing"

	"sluice/e2e/chrome"
	"sluice/flow"
	"sluice/handlers"
	"sluice/handlers/webtest"
)

// TestMemberKeysInABrowser removes a member who created keys and hands the keys
// over, and asks about the keys of one who becomes a viewer.
func TestMemberKeysInABrowser(t *testing.T) {
	h := webtest.Setup(t)
	lin := h.Add("lin@example.com", flow.DefaultWorkspace, flow.MemberEditor)
	max := h.Add("max@example.com", flow.DefaultWorkspace, flow.MemberEditor)
	k := h.KeyOf(lin, "Website")
	h.KeyOf(lin, "Nightly report of the billing department")
	ofMax := h.KeyOf(max, "Max's key")
	p := h.Open(chrome.Start(t), flow.MemberOwner, "/settings/members")
	p.Allow("422")

	p.Click(`[commandfor="remove-` + lin.ID + `"]`)
	p.Has("dialog[open]", "API keys lin created")
	p.Has("dialog[open] ul", "Website")
	hidden := `document.querySelector("dialog[open] .key-choice > .field").checkVisibility()`
	p.Until("!" + hidden)
	p.Click(`dialog[open] [value="handover"]`)
	p.Until(hidden)
	shoot(p, "member-remove")
	p.Eval(`document.querySelector("dialog[open] [name=heir]").value = "` + max.ID + `"`)
	p.Click("dialog[open] footer .btn:last-child")
	p.Has("#toasts", "lin is no longer a member")
	wantKey(h, k, flow.KeyActive, max)

	p.Eval(`document.querySelector("#role-` + max.ID + `").value = "viewer"`)
	p.Click(`form[action="/settings/members/` + max.ID + `/role"] button`)
	p.Has("#keys-title", "Make max a viewer?")
	shoot(p, "member-viewer")
	p.Click(`section[aria-labelledby="keys-title"] .btn.primary`)
	p.Has("#toasts", "max is now viewer")
	wantKey(h, ofMax, flow.KeyRevoked, max)
}

// shoot takes pictures of a page in both themes, wide and on a phone.
func shoot(p *chrome.Tab, name string) {
	for _, theme := range []string{"light", "dark"} {
		p.Theme(theme)
		p.Size(1280, 800)
		p.Shot(name + "-" + theme)
		p.Phone()
		p.Shot(name + "-" + theme + "-phone")
	}
	p.Theme("light")
	p.Size(1280, 800)
}

// Pages that set a password explain the rules and what is wrong with a rejected one.
func TestPasswordPagesInABrowser(t *testing.T) {
	h := webtest.Setup(t, func(c *handlers.Config) { c.SignUp = true })
	b := chrome.Start(t)
	p := b.Open(t, h.Http.URL+"/sign-up")
	p.Allow("422")
	p.Has("#sign-up", "Four or more unrelated words")
	p.Type("[name=name]", "Kim")
	p.Type("[name=email]", "kim@example.com")
	p.Type("[name=workspace]", "Kim's")
	p.Type("[name=password]", "Password123!")
	p.Click("main button.primary")
	p.Has(".error", "This is a common password, or close to one.")
	shoot(p, "password-common")
	p.Type("[name=password]", "olive tram kettle nine")
	p.Click("main button.primary")
	p.Until(`location.pathname === "/flows"`)
	p.Go(h.Http.URL + "/settings/sessions")
	p.Has(".people", "ends after 7 days without use")
	shoot(p, "sessions")
}
