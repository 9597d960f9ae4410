package docs

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"sluice/e2e/need"
	"sluice/snippets"
)

var update = flag.Bool("update", false, "write the generated parts of the pages")

// TestWebhookSamples checks that the receivers on the page are the ones of
// package snippets, whose tests run them.
func TestWebhookSamples(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for _, l := range snippets.Languages() {
		code, err := snippets.Render(l.ID, snippets.MannerWebhook, snippets.Call{BaseURL: sampleURL})
		if err != nil {
			t.Fatal(err)
		}
		fence := l.ID
		if fence == "curl" {
			fence = "sh"
		}
		b.WriteString("```" + fence + "\n" + code + "```\n\n")
	}
	generated(t, "webhooks", "verify", b.String())
}

// generated compares a generated part of a page with its source, or updates it.
func generated(t *testing.T, page, name, text string) {
	t.Helper()
	have, err := Source(page)
	if err != nil {
		t.Fatal(err)
	}
	want, err := Fill(have, name, text)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(page+".md", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if have != want {
		t.Errorf("docs/%s.md is out of date; run go test ./docs -update", page)
	}
}

// samples returns the samples of all pages in a language.
func samples(t *testing.T, language string) map[string][]Block {
	t.Helper()
	found := map[string][]Block{}
	var walk func(page string, blocks []Block)
	walk = func(page string, blocks []Block) {
		for _, b := range blocks {
			if b.Type == Code && b.Language == language {
				found[page] = append(found[page], b)
			}
			walk(page, b.Blocks)
			for _, item := range b.Items {
				walk(page, item)
			}
		}
	}
	for p := range book(t).Pages() {
		walk(p.Name, p.Blocks)
	}
	return found
}

func TestSamples(t *testing.T) {
	t.Parallel()
	t.Run("of JSON can be read", func(t *testing.T) {
		t.Parallel()
		for page, list := range samples(t, "json") {
			for _, b := range list {
				if !json.Valid([]byte(b.Code)) {
					t.Errorf("%s: %s", page, b.Code)
				}
			}
		}
	})
	t.Run("of a shell can be read", func(t *testing.T) {
		t.Parallel()
		bash, err := exec.LookPath("bash")
		need.Tool(t, "no bash is installed", err == nil)
		for page, list := range samples(t, "sh") {
			for _, b := range list {
				c := exec.Command(bash, "-n")
				c.Stdin = strings.NewReader(b.Code)
				if out, err := c.CombinedOutput(); err != nil {
					t.Errorf("%s: %s\n%s", page, out, b.Code)
				}
			}
		}
	})
	t.Run("name no server but the one that is replaced", func(t *testing.T) {
		t.Parallel()
		address := regexp.MustCompile(`curl[^|]*?(https?://[a-z0-9.:-]+)`)
		for page, list := range samples(t, "sh") {
			for _, b := range list {
				for _, m := range address.FindAllStringSubmatch(b.Code, -1) {
					if m[1] != sampleURL {
						t.Errorf("%s: %s", page, m[0])
					}
				}
			}
		}
	})
}

// TestLinks follows every link within the documentation.
func TestLinks(t *testing.T) {
	t.Parallel()
	b := book(t)
	anchors := map[string]bool{}
	for p := range b.Pages() {
		anchors[p.Path()] = true
		for _, block := range p.Blocks {
			if block.Type == Heading {
				anchors[p.Path()+"#"+block.ID] = true
			}
		}
	}
	for p := range b.Pages() {
		for _, href := range links(p) {
			if strings.HasPrefix(href, "#") {
				href = p.Path() + href
			}
			if strings.HasPrefix(href, "/docs") && !anchors[href] {
				t.Errorf("docs/%s.md links to %s, which does not exist", p.Name, href)
			}
		}
	}
}

func links(p *Page) (hrefs []string) {
	var spans func([]Span)
	spans = func(list []Span) {
		for _, s := range list {
			if s.Type == Link {
				hrefs = append(hrefs, s.Href)
			}
			spans(s.Spans)
		}
	}
	var blocks func([]Block)
	blocks = func(list []Block) {
		for _, b := range list {
			spans(b.Spans)
			blocks(b.Blocks)
			for _, item := range b.Items {
				blocks(item)
			}
			for _, row := range append([][]Cell{b.Head}, b.Rows...) {
				for _, cell := range row {
					spans(cell)
				}
			}
		}
	}
	spans(p.Lede)
	blocks(p.Blocks)
	return hrefs
}

func TestFill(t *testing.T) {
	t.Parallel()
	page := "a\n<!-- generated x: how -->\nold\n<!-- end -->\nb\n"
	once, err := Fill(page, "x", "new\n")
	if want := "a\n<!-- generated x: how -->\n\nnew\n\n<!-- end -->\nb\n"; err != nil || once != want {
		t.Errorf("%q, %v", once, err)
	}
	if twice, err := Fill(once, "x", "new"); err != nil || twice != once {
		t.Errorf("filled again: %q, %v", twice, err)
	}
	for _, broken := range []string{"a", "<!-- generated x -->"} {
		if _, err := Fill(broken, "x", "new"); err == nil {
			t.Errorf("%q was filled", broken)
		}
	}
}
