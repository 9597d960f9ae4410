package views

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"sluice/static"
)

// render gives the page's HTML, with assets under their plain names: a golden
// file must not change because a style did.
func render(t *testing.T, name string) string {
	t.Helper()
	var out bytes.Buffer
	if err := samples(ThemeDark)[name].Render(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	for _, asset := range static.Names() {
		text = strings.ReplaceAll(text, static.URL(asset), static.Prefix+asset)
	}
	return text
}

// each runs a test for every sample.
func each(t *testing.T, check func(t *testing.T, name, text string)) {
	t.Parallel()
	for name := range samples(ThemeDark) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, name, render(t, name))
		})
	}
}

func TestGolden(t *testing.T) {
	each(t, func(t *testing.T, name, text string) {
		path := filepath.Join("testdata", name+".html")
		text = strings.ReplaceAll(text, "><", ">\n<") // so that a difference is a line
		if *update {
			if err := os.WriteFile(path, []byte(text+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if text+"\n" != string(want) {
			t.Errorf("differs from %s at %q; run go test ./views -update and read the difference", path, firstDifference(text, string(want)))
		}
	})
}

func firstDifference(a, b string) string {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return a[i:min(i+80, len(a))]
		}
	}
	return "the end"
}

func TestAssets(t *testing.T) {
	asset := regexp.MustCompile(static.Prefix + `([a-z.]+)(?:#([a-z0-9-]+))?`)
	icons := icons(t)
	each(t, func(t *testing.T, _, text string) {
		for _, m := range asset.FindAllStringSubmatch(text, -1) {
			if !slices.Contains(static.Names(), m[1]) {
				t.Errorf("there is no asset %q", m[1])
			}
			if m[2] != "" && !slices.Contains(icons, m[2]) {
				t.Errorf("there is no icon %q in static/src/icons.txt", m[2])
			}
		}
	})
}

func icons(t *testing.T) []string {
	t.Helper()
	list, err := os.ReadFile("../static/src/icons.txt")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(list))
}

// void are the elements that have no end; all others need one, as a missing end
// goes unseen otherwise.
var void = []string{"meta", "link", "input", "hr", "br", "img"}

func TestHTML(t *testing.T) {
	each(t, func(t *testing.T, name, text string) {
		checkNesting(t, text)
		root, err := html.Parse(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		p := readPage(root)
		p.check(t)
		if strings.HasPrefix(text, "<!doctype") && p.count[atom.H1] != 1 {
			t.Errorf("%d headings of the first rank", p.count[atom.H1])
		}
	})
}

// checkNesting holds that each element is closed, in order.
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
			if !slices.Contains(void, string(name)) {
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

// readable is what a page says about itself to those who do not see it.
type readable struct {
	ids      []string
	refs     []string
	labelled []string
	controls []*html.Node
	buttons  []*html.Node
	count    map[atom.Atom]int
}

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

func (p *readable) check(t *testing.T) {
	t.Helper()
	for i, id := range p.ids {
		if slices.Contains(p.ids[:i], id) {
			t.Errorf("id %q twice", id)
		}
	}
	for _, ref := range p.refs {
		if !slices.Contains(p.ids, ref) {
			t.Errorf("nothing has the id %q", ref)
		}
	}
	for _, n := range p.controls {
		if attr(n, "type") != "hidden" && !has(n, "hidden") && attr(n, "aria-label") == "" && !slices.Contains(p.labelled, attr(n, "id")) {
			t.Errorf("field %q has no label", attr(n, "name"))
		}
	}
	for _, n := range p.buttons {
		if attr(n, "aria-label") == "" && strings.TrimSpace(words(n)) == "" {
			t.Errorf("<%s class=%q> says nothing", n.Data, attr(n, "class"))
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

func words(n *html.Node) string {
	var out strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			out.WriteString(d.Data)
		}
	}
	return out.String()
}

// forbidden are ways to have text run as a program or a style, which the
// page's policy refuses in any case. Here they do not even get written.
var forbidden = map[string]*regexp.Regexp{
	"hx-on runs text as a program":                   regexp.MustCompile(`hx-on\b`),
	"js: runs text as a program":                     regexp.MustCompile(`\bjs:|javascript:`),
	"a style attribute is refused by the policy":     regexp.MustCompile(`\sstyle=`),
	"a <style> element is refused by the policy":     regexp.MustCompile(`(?i)<style\b`),
	"an inline script is refused by the policy":      regexp.MustCompile(`(?i)<script\b[^>]*>\s*[^<\s]`),
	"a handler in an attribute is refused":           regexp.MustCompile(`(?i)\son[a-z]+\s*=`),
	"a trigger filter runs text as a program":        regexp.MustCompile(`hx-trigger="[^"]*\[`),
	"hx-… is not valid HTML; write data-hx-…":        regexp.MustCompile(`[^-]\bhx-(get|post|put|patch|delete|target|swap|trigger|select|sse|vals|include|status|push|replace|confirm|boost|preserve|indicator)`),
	"aria-current without a value says no":           regexp.MustCompile(`aria-current(\?=|[\s>])`),
	"templ's scripts, styles and raw text go around": regexp.MustCompile(`(?m)^\s*(script|css) \w+\(|templ\.(Raw|JSFuncCall|JSUnsafeFuncCall|SafeCSS)`),
}

func TestForbidden(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.templ")
	if err != nil || len(files) == 0 {
		t.Fatalf("no views: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for why, pattern := range forbidden {
			if found := pattern.Find(text); found != nil {
				t.Errorf("%s: %q: %s", file, found, why)
			}
		}
	}
}

func TestForbidden_catches(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`<a data-hx-on:click="x()">`, `<a href="javascript:x()">`, `<p style="color: red">`, "<style>", "<script>x()</script>",
		`<a onclick="x()">`, `<a data-hx-trigger="click[ctrlKey]">`, ` <a hx-get="/x">`, `templ.Raw(x)`, "script go() {", `<a aria-current?={ x }>`, `<a data-hx-vals="js:{a: 1}">`,
	} {
		caught := false
		for _, pattern := range forbidden {
			caught = caught || pattern.MatchString(text)
		}
		if !caught {
			t.Errorf("%s passes", text)
		}
	}
}
