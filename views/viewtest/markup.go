package viewtest

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sluice/static"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// voidElements have no end tag. A missing end tag of any other element is easily overlooked,
// because browsers add it.
var voidElements = []string{"meta", "link", "input", "hr", "br", "img"}

var assetURL = regexp.MustCompile(static.Prefix + `([a-z.]+)(?:#([a-z0-9-]+))?`)

// preload matches module preloads, whose names contain hashes; package static checks that they
// exist.
var preload = regexp.MustCompile(`<link rel="modulepreload"[^>]*>`)

// Markup checks the HTML of every sample: elements nest, IDs are unique,
// references resolve, every control and button has an accessible name, and
// every asset and icon exists.
func Markup(t *testing.T, samples Samples) {
	icons := iconNames(t)
	each(t, samples, func(t *testing.T, _, page string) {
		checkNesting(t, page)
		root, err := html.Parse(strings.NewReader(page))
		if err != nil {
			t.Fatal(err)
		}
		p := readPage(root)
		p.check(t)
		if strings.HasPrefix(page, "<!doctype") && p.count[atom.H1] != 1 {
			t.Errorf("the page has %d <h1> elements, want one", p.count[atom.H1])
		}
		for _, m := range assetURL.FindAllStringSubmatch(preload.ReplaceAllString(page, ""), -1) {
			if !slices.Contains(static.Names(), m[1]) {
				t.Errorf("there is no asset %q", m[1])
			}
			if m[2] != "" && !slices.Contains(icons, m[2]) {
				t.Errorf("there is no icon %q in static/src/icons.txt", m[2])
			}
		}
	})
}

func iconNames(t *testing.T) []string {
	t.Helper()
	list, err := os.ReadFile("../../static/src/icons.txt")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(list))
}

// checkNesting checks that every element is closed, in order.
func checkNesting(t *testing.T, text string) {
	t.Helper()
	var open []string
	z := html.NewTokenizer(strings.NewReader(text))
	for {
		switch z.Next() {
		case html.ErrorToken:
			if len(open) > 0 {
				t.Errorf("not closed: %v", open)
			}
			return
		case html.StartTagToken:
			name, _ := z.TagName()
			if !slices.Contains(voidElements, string(name)) {
				open = append(open, string(name))
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			if len(open) == 0 || open[len(open)-1] != string(name) {
				t.Fatalf("</%s> closes %v", name, open)
			}
			open = open[:len(open)-1]
		}
	}
}

// readable holds the parts of a page that assistive technology relies on.
type readable struct {
	ids      []string
	refs     []string
	labelled []string
	controls []*html.Node
	buttons  []*html.Node
	count    map[atom.Atom]int
}

// readPage collects what the checks need from a page in one pass: IDs and references to
// them, labels, controls, and everything that needs a name.
func readPage(root *html.Node) *readable {
	p := &readable{count: map[atom.Atom]int{}}
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		p.count[n.DataAtom]++
		for _, a := range n.Attr {
			switch a.Key {
			case "id":
				p.ids = append(p.ids, a.Val)
			case "aria-describedby", "aria-labelledby", "aria-controls", "commandfor":
				p.refs = append(p.refs, strings.Fields(a.Val)...)
			case "for":
				p.labelled = append(p.labelled, a.Val)
				p.refs = append(p.refs, a.Val)
			}
		}
		switch n.DataAtom {
		case atom.Input, atom.Select, atom.Textarea:
			p.controls = append(p.controls, n)
		case atom.Button, atom.A, atom.Summary:
			p.buttons = append(p.buttons, n)
		}
	}
	return p
}

// check fails for duplicate IDs, references to IDs that do not exist, controls without
// a label, and buttons and links without a name that screen readers can read.
func (p *readable) check(t *testing.T) {
	t.Helper()
	for i, id := range p.ids {
		if slices.Contains(p.ids[:i], id) {
			t.Errorf("duplicate id %q", id)
		}
	}
	for _, ref := range p.refs {
		if !slices.Contains(p.ids, ref) {
			t.Errorf("no element has the id %q", ref)
		}
	}
	for _, n := range p.controls {
		if attr(n, "type") != "hidden" && !has(n, "hidden") && attr(n, "aria-label") == "" && !slices.Contains(p.labelled, attr(n, "id")) {
			t.Errorf("field %q has no label", attr(n, "name"))
		}
	}
	for _, n := range p.buttons {
		if attr(n, "aria-label") == "" && strings.TrimSpace(text(n)) == "" {
			t.Errorf("<%s class=%q> has no accessible name", n.Data, attr(n, "class"))
		}
	}
}

func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

func has(n *html.Node, key string) bool {
	return slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == key })
}

func text(n *html.Node) string {
	var out strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			out.WriteString(d.Data)
		}
		if d.DataAtom == atom.Img {
			out.WriteString(attr(d, "alt"))
		}
	}
	return out.String()
}
