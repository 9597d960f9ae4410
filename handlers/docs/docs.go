// Package docs serves the user documentation: its pages as HTML and as Markdown,
// the search, the pictures, llms.txt and the licenses. All of it is public.
//
// Package docs at the root reads the text. This one adds what depends on the running
// server: its URL, which examples use, and the API reference, which is generated from
// the OpenAPI document of the server, so it always matches the API. It must not know
// flows or runs.
package docs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/a-h/templ"

	"sluice/docs"
	"sluice/flow"
	"sluice/handlers/web"
	"sluice/snippets"
	"sluice/static"
	docsview "sluice/views/docs"
	"sluice/views/layout"
)

// Numbers of results on the page of a search, and in the list under the search field.
const (
	maxHits      = 30
	maxHitsTyped = 8
)

// Server serves the documentation.
type Server struct {
	*web.Site
	// api serves a request to the HTTP API with the given key, which need not be
	// in the store.
	api  func(key *flow.Key, w http.ResponseWriter, r *http.Request)
	book func() (*book, error) // read when first needed
}

// New returns the documentation of a site. It requests the OpenAPI document from api. Mount the Routes to serve the pages.
func New(site *web.Site, api func(key *flow.Key, w http.ResponseWriter, r *http.Request)) *Server {
	s := &Server{Site: site, api: api}
	s.book = sync.OnceValues(s.newBook)
	return s
}

// Routes returns the routes of the documentation. They are public: the text is the same
// for everyone, and the page only adds the navigation of the visitor.
func (s *Server) Routes() []web.Route {
	return []web.Route{
		{Method: "GET", Path: "/docs", Access: web.Open, Handle: s.showHome},
		{Method: "GET", Path: "/docs/:page", Access: web.Open, Handle: s.showPage},
		{Method: "GET", Path: "/docs/:page/:part", Access: web.Open, Handle: s.showPage},
		{Method: "GET", Path: "/docs/images/steps/:file", Access: web.Open, Handle: s.showPicture},
		{Method: "GET", Path: "/llms.txt", Access: web.Open, Handle: s.showLLMs},
		{Method: "GET", Path: "/licenses", Access: web.Open, Handle: s.showLicenses},
	}
}

// Find returns at most n sections that match a query, the best first. If the
// documentation cannot be read it returns nil, so that a search over other things as
// well does not fail.
func (s *Server) Find(query string, n int) []docs.Hit {
	book, err := s.book()
	if err != nil {
		return nil
	}
	return book.Find(query, n)
}

// book is the parsed documentation. Each page is rendered once, on its first request.
type book struct {
	*docs.Book
	bodies map[string]func() ([]byte, error)
}

// newBook reads the documentation with the URL of this server in its
// examples. The API reference is generated from the OpenAPI document that the
// server itself returns.
func (s *Server) newBook() (*book, error) {
	read, err := docs.Read(docs.Options{BaseURL: s.PublicURL, Highlight: highlight, Instead: s.generatedPages()})
	if err != nil {
		return nil, fmt.Errorf("read the documentation: %w", err)
	}
	b := &book{Book: read, bodies: map[string]func() ([]byte, error){}}
	for p := range read.Pages() {
		b.bodies[p.Name] = sync.OnceValues(func() ([]byte, error) {
			var b bytes.Buffer
			err := docsview.DocBlocks(p.Blocks).Render(context.Background(), &b)
			return b.Bytes(), err
		})
	}
	return b, nil
}

// highlight splits a code sample into tokens for syntax highlighting, with the lexers
// of the snippets.
func highlight(language, code string) []docs.Token {
	tokens := snippets.Highlight(language, code)
	list := make([]docs.Token, len(tokens))
	for i, t := range tokens {
		list[i] = docs.Token(t)
	}
	return list
}

// body returns the content of a page, which must exist. It renders the page on first use.
func (b *book) body(name string) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		text, err := b.bodies[name]()
		if err == nil {
			_, err = w.Write(text)
		}
		return err
	})
}

// showHome is GET /docs: the first page, or with ?q= the results of a search.
// As a fragment, it is the list under the search field.
func (s *Server) showHome(c *web.Call) error {
	query := strings.TrimSpace(c.QueryParam("q"))
	switch {
	case c.IsFragment():
		book, err := s.book()
		if err != nil {
			return err
		}
		return c.Render(http.StatusOK, docsview.DocsFound(docsview.DocsPage{Query: query, Hits: book.Find(query, maxHitsTyped)}))
	case query != "":
		return s.search(c, query)
	}
	return s.renderPage(c, docs.Home)
}

