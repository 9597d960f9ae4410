package sluice_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// named matches words of comments that can only be names of code, such as WriteRun, and the package
// before them.
var named = regexp.MustCompile(`\b(?:([a-z][a-z0-9]*)\.)?([A-Z][a-z0-9]+[A-Z]\w*|[a-z]+[A-Z]\w*)\b`)

// properNames have the form of identifiers but are names of products, formats and terms, or examples.
var properNames = []string{
	"CommonMark", "CtxStore", "DevTools", "DigitalOcean", "EventSource", "GitHub", "LibreOffice", "OpenTelemetry", "QuickJS", "ReplyText", "SentencePiece",
	"SmartArt", "SpreadsheetML", "TeX", "W3C", "WireServer", "WordprocessingML", "exprList", "keyCreate", "onLine",
}

// TestComments_name_what_exists checks that an identifier in a comment is one of the code: a name that
// was changed everywhere else misleads the reader.
func TestComments_name_what_exists(t *testing.T) {
	t.Parallel()
	type mention struct {
		at   token.Position
		name string
	}
	var mentions []mention
	known, ours := map[string]bool{}, map[string]bool{"": true}
	for _, name := range properNames {
		known[name] = true
	}
	files := token.NewFileSet()
	for _, p := range packages(t) {
		ours[path.Base(p.ImportPath)] = true
		paths, err := filepath.Glob(filepath.Join(p.Dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range paths {
			f, err := parser.ParseFile(files, name, nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.Ident:
					known[n.Name] = true
				case *ast.BasicLit: // of scripts, schemas and other programs
					for _, m := range named.FindAllStringSubmatch(n.Value, -1) {
						known[m[2]] = true
					}
				}
				return true
			})
			if ast.IsGenerated(f) {
				continue
			}
			for _, group := range f.Comments {
				for _, c := range group.List {
					for _, m := range named.FindAllStringSubmatch(c.Text, -1) {
						if ours[m[1]] {
							mentions = append(mentions, mention{files.Position(c.Pos()), m[2]})
						}
					}
				}
			}
		}
	}
	for _, m := range mentions {
		if !known[m.name] && !strings.HasSuffix(m.name, "_") {
			t.Errorf("%s: there is no %s", m.at, m.name)
		}
	}
}
