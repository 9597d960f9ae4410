package e2e

import (
	"net/url"
	"regexp"
	"strings"
	"testing"

	"sluice/e2e/chrome"
)

// setupLink returns the set-up link that the server printed.
var setupLink = regexp.MustCompile(`http://\S+/setup\?token=\S+`)

// TestFirstStart follows a new owner in the browser: the link from the terminal, the set-up
// form, a flow that runs, its output.
func TestFirstStart(t *testing.T) {
	t.Parallel()
	if raceEnabled {
		t.Skip("handlers/editor has what a browser can race for")
	}
	chrome.Path(t)
	s := newServer(t)
	link := s.setupLink()
	tab := chrome.Start(t).Open(t, link)
	tab.Type("#field-name", "Ada")
	tab.Type("#field-email", ownerEmail)
	tab.Type("#field-password", passphrase)
	tab.Type("#field-workspace", "Acme support")
	tab.Shot("journey-setup")
	tab.Keys("\r")
	tab.There("flow-canvas[ready]")
	tab.Has("#builder", "Which team")
	tab.Shot("journey-starter")
	tab.Click("#run-button")
	tab.There("#run-dialog #run-form")
	tab.Click("[data-fill-examples]")
	tab.Shot("journey-form")
	tab.Click("#run-form footer button:not([type=button])")
	tab.Has("#run-bar", "ucceeded")
	tab.Has("article[data-kind=classify]", "billing")
	tab.Shot("journey-answer")
	tab.Go(s.base() + "/sign-in")
	tab.Allow("/setup?token=") // the link worked once
	tab.Go(link)
	tab.Gone("#setup")
}

// setupLink is what the server printed for its owner to be.
func (s *server) setupLink() (link string) {
	s.waitUntil("the set-up link is printed", func() bool {
		link = setupLink.FindString(s.process().out.String() + s.process().errs.String())
		return link != ""
	})
	return link
}

// TestViewer checks that a viewer can open every page and change nothing.
func TestViewer(t *testing.T) {
	t.Parallel()
	d := newDashboard(t)
	d.person("vera@example.com", "viewer")
	id := d.flowNamed("Route a support ticket")
	before := d.must("flow", "export", id)
	tab := d.signIn(t, "vera@example.com", "/flows/"+id)
	tab.There("flow-canvas[ready][readonly]")
	tab.Gone("#palette")
	at := tab.Middle("[data-kind=classify] header")
	tab.Drag(at, chrome.Point{X: at.X + 80, Y: at.Y + 80})
	tab.Keys("\ue017") // Delete
	refused := chrome.Value[int](tab, `fetch("/flows/`+id+`/ops", {method: "POST", headers: {"Content-Type": "application/json"},
		body: JSON.stringify({base: 0, tab: "a", txid: "b", ops: [{op: "remove", nodes: ["ticket"]}]})}).then((r) => r.status)`)
	if refused != 403 {
		t.Errorf("a viewer's edit got %d", refused)
	}
	tab.Allow("403")
	if after := d.must("flow", "export", id); after != before {
		t.Error("a viewer changed the draft")
	}
	tab.Go(d.base() + "/flows")
	tab.Gone(`form[action="/flows"] button[name=template]`)
	for _, path := range []string{"/flows/" + id + "/publish", "/flows/" + id + "/run", "/flows/" + id + "/archive"} {
		if status := chrome.Value[int](tab, `fetch("`+path+`", {method: "POST", body: new URLSearchParams()}).then((r) => r.status)`); status != 403 {
			t.Errorf("a viewer's POST %s got %d", path, status)
		}
	}
}

// TestPublishAndRollBack publishes a breaking change. The page names the affected key, and a
// rollback makes its calls work again.
func TestPublishAndRollBack(t *testing.T) {
	t.Parallel()
	d := newDashboard(t)
	s := d.seed()
	c := d.client(s.key)
	tab := d.signIn(t, ownerEmail, "/flows/"+s.flow)
	tab.There("flow-canvas[ready]")
	tab.Eval(`document.querySelector("flow-canvas").commit("Delete", [{op: "set", node: "ticket", field: "name", value: "letter"}])`)
	tab.Until(`document.querySelector("flow-canvas").sync.waiting === 0`)
	tab.Has("#publish-button", "Publish v2")
	tab.Click("#publish-button a")
	tab.There("#publish-dialog")
	tab.Has("#publish-dialog", "ticket")
	tab.Has("#publish-dialog", "production")
	tab.Shot("journey-breaking")
	tab.Click(`#publish-dialog form button:is([type=submit], :not([type]))`)
	tab.Has("#flow-state", "v2 live")
	c.rejected(422, "input_invalid", "POST", "/v1/flow/"+s.flow+"/run", object{"ticket": "a"})
	tab.Go(d.base() + "/flows/" + s.flow + "/versions")
	tab.Shot("journey-versions")
	tab.Click(`a[href$="/versions/1/live"]`)
	tab.Has("main", "letter") // going back breaks those who call the newer one
	tab.Click(`form[action$="/versions/1/live"] button`)
	tab.Has("#version-1", "live")
	d.waitUntil("version 1 is live again", func() bool {
		return c.do("POST", "/v1/flow/"+s.flow+"/run", object{"ticket": "a"}).status == 202
	})
}

// TestFormsWithoutScript signs in, creates a flow and tags it with a client without
// JavaScript.
func TestFormsWithoutScript(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	d := &dashboard{server: s}
	d.person(ownerEmail, "owner")
	cookies := "Cookie: " + d.cookies()
	post := func(path string, form url.Values) *response {
		return s.client("").want(303, "POST", path, []byte(form.Encode()), cookies, "Content-Type: application/x-www-form-urlencoded")
	}
	made := post("/flows", nil).header.Get("Location")
	post(made+"/tags", url.Values{"tags": {"by-hand"}})
	list := s.client("").want(200, "GET", "/flows?tag=by-hand", nil, cookies)
	if !strings.Contains(string(list.body), strings.TrimPrefix(made, "/flows/")) {
		t.Error("the tagged flow is not listed")
	}
}
