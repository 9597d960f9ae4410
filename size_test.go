package sluice_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"testing"
)

// A person can keep about manyLines in mind. Comments and empty lines count, tests and
// generated code do not.
const (
	manyLines       = 6000
	maxPackageLines = 9000
	maxMethods      = 80 // of a type, in all files of its package
)

// TestSizes keeps packages and types from growing beyond what one person can keep in mind, and
// prints packages that are worth a second look. Move a type with few dependents to a separate
// package instead of raising a limit.
func TestSizes(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		lines, methods := 0, map[string]int{}
		for _, name := range p.GoFiles {
			path := filepath.Join(p.Dir, name)
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			f, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			if ast.IsGenerated(f) {
				continue
			}
			lines += bytes.Count(text, []byte("\n"))
			for _, d := range f.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil {
					methods[receiver(fn.Recv.List[0].Type)]++
				}
			}
		}
		if lines > manyLines {
			t.Logf("%s has %d lines", p.ImportPath, lines)
		}
		if lines > maxPackageLines {
			t.Errorf("%s has %d lines, limit %d", p.ImportPath, lines, maxPackageLines)
		}
		for name, n := range methods {
			if n > maxMethods {
				t.Errorf("%s.%s has %d methods, limit %d", p.ImportPath, name, n, maxMethods)
			}
		}
	}
}

// receiver returns the name of the type that a method belongs to.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}
