package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp/kb"

	"sluice/db/dbtest"
	"sluice/e2e/chrome"
	"sluice/e2e/npm"
	"sluice/handlers/factor"
)

// identities is an independent OpenID Connect provider. What it does is written in testdata/oidc/provider.mjs.
type identities struct {
	t      *testing.T
	issuer string
	in     io.Writer
	out    *bufio.Reader
}

// newIdentities starts a provider for a client with a redirect URL.
func newIdentities(t *testing.T, redirect string) *identities {
	t.Helper()
	dir := filepath.Join("testdata", "oidc")
	cmd := exec.Command("node", filepath.Join(dir, "provider.mjs"), npm.Install(t, dir), redirect)
	dieWithTests(cmd)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close() // it ends with its input
		_ = cmd.Wait()
	})
	p := &identities{t: t, in: in, out: bufio.NewReader(out)}
	p.issuer = p.line()
	return p
}

// line returns what the provider says next.
func (p *identities) line() string {
	p.t.Helper()
	line, err := p.out.ReadString('\n')
	if err != nil {
		p.t.Fatalf("the provider ended: %v", err)
	}
	return strings.TrimSpace(line)
}

// groups sets the groups of a person.
func (p *identities) groups(person string, groups ...string) {
	p.t.Helper()
	if err := json.NewEncoder(p.in).Encode(object{"person": person, "groups": groups}); err != nil {
		p.t.Fatal(err)
	}
	if said := p.line(); said != "ok" {
		p.t.Fatalf("the provider says %q", said)
	}
}

// pair is two servers on one database behind a proxy that sends each request to the next one.
type pair struct {
	t         *testing.T
	servers   []*server
	addresses []string
	front     *httptest.Server
	up        atomic.Pointer[[]string] // addresses that get requests
	turn      atomic.Int64
}

// newPair starts a proxy and two servers whose public URL is that of the proxy. env returns what else their environment has.
func newPair(t *testing.T, env func(public string) []string) *pair {
	t.Helper()
	p := &pair{t: t}
	// What the browser gives up is no news.
	p.front = httptest.NewServer(&httputil.ReverseProxy{ErrorLog: log.New(io.Discard, "", 0), Rewrite: func(r *httputil.ProxyRequest) {
		up := *p.up.Load()
		r.SetURL(&url.URL{Scheme: "http", Host: up[int(p.turn.Add(1))%len(up)]})
		r.Out.Host = r.In.Host
	}})
	t.Cleanup(p.front.Close)
	cfg := dbtest.PostgresConfig(t)
	all := append([]string{"DATABASE_URL=" + cfg.DatabaseURL, "SLUICE_MASTER_KEY=" + cfg.MasterKey, "SLUICE_PUBLIC_URL=" + p.front.URL}, env(p.front.URL)...)
	for i := range 2 {
		p.addresses = append(p.addresses, "127.0.0.1:"+strconv.Itoa(freePort(t)))
		p.up.Store(&[]string{p.addresses[i]})
		p.servers = append(p.servers, newServer(t, append(all, "SLUICE_ADDR="+p.addresses[i])...))
	}
	p.up.Store(&p.addresses)
	return p
}

// restart kills a server and starts it again with more environment. The other one gets the requests in the meantime.
func (p *pair) restart(i int, env ...string) {
	p.t.Helper()
	p.up.Store(&[]string{p.addresses[1-i]})
	p.servers[i].kill()
	p.servers[i].env = append(p.servers[i].env, env...)
	p.servers[i].start()
	waitUntil(p.t, "the server is ready again", func() bool { return ready("http://" + p.addresses[i]) })
	p.up.Store(&p.addresses)
}

// visitor is a browser whose user has only a keyboard.
type visitor struct {
	*chrome.Tab
	t    *testing.T
	base string
	axe  string // the script of axe; "" for a browser without scripts
}

