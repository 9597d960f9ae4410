package docs

import (
	"bytes"
	"encoding/json"
	"flag"
	stdimage "image"
	"image/png"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
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
		code, err := snippets.Render(l.ID, snippets.ModeWebhook, snippets.Call{BaseURL: sampleURL})
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
	data, err := os.ReadFile(page + ".md") // not Source: an update may have written another part of it
	if err != nil {
		t.Fatal(err)
	}
	have := string(data)
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

// TestLinks follows every link within the documentation, on the pages and in
// the Markdown as it is read in the repository.
func TestLinks(t *testing.T) {
	t.Parallel()
	b := book(t)
	anchors := map[string]bool{}
	for p := range b.Pages() {
		anchors[p.Path()] = true
		for _, part := range p.Parts {
			anchors[p.Path()+"#"+part.Kind()] = true
		}
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
			checkExternal(t, p.Name, href)
		}
	}
	t.Run("to files of the repository", func(t *testing.T) {
		t.Parallel()
		beside := regexp.MustCompile(`\]\(([^)#\s:]+)(#[a-z0-9_-]+)?\)`)
		for _, file := range markdownFiles(t) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range beside.FindAllStringSubmatch(string(text), -1) {
				if _, err := os.Stat(filepath.Join(filepath.Dir(file), m[1])); err != nil {
					t.Errorf("%s links to %s: %v", file, m[1], err)
				}
			}
		}
	})
}

// checkExternal checks the form of a link that leaves the documentation; no
// test uses the network.
func checkExternal(t *testing.T, page, href string) {
	t.Helper()
	if u, err := url.Parse(href); err != nil || strings.HasPrefix(href, "http") && (u.Hostname() == "" || strings.ContainsAny(href, "<> ")) {
		t.Errorf("docs/%s.md links to %s, which is not a URL: %v", page, href, err)
	}
}

// markdownFiles are the pages, the decisions and the README of the repository.
func markdownFiles(t *testing.T) []string {
	t.Helper()
	files := []string{"../README.md"}
	for _, pattern := range []string{"*.md", "decisions/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	return files
}

// TestPages_areListed checks that every file is in the navigation, and that
// every page in the navigation has a file.
func TestPages_areListed(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := 1 // Home
	for _, s := range sections {
		for _, p := range s.Pages {
			if listed++; !slices.Contains(files, p.Name+".md") {
				t.Errorf("%s is in the navigation and has no file", p.Name)
			}
		}
	}
	if listed != len(files) {
		t.Errorf("%d files, %d pages in the navigation", len(files), listed)
	}
}

// maxPicture is how many bytes a picture of the pages may have.
const maxPicture = 120 << 10

// TestPictures checks that pictures are small and that a page shows each.
func TestPictures(t *testing.T) {
	t.Parallel()
	shown := map[string]bool{}
	for p := range book(t).Pages() {
		for _, b := range p.Blocks {
			if b.Type == Picture {
				shown[filepath.Base(b.Source)] = true
			}
		}
	}
	files, err := pictures.ReadDir("images/steps")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		data, _ := PictureFile(f.Name())
		if len(data) > maxPicture {
			t.Errorf("images/steps/%s has %d bytes, more than %d", f.Name(), len(data), maxPicture)
		}
		if image, err := png.Decode(bytes.NewReader(data)); err != nil {
			t.Errorf("images/steps/%s: %v", f.Name(), err)
		} else if _, ok := image.(*stdimage.Paletted); !ok {
			t.Errorf("images/steps/%s has no palette; make screenshots writes one", f.Name())
		}
		if !shown[f.Name()] {
			t.Errorf("no page shows images/steps/%s", f.Name())
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
