package docs_test

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
	"sluice/handlers"
	"sluice/handlers/webtest"
)

var updateDocs = flag.Bool("update-docs", false, "write docs/api.md from the OpenAPI document")

func TestDocs(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	anybody := h.Anonymous()
	t.Run("is open, and leads to sign-in", func(t *testing.T) {
		t.Parallel()
		anybody.On(t).Get("/docs").Is(http.StatusOK).Has(`href="/sign-in"`, `href="/docs/errors"`).Lacks(`href="/usage"`)
	})
	t.Run("keeps the navigation of who is signed in", func(t *testing.T) {
		t.Parallel()
		h.As(flow.MemberViewer).On(t).Get("/docs/errors").Is(http.StatusOK).Has(`href="/usage"`, `<a href="/docs" aria-current="page">Docs</a>`)
	})
	t.Run("shows every page", func(t *testing.T) {
		t.Parallel()
		book, err := h.Server.Docs.Book()
		if err != nil {
			t.Fatal(err)
		}
		for p := range book.Pages() {
			a := anybody.On(t).Get(p.Path()).Is(http.StatusOK).Has("<h1>" + p.Title + "</h1>")
			if p.Name != "deploy" { // which has the address behind a proxy
				a.Lacks("http://127.0.0.1:8080")
			}
		}
	})
	t.Run("knows no other page", func(t *testing.T) {
		t.Parallel()
		for _, path := range []string{"/docs/none", "/docs/README", "/docs/decisions", "/docs/..%2fgo"} {
			anybody.On(t).Get(path).Is(http.StatusNotFound)
		}
	})
	t.Run("has every page as Markdown, and lists them", func(t *testing.T) {
		t.Parallel()
		book, err := h.Server.Docs.Book()
		if err != nil {
			t.Fatal(err)
		}
		list := anybody.On(t).Get("/llms.txt").Is(http.StatusOK)
		for p := range book.Pages() {
			page := anybody.On(t).Get(p.MarkdownPath()).Is(http.StatusOK).Has("# " + p.Title)
			if kind := page.Header.Get("Content-Type"); kind != "text/markdown; charset=utf-8" {
				t.Errorf("%s is %s", p.MarkdownPath(), kind)
			}
			if p.Name != docs.Home {
				list.Has(h.Server.Docs.PublicURL + p.MarkdownPath())
			}
		}
	})
	t.Run("shows the licenses of what the program contains", func(t *testing.T) {
		t.Parallel()
		page := anybody.On(t).Get("/licenses").Is(http.StatusOK).Has("Sluice contains the following components.", "htmx.org", "PDFium")
		if kind := page.Header.Get("Content-Type"); kind != "text/plain; charset=utf-8" {
			t.Errorf("the licenses are %s", kind)
		}
	})
	t.Run("sends pictures with their type", func(t *testing.T) {
		t.Parallel()
		picture := anybody.On(t).Get("/docs/images/steps/result.png").Is(http.StatusOK)
		if kind := picture.Header.Get("Content-Type"); kind != "image/png" || !strings.HasPrefix(picture.Body, "\x89PNG") {
			t.Errorf("the picture is %s", kind)
		}
		for _, path := range []string{"/docs/images/steps/none.png", "/docs/images/steps/..%2f..%2fgo.mod", "/docs/none.md"} {
			anybody.On(t).Get(path).Is(http.StatusNotFound)
		}
	})
	t.Run("is not sent again while it holds", func(t *testing.T) {
		t.Parallel()
		first := anybody.On(t).Get("/docs/errors").Is(http.StatusOK)
		again := anybody.WithHeader("If-None-Match", first.Header.Get("ETag")).On(t).Get("/docs/errors").Is(http.StatusNotModified)
		if again.Body != "" || !strings.Contains(first.Header.Get("Cache-Control"), "private") {
			t.Errorf("Cache-Control %q, and the second answer has %d bytes", first.Header.Get("Cache-Control"), len(again.Body))
		}
	})
	t.Run("finds a code by its name", func(t *testing.T) {
		t.Parallel()
		anybody.On(t).Get("/docs?q=provider_rejected").Is(http.StatusOK).Has(`href="/docs/errors#provider_rejected"`, "<mark>", "<h1>Search</h1>")
	})
	t.Run("answers htmx with the hits alone", func(t *testing.T) {
		t.Parallel()
		anybody.On(t).Fragment().Get("/docs?q=idempot").Is(http.StatusOK).Has("/docs/errors#idempotency_mismatch").Lacks("<h1>", "<html")
		if a := anybody.On(t).Fragment().Get("/docs?q=").Is(http.StatusOK); strings.TrimSpace(a.Body) != "" {
			t.Errorf("nothing was asked for: %s", a.Body)
		}
	})
	t.Run("says that nothing was found, and escapes what was asked", func(t *testing.T) {
		t.Parallel()
		anybody.On(t).Get("/docs?q=%3Cb%3Exyzzy").Is(http.StatusOK).Has("&lt;b&gt;xyzzy").Lacks("<b>xyzzy")
	})
	t.Run("keeps the reference of the API as the API has it", func(t *testing.T) {
		t.Parallel()
		want := h.Server.Docs.Generated()["api"]
		if *updateDocs {
			if err := os.WriteFile("../../docs/api.md", []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if have, err := os.ReadFile("../../docs/api.md"); err != nil || string(have) != want {
			t.Errorf("docs/api.md is not what the API is; run go test ./handlers/docs -run TestDocs -update-docs (%v)", err)
		}
	})
}

// TestDocs_wait_for_an_owner checks that an exposed server without an owner serves only the setup.
// One that is not exposed serves the API, and the pages to which its problems link.
func TestDocs_wait_for_an_owner(t *testing.T) {
	t.Parallel()
	h := webtest.SetupOn(t, dbtest.SQLite(t), func(c *handlers.Config) { c.Exposed = true })
	h.Anonymous().Get("/docs").Is(http.StatusServiceUnavailable)

	h = webtest.SetupOn(t, dbtest.SQLite(t)) // not exposed
	h.Anonymous().Get("/docs").Is(http.StatusOK)
	h.Anonymous().Get("/docs/errors").Is(http.StatusOK).Has("key_missing")
	h.Anonymous().Get("/flows").Is(http.StatusSeeOther)
}

// TestDocsLinks checks that pages link to the part of the documentation that explains them.
func TestDocsLinks(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id := h.Flow(webtest.WebhookFlow("https://hooks.test/in"))
	b := h.As(flow.MemberEditor)
	sent := b.Post("/flows/"+id+"/webhooks/test", url.Values{"node": {"hook"}, "from": {"draft"}, "url": {"https://hooks.test/in"}}).Is(http.StatusSeeOther)
	pages := []string{
		"/deliveries", "/deliveries/endpoints", sent.Header.Get("Location"), "/flows/" + id + "/webhooks", "/flows/" + id + "/form", "/flows/" + id + "/limits",
		"/settings/members", "/keys", "/runs", "/usage", "/flows/" + id + "/node/in", "/flows/" + id + "/node/out", "/flows/" + id + "/node/hook",
	}
	link := regexp.MustCompile(`class="docs-link" href="(/docs/[a-z_/]+)#?([^"]*)"`)
	for _, path := range pages {
		found := link.FindStringSubmatch(b.Get(path).Is(http.StatusOK).Body)
		if found == nil {
			t.Errorf("%s leads to no documentation", path)
			continue
		}
		page := b.Get(found[1]).Is(http.StatusOK)
		if found[2] != "" {
			page.Has(`id="` + found[2] + `"`)
		}
	}
	// Each kind has a page, and its former anchor on the page of all is the link to it.
	nodes := b.Get("/docs/nodes").Is(http.StatusOK)
	if len(nodes.Body) > 40_000 {
		t.Errorf("the index of nodes has %d bytes", len(nodes.Body))
	}
	for _, k := range webtest.Kinds().List() {
		nodes.Has(`<a id="` + k.Name + `" data-moved class="link" href="/docs/nodes/` + k.Name + `">`)
		b.Get("/docs/nodes/"+k.Name).Is(http.StatusOK).Has("<h1>"+k.Title+"</h1>", "<code>"+k.Name+"</code>", `href="/docs/nodes"`)
		b.Get("/docs/nodes/" + k.Name + ".md").Is(http.StatusOK).Has("# " + k.Title)
	}
	b.Get("/docs/nodes.md").Is(http.StatusOK).Has("### `chat`", "### `note`") // the whole reference
	b.Get("/docs/nodes/none").Is(http.StatusNotFound)
	b.Get("/docs/errors/chat").Is(http.StatusNotFound)
}