// visit opens a page in a new profile.
func visit(t *testing.T, base, path string, scripts bool) visitor {
	t.Helper()
	v := visitor{Tab: chrome.Start(t).Open(t, base+"/docs"), t: t, base: base}
	if scripts {
		axe, err := os.ReadFile(filepath.Join(judges(t), "axe-core", "axe.min.js"))
		if err != nil {
			t.Fatal(err)
		}
		v.axe = string(axe)
	}
	v.Allow("status of 4")          // wrong codes and passwords on purpose
	v.Allow("fonts.googleapis.com") // on the pages of the provider
	if !scripts {
		chrome.Call(v.Tab, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	}
	v.Go(base + path)
	return v
}

// focus presses Tab until an element with the selector and a text has the focus.
func (v visitor) focus(selector, text string) {
	v.t.Helper()
	v.Until(fmt.Sprintf(`[...document.querySelectorAll(%q)].some((e) => e.textContent.includes(%q) && e.checkVisibility())`, selector, text))
	for range maxPresses {
		if chrome.Value[bool](v.Tab, fmt.Sprintf(`document.activeElement.matches(%q) && document.activeElement.textContent.includes(%q)`, selector, text)) {
			return
		}
		v.Keys(kb.Tab)
	}
	v.Shot("failed-" + strings.ReplaceAll(v.t.Name(), "/", "-"))
	v.t.Fatalf("Tab does not lead to %s %q", selector, text)
}

// fill types into a field.
func (v visitor) fill(selector, text string) {
	v.t.Helper()
	v.focus(selector, "")
	v.Keys(text)
}

// follow opens a link or presses a button.
func (v visitor) follow(selector, text string) {
	v.t.Helper()
	v.focus(selector, text)
	v.Keys("\r")
}

// at waits until the browser is at a path of Sluice.
func (v visitor) at(path string) {
	v.t.Helper()
	v.Until(fmt.Sprintf(`location.href.split("?")[0] === %q && document.readyState === "complete"`, v.base+path))
}

// look checks a page with axe, wide and dark, and narrow and light.
func (v visitor) look(name string) {
	v.t.Helper()
	if v.axe == "" {
		return
	}
	for _, c := range []struct {
		theme string
		width int64
	}{{"dark", 1440}, {"light", 375}} {
		v.Theme(c.theme)
		v.Size(c.width, 900)
		v.Shot(name + "-" + c.theme)
		for _, f := range violations(v.Tab, v.axe) {
			v.t.Errorf("%s, %s: %s", name, c.theme, f)
		}
		if wide := chrome.Value[int64](v.Tab, "document.documentElement.scrollWidth"); wide > c.width {
			v.t.Errorf("%s is %d wide on a screen of %d", name, wide, c.width)
		}
	}
	v.Size(1440, 900)
}

// withProvider signs a person in at the provider; before is called while the provider asks for consent.
func (v visitor) withProvider(email string, before func()) {
	v.t.Helper()
	v.follow("a", "Continue with Company")
	v.fill("[name=login]", email)
	v.fill("[name=password]", "any")
	v.Keys("\r")
	v.focus("button", "Continue")
	before()
	v.Keys("\r")
}

// withPassword signs a person in with a password.
func (v visitor) withPassword(email string) {
	v.t.Helper()
	v.Go(v.base + "/sign-in")
	v.Until(`document.querySelector("#sign-in")`)
	if chrome.Value[bool](v.Tab, `!document.querySelector("#sign-in").checkVisibility()`) {
		v.follow("summary", "Sign in with a password")
	}
	v.fill("#field-email", email)
	v.fill("#field-password", passphrase)
	v.Keys("\r")
}

// signOut signs out with the menu of the person.
func (v visitor) signOut() {
	v.t.Helper()
	v.Go(v.base + "/sessions")
	v.follow("summary.who", "")
	v.follow("button.item", "Sign out")
}

// TestSignIn_journey signs people in by keyboard, at two servers that take turns: with a provider, with a second step and with a
// recovery code. Then a role is lowered and passwords are turned off. In the middle, one server is killed.
func TestSignIn_journey(t *testing.T) {
	t.Parallel()
	if raceEnabled {
		t.Skip("a browser has no part in the races of the server")
	}
	chrome.Path(t)
	for name, scripts := range map[string]bool{"with scripts": true, "without scripts": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			signInJourney(t, scripts)
		})
	}
}

