package sluice_test

import (
	"os/exec"
	"strings"
	"testing"

	"sluice/static"
)

// TestLicenses checks that the licenses which the program prints name every Go module that is
// linked, in its version, and what is embedded. "go generate ./static" writes them.
func TestLicenses(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}{{end}}{{end}}", "./cmd/sluice").Output()
	if err != nil {
		t.Fatal(err)
	}
	wanted := map[string]bool{}
	for module := range strings.Lines(string(out)) {
		if module = strings.TrimSpace(module); module != "" {
			wanted[module] = true
		}
	}
	if len(wanted) < 50 {
		t.Fatalf("go list found %d modules", len(wanted))
	}
	for _, name := range []string{
		"Go standard library and runtime", "SQLite", "QuickJS", "embedded: documents/pdfium", "FreeType", "libjpeg-turbo", "OpenJPEG", "Little CMS", "zlib", "Anti-Grain Geometry",
		"Universal Sentence Encoder", "embedded: providers/prices", "embedded: deploy/glibc", "htmx.org", "@xyflow/system", "source: https://pkg.go.dev/github.com/riverqueue/river@",
	} {
		wanted[name] = true
	}
	text := static.Licenses()
	for name := range wanted {
		if !strings.Contains(text, name) {
			t.Errorf("the licenses do not name %s; run 'go generate ./static'", name)
		}
	}
}
