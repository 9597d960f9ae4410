package e2e

import (
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"sluice/e2e/chrome"
)

// The sign-in of all users.
const (
	ownerEmail = "ada@example.com"
	passphrase = "correct horse battery"
)

// dashboard is a server with an owner and a browser.
type dashboard struct {
	*server
	browser *chrome.Browser
}

// newDashboard starts a server, creates its owner and starts Chromium.
func newDashboard(t *testing.T, env ...string) *dashboard {
	t.Helper()
	if raceEnabled {
		t.Skip("handlers/editor has what a browser can race for")
	}
	chrome.Path(t) // skip before a server is started
	d := &dashboard{server: newServer(t, env...)}
	d.person(ownerEmail, "owner")
	d.browser = chrome.Start(t)
	return d
}

// person adds a user with the command line.
func (d *dashboard) person(email, role string) {
	d.t.Helper()
	if r := d.commandWith(passphrase+"\n", "user", "add", "--email", email, "--role", role, "--password-stdin"); r.code != 0 {
		d.t.Fatal(r.errs)
	}
}

// signIn opens a page as a user who is not signed in.
func (d *dashboard) signIn(t *testing.T, email, path string) *chrome.Tab {
	t.Helper()
	tab := d.browser.Open(t, d.base()+path)
	tab.Type("#field-email", email)
	tab.Type("#field-password", passphrase)
	tab.Keys("\r")
	tab.Gone("#sign-in")
	return tab
}

// cookies signs the owner in without a browser and returns the cookies.
func (d *dashboard) cookies() string {
	d.t.Helper()
	return d.cookiesOf(ownerEmail)
}

// cookiesOf is cookies for somebody else.
func (d *dashboard) cookiesOf(email string) string {
	d.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		d.t.Fatal(err)
	}
	c := &http.Client{Transport: plain.Transport, Jar: jar, CheckRedirect: plain.CheckRedirect}
	resp, err := c.PostForm(d.base()+"/sign-in", url.Values{"email": {email}, "password": {passphrase}})
	if err != nil {
		d.t.Fatal(err)
	}
	resp.Body.Close()
	at, _ := url.Parse(d.base())
	var list []string
	for _, cookie := range jar.Cookies(at) {
		list = append(list, cookie.Name+"="+cookie.Value)
	}
	if len(list) == 0 {
		d.t.Fatalf("signing in gave %s and no cookie", resp.Status)
	}
	return strings.Join(list, "; ")
}

// flowNamed returns the ID of a flow.
func (d *dashboard) flowNamed(name string) string {
	d.t.Helper()
	for line := range strings.SplitSeq(d.must("flow", "list"), "\n") {
		if strings.Contains(line, name) {
			return strings.Fields(line)[0]
		}
	}
	d.t.Fatalf("there is no flow %q", name)
	return ""
}