// showPage is GET /docs/{page}, GET /docs/{page}/{part} for a section that is a page of its own, and
// both with .md as Markdown. The home page has the path /docs instead.
func (s *Server) showPage(c *web.Call) error {
	name := c.Param("page")
	if part := c.Param("part"); part != "" {
		name += "/" + part
	}
	if name, ok := strings.CutSuffix(name, ".md"); ok {
		return s.showMarkdown(c, name)
	}
	if name != docs.Home {
		return s.renderPage(c, name)
	}
	return web.ErrNotFound // its address is /docs
}

// findPage returns a page with the book that it is part of. Without such a page the error is
// web.ErrNotFound.
func (s *Server) findPage(name string) (*book, *docs.Page, error) {
	book, err := s.book()
	if err != nil {
		return nil, nil, err
	}
	page := book.Page(name)
	if page == nil {
		return nil, nil, web.ErrNotFound
	}
	return book, page, nil
}

// showMarkdown responds with the Markdown of a page, for language models and for
// copying.
func (s *Server) showMarkdown(c *web.Call, name string) error {
	_, page, err := s.findPage(name)
	if err != nil {
		return err
	}
	return sendCached(c, "text/markdown; charset=utf-8", []byte(page.Markdown))
}

// showLLMs is GET /llms.txt: the index of the documentation for language models.
func (s *Server) showLLMs(c *web.Call) error {
	book, err := s.book()
	if err != nil {
		return err
	}
	return sendCached(c, "text/plain; charset=utf-8", []byte(book.LLMs(strings.TrimRight(s.PublicURL, "/"))))
}

// showLicenses is GET /licenses: the licenses of everything that the program contains. The text is
// embedded compressed, and decompressed for each request because few people read it.
func (s *Server) showLicenses(c *web.Call) error {
	return sendCached(c, "text/plain; charset=utf-8", []byte(static.Licenses()))
}

// showPicture is GET /docs/images/steps/{file}: a PNG of a step in a guide.
func (s *Server) showPicture(c *web.Call) error {
	data, ok := docs.PictureFile(c.Param("file"))
	if !ok {
		return web.ErrNotFound
	}
	return sendCached(c, "image/png", data)
}

// sendCached responds with content that is the same for every client and only
// changes with an upgrade. Browsers revalidate it by its ETag.
func sendCached(c *web.Call, mediaType string, body []byte) error {
	sum := sha256.Sum256(body)
	h := c.Response().Header()
	h.Set("Content-Type", mediaType)
	h.Set("Cache-Control", "public, no-cache")
	h.Set("ETag", `"`+hex.EncodeToString(sum[:8])+`"`)
	http.ServeContent(c.Response(), c.Request(), "", time.Time{}, bytes.NewReader(body))
	return nil
}

// search renders the page with at most maxHits results.
func (s *Server) search(c *web.Call, query string) error {
	book, err := s.book()
	if err != nil {
		return err
	}
	identifyVisitor(c)
	return c.Render(http.StatusOK, docsview.DocsSearch(c.Page("Search the docs", layout.SectionDocs), docsview.DocsPage{
		Sections: book.Sections, Query: query, Hits: book.Find(query, maxHits),
	}))
}

// renderPage responds with a page. A page that does not exist is 404.
func (s *Server) renderPage(c *web.Call, name string) error {
	book, page, err := s.findPage(name)
	if err != nil {
		return err
	}
	identifyVisitor(c)
	d := docsview.DocsPage{Sections: book.Sections, Page: page, Body: book.body(name)}
	d.Before, d.After = book.Around(name)
	return renderCached(c, docsview.Docs(c.Page(pageTitle(page), layout.SectionDocs), d))
}

// identifyVisitor sets the signed-in user, shown in the navigation. Errors are
// ignored, because the documentation is public.
func identifyVisitor(c *web.Call) { _ = c.Identify() }

// renderCached responds with a page that browsers may cache. They revalidate it
// each time by its ETag, because it shows who is signed in.
func renderCached(c *web.Call, component templ.Component) error {
	var b bytes.Buffer
	if err := component.Render(c.Ctx(), &b); err != nil {
		return fmt.Errorf("render %s: %w", c.Path(), err)
	}
	sum := sha256.Sum256(b.Bytes())
	tag := `W/"` + hex.EncodeToString(sum[:8]) + `"` // weak: the same for compressed and plain responses
	h := c.Response().Header()
	h.Set("Cache-Control", "private, no-cache")
	h.Set("ETag", tag)
	if c.Request().Header.Get("If-None-Match") == tag {
		h.Set("Content-Security-Policy", c.Policy())
		return c.NoContent(http.StatusNotModified)
	}
	return c.Render(http.StatusOK, templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		_, err := w.Write(b.Bytes())
		return err
	}))
}

// pageTitle returns the title of a page in the browser. The home page is titled
// Documentation, so it needs no suffix.
func pageTitle(p *docs.Page) string {
	if p.Name == docs.Home {
		return p.Title
	}
	return p.Title + " · Docs"
}
