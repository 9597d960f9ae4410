package console

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
	"sluice/handlers/web"
	"sluice/snippets"
	docsview "sluice/views/docs"
	"sluice/views/layout"
)

// How many results a search shows on its page, and in the list under the field.
const (
	maxHits      = 30
	maxHitsTyped = 8
)

// docsRoutes are the routes of the documentation. It is public, because nothing
// in it is private.
func (s *Server) docsRoutes() []route {
	return []route{
		{"GET", "/docs", web.Open, s.showDocs},
		{"GET", "/docs/:page", web.Open, s.showDocsPage},
		{"GET", "/docs/images/steps/:file", web.Open, s.showDocsPicture},
		{"GET", "/llms.txt", web.Open, s.showLLMs},
	}
}

// docsBook is the documentation. It is read once, and each page is rendered
// once, when it is first requested.
type docsBook struct {
	*docs.Book
	bodies map[string]func() ([]byte, error)
}

// newDocsBook reads the documentation with the URL of this server in its
// examples. The API reference is generated from the OpenAPI document that the
// server itself returns.
func (s *Server) newDocsBook() (*docsBook, error) {
	book, err := docs.Read(docs.Options{BaseURL: s.PublicURL, Highlight: highlight, Instead: s.generatedPages()})
	if err != nil {
		return nil, fmt.Errorf("read the documentation: %w", err)
	}
	b := &docsBook{Book: book, bodies: map[string]func() ([]byte, error){}}
	for p := range book.Pages() {
		b.bodies[p.Name] = sync.OnceValues(func() ([]byte, error) {
			var b bytes.Buffer
			err := docsview.DocBlocks(p.Blocks).Render(context.Background(), &b)
			return b.Bytes(), err
		})
	}
	return b, nil
}

// highlight splits a code sample into tokens for syntax highlighting.
func highlight(language, code string) []docs.Token {
	tokens := snippets.Highlight(language, code)
	list := make([]docs.Token, len(tokens))
	for i, t := range tokens {
		list[i] = docs.Token(t)
	}
	return list
}

// body returns the rendered content of a page.
func (s *docsBook) body(name string) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		text, err := s.bodies[name]()
		if err == nil {
			_, err = w.Write(text)
		}
		return err
	})
}

// showDocs is GET /docs: the first page, or with ?q= the results of a search.
// As a fragment, it is the list under the search field.
func (s *Server) showDocs(c *call) error {
	query := strings.TrimSpace(c.QueryParam("q"))
	switch {
	case c.IsFragment():
		book, err := s.docs()
		if err != nil {
			return err
		}
		return c.Render(http.StatusOK, docsview.DocsFound(docsview.DocsPage{Query: query, Hits: book.Find(query, maxHitsTyped)}))
	case query != "":
		return c.searchDocs(query)
	}
	return c.showDocsPage(docs.Home)
}

// showDocsPage is GET /docs/{page} and, as Markdown, GET /docs/{page}.md. The
// home page has only the address without a name.
func (s *Server) showDocsPage(c *call) error {
	name := c.Param("page")
	if name, ok := strings.CutSuffix(name, ".md"); ok {
		return c.showMarkdown(name)
	}
	if name != docs.Home {
		return c.showDocsPage(name)
	}
	return web.ErrNotFound // its address is /docs
}

// showMarkdown responds with the text of a page, for assistants and for people
// who copy it.
func (c *call) showMarkdown(name string) error {
	book, err := c.s.docs()
	if err != nil {
		return err
	}
	page := book.Page(name)
	if page == nil {
		return web.ErrNotFound
	}
	return c.sendCached("text/markdown; charset=utf-8", []byte(page.Markdown))
}

// showLLMs is GET /llms.txt: the index of the documentation for assistants.
func (s *Server) showLLMs(c *call) error {
	book, err := s.docs()
	if err != nil {
		return err
	}
	return c.sendCached("text/plain; charset=utf-8", []byte(book.LLMs(strings.TrimRight(s.PublicURL, "/"))))
}

// showDocsPicture is GET /docs/images/steps/{file}.
func (s *Server) showDocsPicture(c *call) error {
	data, ok := docs.PictureFile(c.Param("file"))
	if !ok {
		return web.ErrNotFound
	}
	return c.sendCached("image/png", data)
}

// sendCached responds with content that is the same for everyone and changes
// only with the program. Browsers revalidate it by its ETag.
func (c *call) sendCached(mediaType string, body []byte) error {
	sum := sha256.Sum256(body)
	h := c.Response().Header()
	h.Set("Content-Type", mediaType)
	h.Set("Cache-Control", "public, no-cache")
	h.Set("ETag", `"`+hex.EncodeToString(sum[:8])+`"`)
	http.ServeContent(c.Response(), c.Request(), "", time.Time{}, bytes.NewReader(body))
	return nil
}

// searchDocs renders the results of a search.
func (c *call) searchDocs(query string) error {
	book, err := c.s.docs()
	if err != nil {
		return err
	}
	c.identifyVisitor()
	return c.Render(http.StatusOK, docsview.DocsSearch(c.Page("Search the docs", layout.SectionDocs), docsview.DocsPage{
		Sections: book.Sections, Query: query, Hits: book.Find(query, maxHits),
	}))
}

func (c *call) showDocsPage(name string) error {
	book, err := c.s.docs()
	if err != nil {
		return err
	}
	page := book.Page(name)
	if page == nil {
		return web.ErrNotFound
	}
	c.identifyVisitor()
	d := docsview.DocsPage{Sections: book.Sections, Page: page, Body: book.body(name)}
	d.Before, d.After = book.Around(name)
	return c.renderCached(docsview.Docs(c.Page(docsTitle(page), layout.SectionDocs), d))
}

// identifyVisitor finds out who is signed in, for the navigation. Errors are
// ignored, because the documentation is open to everyone.
func (c *call) identifyVisitor() { _ = c.Identify() }

// renderCached responds with a page that browsers may cache. They revalidate it
// each time by its ETag, because it shows who is signed in.
func (c *call) renderCached(component templ.Component) error {
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

// docsTitle returns the title of a page in the browser.
func docsTitle(p *docs.Page) string {
	if p.Name == docs.Home {
		return p.Title
	}
	return p.Title + " · Docs"
}
