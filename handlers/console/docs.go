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

	"github.com/a-h/templ"

	"sluice/docs"
	"sluice/handlers/web"
	"sluice/snippets"
	docsview "sluice/views/docs"
	"sluice/views/layout"
)

// What a search shows: on a page of its own, and under the field.
const (
	mostHits      = 30
	mostHitsTyped = 8
)

// docs are the same for everybody: nothing in them is private.
func (s *Server) docsRoutes() []route {
	return []route{
		{"GET", "/docs", web.Open, s.showDocs},
		{"GET", "/docs/:page", web.Open, s.showDocsPage},
	}
}

// shelf holds the documentation: read once, and each page made once.
type shelf struct {
	*docs.Book
	bodies map[string]func() ([]byte, error)
}

// newShelf reads the documentation as this server's. The reference of the API
// is written from the document that the API itself gives.
func (s *Server) newShelf() (*shelf, error) {
	book, err := docs.Read(docs.Options{BaseURL: s.PublicURL, Highlight: highlight, Instead: s.docsInstead()})
	if err != nil {
		return nil, fmt.Errorf("read the documentation: %w", err)
	}
	shelf := &shelf{Book: book, bodies: map[string]func() ([]byte, error){}}
	for p := range book.Pages() {
		shelf.bodies[p.Name] = sync.OnceValues(func() ([]byte, error) {
			var b bytes.Buffer
			err := docsview.DocBlocks(p.Blocks).Render(context.Background(), &b)
			return b.Bytes(), err
		})
	}
	return shelf, nil
}

// highlight colours a sample.
func highlight(language, code string) []docs.Token {
	tokens := snippets.Highlight(language, code)
	list := make([]docs.Token, len(tokens))
	for i, t := range tokens {
		list[i] = docs.Token(t)
	}
	return list
}

// body is the content of a page, made when it is first asked for.
func (s *shelf) body(name string) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		text, err := s.bodies[name]()
		if err == nil {
			_, err = w.Write(text)
		}
		return err
	})
}

// showDocs is the first page, or a search.
func (s *Server) showDocs(c *call) error {
	query := strings.TrimSpace(c.QueryParam("q"))
	switch {
	case c.IsFragment():
		shelf, err := s.docs()
		if err != nil {
			return err
		}
		return c.Render(http.StatusOK, docsview.DocsFound(docsview.DocsPage{Query: query, Hits: shelf.Find(query, mostHitsTyped)}))
	case query != "":
		return c.searchDocs(query)
	}
	return c.showDocsPage(docs.Home)
}

func (s *Server) showDocsPage(c *call) error {
	if name := c.Param("page"); name != docs.Home {
		return c.showDocsPage(name)
	}
	return web.ErrNotFound // it has the address without a name
}

func (c *call) searchDocs(query string) error {
	shelf, err := c.s.docs()
	if err != nil {
		return err
	}
	c.greet()
	return c.Render(http.StatusOK, docsview.DocsSearch(c.Page("Search the docs", layout.SectionDocs), docsview.DocsPage{
		Sections: shelf.Sections, Query: query, Hits: shelf.Find(query, mostHits),
	}))
}

func (c *call) showDocsPage(name string) error {
	shelf, err := c.s.docs()
	if err != nil {
		return err
	}
	page := shelf.Page(name)
	if page == nil {
		return web.ErrNotFound
	}
	c.greet()
	d := docsview.DocsPage{Sections: shelf.Sections, Page: page, Body: shelf.body(name)}
	d.Before, d.After = shelf.Around(name)
	return c.renderKept(docsview.Docs(c.Page(docsTitle(page), layout.SectionDocs), d))
}

// greet keeps the navigation of who is signed in; nobody needs to be.
func (c *call) greet() { _ = c.Identify() }

// renderKept answers with a page that the browser may keep, asking each time
// whether it still holds: who is signed in stands on it.
func (c *call) renderKept(component templ.Component) error {
	var b bytes.Buffer
	if err := component.Render(c.Ctx(), &b); err != nil {
		return fmt.Errorf("render %s: %w", c.Path(), err)
	}
	sum := sha256.Sum256(b.Bytes())
	tag := `W/"` + hex.EncodeToString(sum[:8]) + `"` // weak, as it is the same packed and plain
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

// docsTitle is what the browser shows of a page.
func docsTitle(p *docs.Page) string {
	if p.Name == docs.Home {
		return p.Title
	}
	return p.Title + " · Docs"
}