func signInJourney(t *testing.T, scripts bool) {
	var company *identities
	two := newPair(t, func(public string) []string {
		company = newIdentities(t, public+"/sign-in/callback/company")
		file := filepath.Join(t.TempDir(), "oidc.json")
		settings, err := json.Marshal(object{"providers": []object{{
			"id": "company", "name": "Company", "issuer": company.issuer, "client_id": "sluice", "client_secret": "a-secret-of-the-client", "domains": []string{"example.com"},
			"scopes": []string{"groups"}, "claim": "groups", "roles": object{"owner": []string{"owners"}, "editor": []string{"authors"}, "viewer": []string{"everyone"}},
		}}})
		if err == nil {
			err = os.WriteFile(file, settings, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		return []string{"SLUICE_OIDC=" + file, "SLUICE_TWO_STEP=owner"}
	})
	admin := dashboard{server: two.servers[0]}
	admin.person(ownerEmail, "owner")
	admin.person("max@example.com", "editor")
	role := func(email, want string) {
		t.Helper()
		for line := range strings.Lines(two.servers[1].command("user", "list").out) {
			if strings.Contains(line, email) && strings.Contains(line, want) {
				return
			}
		}
		t.Errorf("%s is not %s: %s", email, want, two.servers[1].command("user", "list").out)
	}

	// A new person comes through the provider. One server is killed while they are there.
	company.groups("lin@example.com", "authors", "everyone")
	lin := visit(t, two.front.URL, "/runs", scripts)
	lin.withProvider("lin@example.com", func() { two.restart(0) })
	lin.at("/runs")
	role("lin@example.com", "editor")

	// An owner has a password, must turn the second step on, and gets recovery codes.
	ada := visit(t, two.front.URL, "/sign-in", scripts)
	ada.withPassword(ownerEmail)
	ada.at("/settings/two-step")
	ada.Go(two.front.URL + "/flows")
	ada.at("/settings/two-step") // nothing else is open until it is on
	ada.look("two-step-required")
	ada.fill("#begin-password", passphrase)
	ada.Keys("\r")
	ada.There("#confirm code")
	ada.look("two-step-key")
	secret := strings.ReplaceAll(chrome.Value[string](ada.Tab, `document.querySelector("#confirm code").textContent`), " ", "")
	code := func(later int64) string {
		t.Helper()
		c, err := factor.Code(secret, time.Now().Unix()/int64(factor.Period/time.Second)+later)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	ada.fill("#confirm [name=code]", "000000x")
	ada.Keys("\r")
	ada.Has("#confirm", "code")
	ada.There("#confirm [aria-invalid=true], #confirm .error")
	ada.fill("#confirm [name=code]", code(0))
	ada.Keys("\r")
	ada.There("ul.codes")
	codes := chrome.Value[[]string](ada.Tab, `[...document.querySelectorAll("ul.codes code")].map((e) => e.textContent)`)
	if len(codes) != factor.RecoveryCodes {
		t.Fatalf("recovery codes: %v", codes)
	}
	ada.look("recovery-codes")

	// Without the phone a recovery code works, once; then a code of the app.
	enter := func(code string) {
		t.Helper()
		ada.signOut()
		ada.at("/sign-in")
		ada.withPassword(ownerEmail)
		ada.at("/sign-in/code")
		ada.fill("#code-form [name=code]", code)
		ada.Keys("\r")
	}
	enter(codes[3])
	ada.at("/flows")
	enter(codes[3])
	ada.There("#code-form [aria-invalid=true], #code-form .error")
	ada.look("code-wrong")
	ada.fill("#code-form [name=code]", code(1))
	ada.Keys("\r")
	ada.at("/flows")

	// The provider lowers a role: the older session ends.
	company.groups("lin@example.com", "everyone")
	elsewhere := visit(t, two.front.URL, "/sign-in", scripts)
	elsewhere.withProvider("lin@example.com", func() {})
	elsewhere.at("/flows")
	role("lin@example.com", "viewer")
	lin.Go(two.front.URL + "/flows")
	lin.at("/sign-in")

	// An owner enters the password and a code once; afterwards the provider is enough.
	company.groups(ownerEmail, "owners")
	again := visit(t, two.front.URL, "/sign-in", scripts)
	again.withProvider(ownerEmail, func() {})
	again.at("/sign-in/confirm")
	again.look("confirm-owner")
	again.fill("#confirm-form [name=password]", passphrase)
	again.Keys("\r")
	again.at("/sign-in/code")
	again.fill("#code-form [name=code]", codes[7])
	again.Keys("\r")
	again.at("/flows")

	// Passwords are turned off: sessions that began with one end, and the oldest owner keeps theirs.
	max := visit(t, two.front.URL, "/sign-in", scripts)
	max.withPassword("max@example.com")
	max.at("/flows")
	for i := range two.servers {
		two.restart(i, "SLUICE_PASSWORDS=off")
	}
	max.Go(two.front.URL + "/flows")
	max.at("/sign-in")
	max.withPassword("max@example.com")
	max.Has("body", "has to sign in with a provider")
	max.look("passwords-off")
	max.Go(two.front.URL + "/flows")
	max.at("/sign-in")
	again.Go(two.front.URL + "/flows")
	again.at("/flows")
	enter(codes[5])
	ada.at("/flows")

	// Signing out leads through the provider.
	again.signOut()
	again.follow("button", "Yes, sign me out")
	again.at("/sign-in")
	again.look("sign-in-with-provider")
	if resp, err := plain.Get(company.issuer + "/.well-known/openid-configuration"); err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("the provider: %v %v", resp, err)
	} else {
		_ = resp.Body.Close()
	}
}
