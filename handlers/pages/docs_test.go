package pages

import (
	"flag"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"sluice/db/dbtest"
	"sluice/docs"
	"sluice/flow"
)

var updateDocs = flag.Bool("update-docs", false, "write docs/api.md from the OpenAPI document")

func TestDocs(t *testing.T) {
	t.Parallel()
	h := setup(t)
	anybody := h.stranger()
	t.Run("is open, and leads to sign-in", func(t *testing.T) {
		t.Parallel()
		anybody.on(t).get("/docs").is(http.StatusOK).has(`href="/sign-in"`, `href="/docs/errors"`).lacks(`href="/usage"`)
	})
	t.Run("keeps the navigation of who is signed in", func(t *testing.T) {
		t.Parallel()
		h.as(flow.MemberViewer).on(t).get("/docs/errors").is(http.StatusOK).has(`href="/usage"`, `<a href="/docs" aria-current="page">Docs</a>`)
	})
	t.Run("shows every page", func(t *testing.T) {
		t.Parallel()
		shelf, err := h.server.docs()
		if err != nil {
			t.Fatal(err)
		}
		for p := range shelf.Pages() {
			a := anybody.on(t).get(p.Path()).is(http.StatusOK).has("<h1>" + p.Title + "</h1>")
			if p.Name != "deploy" { // which has the address behind a proxy
				a.lacks("http://127.0.0.1:8080")
			}
		}
	})
	t.Run("knows no other page", func(t *testing.T) {
		t.Parallel()
		for _, path := range []string{"/docs/none", "/docs/README", "/docs/decisions", "/docs/..%2fgo"} {
			anybody.on(t).get(path).is(http.StatusNotFound)
		}
	})
	t.Run("is not sent again while it holds", func(t *testing.T) {
		t.Parallel()
		first := anybody.on(t).get("/docs/errors").is(http.StatusOK)
		again := anybody.asking("If-None-Match", first.header.Get("ETag")).on(t).get("/docs/errors").is(http.StatusNotModified)
		if again.body != "" || !strings.Contains(first.header.Get("Cache-Control"), "private") {
			t.Errorf("Cache-Control %q, and the second answer has %d bytes", first.header.Get("Cache-Control"), len(again.body))
		}
	})
	t.Run("finds a code by its name", func(t *testing.T) {
		t.Parallel()
		anybody.on(t).get("/docs?q=provider_rejected").is(http.StatusOK).has(`href="/docs/errors#provider_rejected"`, "<mark>", "<h1>Search</h1>")
	})
	t.Run("answers htmx with the hits alone", func(t *testing.T) {
		t.Parallel()
		anybody.on(t).part().get("/docs?q=idempot").is(http.StatusOK).has("/docs/errors#idempotency_mismatch").lacks("<h1>", "<html")
		if a := anybody.on(t).part().get("/docs?q=").is(http.StatusOK); strings.TrimSpace(a.body) != "" {
			t.Errorf("nothing was asked for: %s", a.body)
		}
	})
	t.Run("says that nothing was found, and escapes what was asked", func(t *testing.T) {
		t.Parallel()
		anybody.on(t).get("/docs?q=%3Cb%3Exyzzy").is(http.StatusOK).has("&lt;b&gt;xyzzy").lacks("<b>xyzzy")
	})
	t.Run("keeps the reference of the API as the API has it", func(t *testing.T) {
		t.Parallel()
		want := h.server.docsInstead()["api"]
		if *updateDocs {
			if err := os.WriteFile("../../docs/api.md", []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if have, err := docs.Source("api"); err != nil || have != want && !*updateDocs {
			t.Errorf("docs/api.md is not what the API is; run go test ./handlers/pages -run TestDocs -update-docs (%v)", err)
		}
	})
}

// TestDocs_waitForAnOwner: nothing but set-up is answered on the network before.
// On the machine itself the API answers, and so do the pages its problems lead to.
func TestDocs_waitForAnOwner(t *testing.T) {
	t.Parallel()
	h := setupOn(t, dbtest.SQLite(t), func(c *Config) { c.Exposed = true })
	h.stranger().get("/docs").is(http.StatusServiceUnavailable)

	h = setupOn(t, dbtest.SQLite(t)) // on this machine alone
	h.stranger().get("/docs").is(http.StatusOK)
	h.stranger().get("/docs/errors").is(http.StatusOK).has("key_missing")
	h.stranger().get("/flows").is(http.StatusSeeOther)
}

// on is the same browser that reports to a test of its own.
func (b *browser) on(t *testing.T) *browser {
	other := *b
	other.t = t
	return &other
}

// asking is the same browser that sends one header more.
func (b *browser) asking(name, value string) *browser {
	other, client := *b, *b.client
	client.Transport = withHeader{name, value}
	other.client = &client
	return &other
}

type withHeader struct{ name, value string }

func (h withHeader) RoundTrip(r *http.Request) (*http.Response, error) {
	r.Header.Set(h.name, h.value)
	return http.DefaultTransport.RoundTrip(r)
}

// Pages lead to the part of the documentation that explains what is on them.
func TestDocsLinks(t *testing.T) {
	t.Parallel()
	h := setup(t)
	id := h.flow(telling("https://hooks.test/in"))
	b := h.as(flow.MemberEditor)
	sent := b.post("/flows/"+id+"/webhooks/test", url.Values{"node": {"hook"}, "from": {"draft"}, "url": {"https://hooks.test/in"}}).is(http.StatusSeeOther)
	pages := []string{
		"/deliveries", "/deliveries/endpoints", sent.header.Get("Location"), "/flows/" + id + "/webhooks", "/flows/" + id + "/form", "/flows/" + id + "/limits",
		"/settings/members", "/keys", "/runs", "/usage", "/flows/" + id + "/node/in", "/flows/" + id + "/node/out", "/flows/" + id + "/node/hook",
	}
	link := regexp.MustCompile(`class="docs-link" href="(/docs/[a-z]+)#?([^"]*)"`)
	for _, path := range pages {
		found := link.FindStringSubmatch(b.get(path).is(http.StatusOK).body)
		if found == nil {
			t.Errorf("%s leads to no documentation", path)
			continue
		}
		page := b.get(found[1]).is(http.StatusOK)
		if found[2] != "" {
			page.has(`id="` + found[2] + `"`)
		}
	}
	nodes := b.get("/docs/nodes")
	for _, k := range kinds().List() {
		nodes.has(`id="` + k.Name + `"`)
	}
}
