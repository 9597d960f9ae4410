package viewtest

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// forbidden matches markup that the content security policy blocks, or that
// browsers and htmx read differently than it looks. The key says why.
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

// Templates checks that no template in the current directory has forbidden markup.
func Templates(t *testing.T) {
	t.Helper()
	files, err := filepath.Glob("*.templ")
	if err != nil || len(files) == 0 {
		t.Fatalf("no templates: %v", err)
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
