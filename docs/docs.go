// Package docs owns the user documentation: Markdown files that are readable in
// the repository and that the server serves under /docs. It parses them into
// pages of plain blocks, defines their order, and searches them. It must not
// know about HTML, requests, or the other packages of Sluice; tests check what
// the pages say against those packages.
package docs

import (
	"embed"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"slices"
	"strings"

	"github.com/andybalholm/brotli"
)

// files are the pages, compressed, without that of the API, which the server generates.
//
//go:generate go run ./generate
//go:embed packed
var files embed.FS

// packed returns the name of the file of a page.
func packed(name string) string { return "packed/" + name + ".md.br" }

// Home is the name of the start page. Code hosts show a README.md as the page
// of its directory.
const Home = "README"

// sections is the navigation, in reading order. A page without a file is
// omitted.
var sections = []Section{
	{"Start", names("quickstart", "install", "first-flow", "concepts", "coming-from", "faq", "not-possible")},
	{"Tutorials", names("tutorial-classify", "tutorial-pdf", "tutorial-pictures", "tutorial-form", "tutorial-agent", "tutorial-assistant", "tutorial-zapier")},
	{"Build", names("flows", "nodes", "agents", "mcp-client", "expressions", "models", "publishing", "ci", "form", "triggers", "alarms")},
	{"Call", names("runs", "batches", "tests", "knowledge", "streaming", "files", "webhooks", "errors", "keys", "limits", "going-live")},
	{"Reference", names("api", "chat", "mcp", "cli")},
	{"Operate", names("configuration", "deploy", "telemetry", "sign-in", "scaling", "fly", "upgrading", "backup", "security")},
	{"Contributing", names("design", "benchmarks")},
}

// Section is a group of pages in the navigation.
type Section struct {
	Title string
	Pages []*Page
}

// Page is one document. In sections, only the name is set.
type Page struct {
	Name  string // of the file, without .md; of a part, with its page: nodes/chat
	Title string
	Lede  []Span // the paragraph that follows the title
	// Blocks are the blocks after the title and the lede, in order.
	Blocks []Block
	// Markdown is the text that the page was read from.
	Markdown string
	// Parts are the sections with pages of their own. Such a section has its page as Parent
	// and the heading above it as Group.
	Parts  []*Page
	Parent *Page
	Group  string
}

// Path returns the URL path of the page.
func (p *Page) Path() string { return path(p.Name) }

// path returns the URL path of a page by its name. The home page is /docs, which has no
// name below it.
func path(name string) string {
	if name == Home {
		return "/docs"
	}
	return "/docs/" + name
}

// Siblings returns the parts of the same group as a part, with itself.
func (p *Page) Siblings() []*Page {
	if p.Parent == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(p.Parent.Parts), func(s *Page) bool { return s.Group != p.Group })
}

// Kind returns the last element of the name of a part, such as chat.
func (p *Page) Kind() string { return p.Name[strings.LastIndexByte(p.Name, '/')+1:] }

// Headings returns the headings of the page's table of contents.
func (p *Page) Headings() []Block {
	var list []Block
	for _, b := range p.Blocks {
		if b.Type == Heading && b.Level <= 3 {
			list = append(list, b)
		}
	}
	return list
}

// names returns pages that have only a name, for the navigation. Read parses them.
func names(list ...string) []*Page {
	pages := make([]*Page, len(list))
	for i, name := range list {
		pages[i] = &Page{Name: name}
	}
	return pages
}

// Options configures Read.
type Options struct {
	// BaseURL replaces http://127.0.0.1:8080 in samples.
	BaseURL string
	// Highlight splits code into tokens; nil disables highlighting.
	Highlight func(language, code string) []Token
	// Instead replaces the text of pages, by page name. The server uses it for
	// pages that it generates.
	Instead map[string]string

	parts  map[string][]part // by the name of their page
	isPart map[string]bool   // by the name of the part
}

// sampleURL is the URL of the server in the files.
const sampleURL = "http://127.0.0.1:8080"

// proxiedPages lists pages in which sampleURL is the address behind a proxy, which
// must not be replaced.
var proxiedPages = []string{"deploy"}

