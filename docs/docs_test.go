package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sluice/flow/codes"
	"strings"
	"testing"
)

func book(t *testing.T) *Book {
	t.Helper()
	b, err := Read(Options{Instead: apiPage(t)})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// apiPage returns the page that the server generates.
func apiPage(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("api.md")
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{"api": string(text)}
}

func TestRead(t *testing.T) {
	t.Parallel()
	t.Run("lists each page once", func(t *testing.T) {
		t.Parallel()
		var names []string
		for p := range book(t).Pages() {
			if p.Title == "" || len(p.Lede) == 0 || slices.Contains(names, p.Name) {
				t.Errorf("page %q, title %q", p.Name, p.Title)
			}
			names = append(names, p.Name)
		}
	})
	t.Run("finds the previous and the next page", func(t *testing.T) {
		t.Parallel()
		b := book(t)
		order := b.order()
		if before, after := b.Around(order[1].Name); before != order[0] || after != order[2] {
			t.Errorf("around %s: %v and %v", order[1].Name, before, after)
		}
		if before, after := b.Around(order[len(order)-1].Name); before == nil || after != nil {
			t.Error("the last page has a next one")
		}
	})
	t.Run("puts the server's own address into samples", func(t *testing.T) {
		t.Parallel()
		b, err := Read(Options{BaseURL: "https://flows.example.com/", Instead: apiPage(t)})
		if err != nil {
			t.Fatal(err)
		}
		if hits := b.Find("problem+json type", 1); len(hits) != 1 {
			t.Fatal("no page shows a problem")
		}
		for p := range b.Pages() {
			for _, block := range p.Blocks {
				if strings.Contains(blockText(block), sampleURL) && p.Name != "deploy" {
					t.Errorf("%s names %s", p.Name, sampleURL)
				}
			}
		}
	})
}

func TestReadPage(t *testing.T) {
	t.Parallel()
	read := func(t *testing.T, text string) *Page {
		t.Helper()
		p, err := readPage("page", "# Title\n\nLede.\n\n"+text, nil)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	t.Run("derives anchors as code hosts do", func(t *testing.T) {
		t.Parallel()
		p := read(t, "## Two words, and a *third*!\n\n### `run_failed`\n\n### `run_failed`\n")
		var ids []string
		for _, h := range p.Headings() {
			ids = append(ids, h.ID)
		}
		if want := []string{"two-words-and-a-third", "run_failed", "run_failed-1"}; !slices.Equal(ids, want) {
			t.Errorf("%v, want %v", ids, want)
		}
	})
	t.Run("rewrites links to paths of the server", func(t *testing.T) {
		t.Parallel()
		spans := read(t, "[a](keys.md#roll) [b](README.md) [c](#here) [d](https://example.com)").Blocks[0].Spans
		var hrefs []string
		for _, s := range spans {
			if s.Type == Link {
				hrefs = append(hrefs, s.Href)
			}
		}
		if want := []string{"/docs/keys#roll", "/docs", "#here", "https://example.com"}; !slices.Equal(hrefs, want) {
			t.Errorf("%v, want %v", hrefs, want)
		}
	})
	t.Run("reads the tone of notes", func(t *testing.T) {
		t.Parallel()
		b := read(t, "> [!WARNING]\n> Back **it** up.").Blocks[0]
		if b.Type != Note || b.Tone != "warning" || b.Blocks[0].Text() != "Back it up." {
			t.Errorf("%+v", b)
		}
	})
	t.Run("groups samples in several languages", func(t *testing.T) {
		t.Parallel()
		p := read(t, "```sh\na\n```\n\n```python\nb\n```\n\n```go\nc\n```\n\nText.\n\n```sh\nd\n```\n\n```json\n1\n```\n")
		var types []BlockType
		for _, b := range p.Blocks {
			types = append(types, b.Type)
		}
		if want := []BlockType{Codes, Paragraph, Code, Code}; !slices.Equal(types, want) || len(p.Blocks[0].Blocks) != 3 {
			t.Errorf("%v, want %v", types, want)
		}
	})
	t.Run("knows an endpoint", func(t *testing.T) {
		t.Parallel()
		if b := read(t, "`POST /v1/flow/{flow_id}/run`").Blocks[0]; b.Type != Endpoint || b.Method != "POST" || b.Address != "/v1/flow/{flow_id}/run" {
			t.Errorf("%+v", b)
		}
	})
	for name, text := range map[string]string{
		"HTML": "<b>x</b>", "a block of HTML": "<div>\nx\n</div>", "a link to nowhere": "[x](/keys)", "a script": "[x](javascript:alert)", "a picture": "![x](y.png)",
	} {
		t.Run("refuses "+name, func(t *testing.T) {
			t.Parallel()
			if _, err := readPage("page", "# Title\n\nLede.\n\n"+text, nil); err == nil {
				t.Error("it was read")
			}
		})
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	b := book(t)
	for query, want := range map[string]string{
		"run_failed": "/docs/errors#run_failed", "provider_rate_limited": "/docs/errors#provider_rate_limited", "idempotency mismatch": "/docs/errors#idempotency_mismatch",
		"pagination": "/docs/runs#list-page-by-page", "CORS": "/docs/not-possible#cors-calls-from-a-browser", "SSO": "/docs/not-possible#sso", "okta": "/docs/not-possible#sso",
		"tracing": "/docs/telemetry#traces", "opentelemetry": "/docs/telemetry#traces", "cron": "/docs/triggers#schedule-a-flow-with-cron", "SDK": "/docs/not-possible#sdk",
		"n8n": "/docs/coming-from#from-n8n", "zapier": "/docs/tutorial-zapier#zapier", "CEL": "/docs/expressions",
		"http_request": "/docs/nodes/http_request", "HTTP request": "/docs/nodes/http_request", "Start a run": "/docs/api#start-a-run", "destination block": "/docs/errors#destination_blocked",
	} {
		t.Run(query, func(t *testing.T) {
			t.Parallel()
			hits := b.Find(query, 3)
			if len(hits) == 0 || hits[0].Path != want {
				t.Errorf("the first of %d is not %s: %+v", len(hits), want, hits)
			}
		})
	}
	t.Run("shows why", func(t *testing.T) {
		t.Parallel()
		hit := b.Find("metadata addresses", 1)[0]
		var found []string
		for _, m := range hit.Excerpt {
			if m.Found {
				found = append(found, m.Text)
			}
		}
		if !slices.Contains(found, "metadata") || !slices.Contains(found, "addresses") {
			t.Errorf("%+v", hit.Excerpt)
		}
	})
	t.Run("uses the words that are known", func(t *testing.T) {
		t.Parallel()
		if hits := b.Find("okta xyzzy", 3); len(hits) == 0 || hits[0].Path != "/docs/not-possible#sso" {
			t.Errorf("%+v", hits)
		}
		if hits := b.Find("xyzzy", 3); len(hits) > 0 {
			t.Errorf("%+v", hits)
		}
		if b.Find(" ?! ", 3) != nil {
			t.Error("nothing was asked for")
		}
	})
	t.Run("survives any text", func(t *testing.T) {
		t.Parallel()
		for _, q := range []string{"İ ẞ", strings.Repeat("a ", 500), "\x00", "{{name}}", "日本"} {
			b.Find(q, 3)
		}
	})
}

// TestErrorPage_explains_every_code checks that the page explains every code as package codes does.
func TestErrorPage_explains_every_code(t *testing.T) {
	var requests, runs strings.Builder
	for _, f := range codes.All() {
		if f.Request != "" {
			requests.WriteString(f.Explanation() + "\n")
		} else {
			runs.WriteString(f.Explanation() + "\n")
		}
	}
	generated(t, "errors", "requests", requests.String())
	generated(t, "errors", "runs", runs.String())
}

// TestErrors_reserved checks that exactly the codes that the program does not
// use are described as reserved.
func TestErrors_reserved(t *testing.T) {
	t.Parallel()
	declared, err := os.ReadFile("../flow/errors.go")
	if err != nil {
		t.Fatal(err)
	}
	page, err := Source("errors")
	if err != nil {
		t.Fatal(err)
	}
	uses, name := map[string]bool{}, regexp.MustCompile(`\bCode[A-Z]\w*`)
	for _, dir := range []string{"../cmd", "../db", "../flow", "../handlers", "../jobs", "../nodes", "../providers"} {
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || path == "../flow/errors.go" ||
				path == "../handlers/console/run_actions.go" || path == "../handlers/editor/running_marks.go" { // these have advice for every code
				return err
			}
			data, err := os.ReadFile(path)
			for _, code := range name.FindAllString(string(data), -1) {
				uses[code] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	reserved := 0
	for _, m := range regexp.MustCompile(`(?m)^\t(Code\w+)\s+Code = "(\w+)"`).FindAllStringSubmatch(string(declared), -1) {
		used := uses[m[1]]
		_, text, _ := strings.Cut(page, "### `"+m[2]+"`\n\n")
		says := strings.HasPrefix(text, "Reserved for ")
		if says == used {
			t.Errorf("docs/errors.md says that %s is reserved: %v; the program uses it: %v", m[2], says, used)
		}
		if says {
			reserved++
		}
	}
	if reserved > 1 {
		t.Errorf("%d codes are reserved", reserved)
	}
}
