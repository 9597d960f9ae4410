package sluice_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// minComments is the smallest share of lines that are comments, in percent of all lines that
// are not empty, without tests and generated code. Raise it when the share has grown.
// Code bases that people like to read have 17 to 23 %.
const minComments = 14.0

// TestComments keeps the share of comments from falling. A comment teaches what the code cannot
// say: the reason, the invariant, the unit, where a number comes from. A paraphrase of a name
// does not count for a reader.
func TestComments(t *testing.T) {
	t.Parallel()
	comments, lines := 0, 0
	for _, p := range packages(t) {
		for _, name := range p.GoFiles {
			path := filepath.Join(p.Dir, name)
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			f, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ParseComments|parser.PackageClauseOnly)
			if err != nil {
				t.Fatal(err)
			}
			if ast.IsGenerated(f) {
				continue
			}
			for line := range strings.Lines(string(text)) {
				switch line = strings.TrimSpace(line); {
				case strings.HasPrefix(line, "//"):
					comments++
					lines++
				case line != "":
					lines++
				}
			}
		}
	}
	if share := 100 * float64(comments) / float64(lines); share < minComments {
		t.Errorf("%.2f %% of %d lines are comments, want at least %g %%", share, lines, minComments)
	}
}