// Book is the parsed documentation.
type Book struct {
	Sections []Section
	Home     *Page
	pages    map[string]*Page
	index    *index
}

// Read parses all pages of the navigation. It returns an error if a file is
// invalid.
func Read(o Options) (*Book, error) {
	b := &Book{pages: map[string]*Page{}}
	if err := o.split(); err != nil {
		return nil, err
	}
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
			for _, part := range page.Parts {
				b.pages[part.Name] = part
			}
			read.Pages = append(read.Pages, page)
		}
		b.Sections = append(b.Sections, read)
	}
	b.Sections = slices.DeleteFunc(b.Sections, func(s Section) bool { return len(s.Pages) == 0 })
	b.index = newIndex(b)
	return b, nil
}

// Pages iterates over all pages, Home first, and parts after their page.
func (b *Book) Pages() iter.Seq[*Page] {
	return slices.Values(append([]*Page{b.Home}, b.order()...))
}

// Page returns the page with a name, or nil.
func (b *Book) Page(name string) *Page { return b.pages[name] }

// Around returns the previous and the next page in reading order, nil at the
// ends.
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

// order returns all pages except Home, in the order of the navigation.
func (b *Book) order() []*Page {
	var list []*Page
	for _, s := range b.Sections {
		for _, p := range s.Pages {
			list = append(append(list, p), p.Parts...)
		}
	}
	return list
}

// exists reports whether there is a page with a name, as a file or in Instead. The
// navigation leaves out pages that do not exist.
func (o Options) exists(name string) bool {
	_, err := fs.Stat(files, packed(name))
	return err == nil || o.Instead[name] != ""
}

// split reads the parts of the pages that have some. Links of all pages lead to them.
func (o *Options) split() error {
	o.parts, o.isPart = map[string][]part{}, map[string]bool{}
	for _, name := range splitPages {
		text, err := o.source(name)
		if err != nil {
			return err
		}
		_, parts, err := splitPage(name, text)
		if err != nil {
			return fmt.Errorf("docs/%s.md: %w", name, err)
		}
		o.parts[name] = parts
		for _, p := range parts {
			o.isPart[p.name] = true
		}
	}
	return nil
}

// read parses a page and its parts. The Markdown of a page with parts remains the whole.
func (o Options) read(name string) (*Page, error) {
	text, err := o.source(name)
	if err != nil {
		return nil, err
	}
	if !splits(name) {
		return o.parse(name, text)
	}
	index, _, err := splitPage(name, text)
	if err != nil {
		return nil, fmt.Errorf("docs/%s.md: %w", name, err)
	}
	p, err := o.parse(name, index)
	if err != nil {
		return nil, err
	}
	p.Markdown = text
	for _, of := range o.parts[name] {
		sub, err := o.parse(of.name, of.text)
		if err != nil {
			return nil, err
		}
		sub.Parent, sub.Group = p, of.group
		p.Parts = append(p.Parts, sub)
	}
	return p, nil
}

// parse parses the Markdown of a page. The sample URL is replaced by this server's, so that
// examples can be copied, except on the proxiedPages, where it is another server's.
func (o Options) parse(name, text string) (*Page, error) {
	if o.BaseURL != "" && !slices.Contains(proxiedPages, name) {
		text = strings.ReplaceAll(text, sampleURL, strings.TrimRight(o.BaseURL, "/"))
	}
	text = relink(name, text, func(name string) bool { return o.isPart[name] })
	p, err := readPage(name, text, o.Highlight)
	if err != nil {
		return nil, fmt.Errorf("docs/%s.md: %w", name, err)
	}
	p.Markdown = text
	return p, nil
}

// source returns the Markdown of a page: the text in Instead, which was generated, or
// else the embedded file.
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

// Source returns the Markdown file of a page, unchanged. That of the API has none in the program.
func Source(name string) (string, error) {
	file, err := files.Open(packed(name))
	if err != nil {
		return "", err
	}
	defer file.Close() //nolint:errcheck // it is in memory
	text, err := io.ReadAll(brotli.NewReader(file))
	return string(text), err
}
