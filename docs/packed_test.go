package docs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPacked_pages_are_the_files compares what the program has with the Markdown files.
func TestPacked_pages_are_the_files(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	pages := 0
	for _, file := range names {
		if file == "api.md" { // the server makes it
			continue
		}
		pages++
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Source(strings.TrimSuffix(file, ".md")); err != nil || got != string(want) {
			t.Errorf("the packed page of docs/%s differs (%v); run go generate ./docs", file, err)
		}
	}
	if packed, err := files.ReadDir("packed"); err != nil || len(packed) != pages {
		t.Errorf("%d packed pages for %d files (%v); run go generate ./docs", len(packed), pages, err)
	}
}
