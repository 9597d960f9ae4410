package sluice_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// TestValues_are_not_asserted_as_maps checks that only packages that decode JSON of providers with
// encoding/json assert objects as map[string]any. An object of a run is a *value.Object; an assertion
// would silently miss it. Use value.AsObject, value.AsMap or value.Get.
func TestValues_are_not_asserted_as_maps(t *testing.T) {
	t.Parallel()
	decodeThemselves := []string{"sluice/flow/value", "sluice/providers", "sluice/providers/hosted", "sluice/providers/hosted/hostedtest", "sluice/providers/prices", "sluice/static/build"}
	for _, p := range packages(t) {
		if slices.Contains(decodeThemselves, p.ImportPath) || strings.HasPrefix(p.ImportPath, "sluice/e2e") || strings.HasPrefix(p.ImportPath, "sluice/bench") {
			continue
		}
		for _, name := range p.GoFiles {
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, p.Dir+"/"+name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if a, ok := n.(*ast.TypeAssertExpr); ok && isStringMap(a.Type) {
					t.Errorf("%s: asserts map[string]any; use value.AsMap or value.AsObject", set.Position(a.Pos()))
				}
				return true
			})
		}
	}
}

// isStringMap reports whether an expression is the type map[string]any.
func isStringMap(e ast.Expr) bool {
	m, ok := e.(*ast.MapType)
	if !ok {
		return false
	}
	key, isIdent := m.Key.(*ast.Ident)
	item, isAny := m.Value.(*ast.Ident)
	return isIdent && isAny && key.Name == "string" && item.Name == "any"
}
