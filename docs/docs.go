// Package docs owns what users read about Sluice: Markdown files that read well
// where the code is kept, and that the running server shows under /docs. It
// gives them as pages of plain blocks, knows their order, and finds what is in
// them. It knows nothing of how a page looks, of requests, or of the product's
// other packages; what is said here is held against them by tests.
package docs

import (
	"embed"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"strings"
)

//go:embed *.md
var files embed.FS

// Home is the page that the others are reached from; the file of that name is
// what the folder shows by itself.
const Home = "README"

// sections are the order in which pages are read. A page that has no file yet
// is left out.
var sections = []Section{
	{"Start", names("quickstart", "concepts", "faq")},
	{"Build", names("flows", "nodes", "models", "publishing", "form")},
	{"Call", names("runs", "streaming", "files", "webhooks", "errors", "keys", "limits", "going-live")},
	{"Reference", names("api", "mcp", "cli")},
	{"Operate", names("configuration", "deploy", "upgrading", "backup", "security")},
	{"Contributing", names("design", "benchmarks")},
}

// Section is a group of pages in the navigation.
type Section struct {
	Title string
	Pages []*Page
}

// Page is one document. Of the navigation's list, only the name is filled.
type Page struct {
	Name  string // of the file, without .md
	Title string
	Lede  []Span // the paragraph that follows the title
	// Blocks are the rest, in order.
	Blocks []Block
}

// Path is where the server shows the page.
func (p *Page) Path() string { return path(p.Name) }

func path(name string) string {
	if name == Home {
		return "/docs"
	}
	return "/docs/" + name
}

// Headings are what the page's own table of contents lists.
func (p *Page) Headings() []Block {
	var list []Block
	for _, b := range p.Blocks {
		if b.Kind == Heading && b.Level <= 3 {
			list = append(list, b)
		}
	}
	return list
}

func names(list ...string) []*Page {
	pages := make([]*Page, len(list))
	for i, name := range list {
		pages[i] = &Page{Name: name}
	}
	return pages
}

// Options say how a book is read.
type Options struct {
	// BaseURL stands in samples where the files say http://127.0.0.1:8080.
	BaseURL string
	// Highlight splits code into coloured pieces; nil leaves it in one.
	Highlight func(language, code string) []Token
	// Instead gives the text of a page that this server knows better than the
	// file does, by the page's name.
	Instead map[string]string
}

// sampleURL is what the files call the server.
const sampleURL = "http://127.0.0.1:8080"

// behind are pages on which that is the address behind a proxy, and stays.
var behind = []string{"deploy"}

// Book is all pages, read.
type Book struct {
	Sections []Section
	Home     *Page
	pages    map[string]*Page
	index    *index
}

// Read reads all pages of the navigation. An error is a fault of a file.
func Read(o Options) (*Book, error) {
	b := &Book{pages: map[string]*Page{}}
	var err error
	if b.Home, err = o.read(Home); err != nil {
		return nil, err
	}
	b.pages[Home] = b.Home
	for _, s := range sections {
		read := Section{Title: s.Title}
		for _, p := range s.Pages {
			if !o.exists(p.Name) {
				continue
			}
			page, err := o.read(p.Name)
			if err != nil {
				return nil, err
			}
			b.pages[p.Name] = page
			read.Pages = append(read.Pages, page)
		}
		b.Sections = append(b.Sections, read)
	}
	b.Sections = slices.DeleteFunc(b.Sections, func(s Section) bool { return len(s.Pages) == 0 })
	b.index = newIndex(b)
	return b, nil
}

// Pages are all pages, Home first.
func (b *Book) Pages() iter.Seq[*Page] {
	return slices.Values(append([]*Page{b.Home}, b.order()...))
}

// Page finds a page by its name, or nil.
func (b *Book) Page(name string) *Page { return b.pages[name] }

// Around are the pages to read before and after one; nil at the ends.
func (b *Book) Around(name string) (before, after *Page) {
	order := b.order()
	i := slices.IndexFunc(order, func(p *Page) bool { return p.Name == name })
	if i > 0 {
		before = order[i-1]
	}
	if i+1 < len(order) && name != Home {
		after = order[i+1]
	}
	return before, after
}

// order is all pages in the order of the navigation, but for Home.
func (b *Book) order() []*Page {
	var list []*Page
	for _, s := range b.Sections {
		list = append(list, s.Pages...)
	}
	return list
}

func (o Options) exists(name string) bool {
	_, err := fs.Stat(files, name+".md")
	return err == nil || o.Instead[name] != ""
}

func (o Options) read(name string) (*Page, error) {
	text, err := o.source(name)
	if err != nil {
		return nil, err
	}
	if o.BaseURL != "" && !slices.Contains(behind, name) {
		text = strings.ReplaceAll(text, sampleURL, strings.TrimRight(o.BaseURL, "/"))
	}
	p, err := readPage(name, text, o.Highlight)
	if err != nil {
		return nil, fmt.Errorf("docs/%s.md: %w", name, err)
	}
	return p, nil
}

func (o Options) source(name string) (string, error) {
	if text := o.Instead[name]; text != "" {
		return text, nil
	}
	text, err := Source(name)
	if err != nil {
		return "", fmt.Errorf("docs/%s.md: %w", name, err)
	}
	return text, nil
}

// Source is the file of a page, as it is kept.
func Source(name string) (string, error) {
	text, err := fs.ReadFile(files, name+".md")
	return string(text), err
}
