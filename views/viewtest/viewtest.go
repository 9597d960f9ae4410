// Package viewtest checks the sample pages of the view packages: against golden files, for
// valid and accessible markup, and for constructs that the content security policy forbids. It
// can also serve the samples for previewing in a browser. Only tests import it.
package viewtest

import (
	"bytes"
	"flag"
	"fmt"
	"log"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/static"
	"sluice/views/layout"

	"github.com/a-h/templ"
)

var (
	update  = flag.Bool("update", false, "write the rendered samples to testdata")
	preview = flag.String("preview", "", "serve the samples at this address instead of testing")
)

// Samples returns the sample pages of a package by name.
type Samples func(theme layout.Theme) map[string]templ.Component

// Merge returns the samples of several sets. It panics if two have the same name.
func Merge(sets ...Samples) Samples {
	return func(theme layout.Theme) map[string]templ.Component {
		all := map[string]templ.Component{}
		for _, set := range sets {
			part := set(theme)
			for name := range part {
				if all[name] != nil {
					panic("two samples are named " + name)
				}
			}
			maps.Copy(all, part)
		}
		return all
	}
}

// Noon is the time at which the samples are rendered.
var Noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// Page returns the layout of a page that an owner sees.
func Page(title string, section layout.Section, theme layout.Theme) layout.Page {
	return layout.Page{
		Title: title, Section: section, Theme: theme, Workspace: "Acme support",
		Person: &layout.Person{Name: "Ada Kowalski", Email: "ada@example.com", Role: "owner"},
	}
}

// Main runs the tests of a package, or serves its samples with -preview.
func Main(m *testing.M, samples Samples) {
	flag.Parse()
	if *preview != "" {
		log.Printf("sample pages at http://%s", *preview)
		log.Fatal(http.ListenAndServe(*preview, handler(samples)))
	}
	os.Exit(m.Run())
}

// policy is the content security policy of pages. Samples must work with what the server sends.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// handler serves every sample under its name and lists them at "/". The cookie
// "theme" or the parameter theme selects the theme.
func handler(samples Samples) http.Handler {
	mux := http.NewServeMux()
	mux.Handle(static.Prefix, static.Handler())
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", policy)
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		theme := r.FormValue("theme")
		if c, err := r.Cookie("theme"); err == nil && theme == "" {
			theme = c.Value
		}
		pages := samples(layout.ParseTheme(theme))
		page, ok := pages[strings.Trim(r.URL.Path, "/")]
		if !ok {
			for _, name := range slices.Sorted(maps.Keys(pages)) {
				fmt.Fprintf(w, `<p><a href="/%s">%s</a></p>`, name, name)
			}
			return
		}
		if err := page.Render(r.Context(), w); err != nil {
			log.Print(err)
		}
	})
	return mux
}

// each runs a check for every sample in parallel. Assets have names without hashes in these
// pages, so that golden files don't change with a style sheet.
func each(t *testing.T, samples Samples, check func(t *testing.T, name, page string)) {
	t.Helper()
	t.Parallel()
	for name, sample := range samples(layout.ThemeDark) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			if err := sample.Render(t.Context(), &out); err != nil {
				t.Fatal(err)
			}
			page := out.String()
			for _, asset := range static.Names() {
				page = strings.ReplaceAll(page, static.URL(asset), static.Prefix+asset)
			}
			check(t, name, page)
		})
	}
}

// Golden compares the content of every sample with testdata/NAME.html. The samples named in
// whole are compared as whole pages.
func Golden(t *testing.T, samples Samples, whole ...string) {
	each(t, samples, func(t *testing.T, name, page string) {
		if !slices.Contains(whole, name) {
			page = content(page)
		}
		page = strings.ReplaceAll(page, "><", ">\n<") + "\n" // one element per line makes diffs readable
		path := filepath.Join("testdata", name+".html")
		if *update {
			if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if page != string(want) {
			t.Errorf("differs from %s at %q; run go test ./views/... -run TestGolden -update and review the diff", path, firstDifference(page, string(want)))
		}
	})
}

var (
	mainElement = regexp.MustCompile(`(?s)<main id="main"(?: tabindex="-1" class="page")?>(.*)</main>`)
	bodyElement = regexp.MustCompile(`(?s)<body[^>]*>(.*)</body>`)
)

// content returns the inside of <main>, or of <body> in the builder, where <main> is only the
// canvas. Fragments are returned as they are.
func content(page string) string {
	for _, element := range []*regexp.Regexp{mainElement, bodyElement} {
		if m := element.FindStringSubmatch(page); m != nil {
			return m[1]
		}
	}
	return page
}

// firstDifference returns the part of a that begins at the first byte where it differs
// from b, at most 80 bytes.
func firstDifference(a, b string) string {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return a[i:min(i+80, len(a))]
		}
	}
	return "the end"
}
