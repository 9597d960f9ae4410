package docs

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"text/template"
	"time"
)

// numbers reads constants from source files, because most are not exported.
type numbers struct {
	packages map[string]map[string]ast.Expr
}

func (n *numbers) funcs() template.FuncMap {
	return template.FuncMap{
		"bytes": func(dir, name string) (string, error) {
			v, err := n.constant(dir, name)
			for _, unit := range []string{"bytes", "KiB", "MiB"} {
				if v%1024 != 0 || unit == "MiB" {
					return fmt.Sprintf("%d %s", v, unit), err
				}
				v /= 1024
			}
			return "", err
		},
		"span": func(dir, name string) (string, error) {
			v, err := n.constant(dir, name)
			return span(time.Duration(v)), err
		},
		"number": func(dir, name string) (string, error) {
			v, err := n.constant(dir, name)
			return thousands(v), err
		},
		"found":       found,
		"attempts":    func() (string, error) { list, err := n.pauses(); return strconv.Itoa(len(list) + 1), err },
		"attemptDays": n.attemptDays,
	}
}

// span formats a duration for people, such as "10 minutes".
func span(d time.Duration) string {
	for _, unit := range []struct {
		name string
		of   time.Duration
		from time.Duration // below that, the next smaller unit reads better
	}{{"day", 24 * time.Hour, 48 * time.Hour}, {"hour", time.Hour, time.Hour}, {"minute", time.Minute, 2 * time.Minute}} {
		if d >= unit.from && d%unit.of == 0 {
			if d == unit.of {
				return "1 " + unit.name
			}
			return fmt.Sprintf("%d %ss", d/unit.of, unit.name)
		}
	}
	if d == time.Second {
		return "1 second"
	}
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + " seconds"
}

func thousands(v int64) string {
	text := strconv.FormatInt(v, 10)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// found returns the number that the first group of a pattern matches in a file.
func found(path, pattern string) (string, error) {
	text, err := os.ReadFile(filepath.Join("..", path))
	if err != nil {
		return "", err
	}
	m := regexp.MustCompile(pattern).FindStringSubmatch(string(text))
	if m == nil {
		return "", fmt.Errorf("%s has nothing like %s", path, pattern)
	}
	v, err := strconv.ParseInt(m[1], 10, 64)
	return thousands(v), err
}

// read returns the constants and variables of a package by name.
func (n *numbers) read(dir string) (map[string]ast.Expr, error) {
	if list, ok := n.packages[dir]; ok {
		return list, nil
	}
	paths, err := filepath.Glob(filepath.Join("..", dir, "*.go"))
	list := map[string]ast.Expr{}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range file.Decls {
			if g, ok := d.(*ast.GenDecl); ok {
				values(list, g)
			}
		}
	}
	n.packages[dir] = list
	return list, err
}

func values(list map[string]ast.Expr, g *ast.GenDecl) {
	for _, s := range g.Specs {
		if v, ok := s.(*ast.ValueSpec); ok && len(v.Values) == len(v.Names) {
			for i, name := range v.Names {
				list[name.Name] = v.Values[i]
			}
		}
	}
}

func (n *numbers) constant(dir, name string) (int64, error) {
	if of, ok := map[string]string{"nodeTimeout": "MaxNodeTimeoutS", "nodeBackoff": "MaxBackoffS"}[name]; ok {
		v, err := n.constant(dir, of) // in seconds
		return v * int64(time.Second), err
	}
	list, err := n.read(dir)
	if err != nil {
		return 0, err
	}
	v, err := n.value(dir, list[name])
	if err != nil {
		return 0, fmt.Errorf("%s in %s: %w", name, dir, err)
	}
	i, _ := constant.Int64Val(constant.ToInt(v))
	return i, nil
}

var units = map[string]time.Duration{"Millisecond": time.Millisecond, "Second": time.Second, "Minute": time.Minute, "Hour": time.Hour}

// value evaluates a constant expression of literals, names and arithmetic.
func (n *numbers) value(dir string, e ast.Expr) (constant.Value, error) {
	switch e := e.(type) {
	case *ast.BasicLit:
		return constant.MakeFromLiteral(e.Value, e.Kind, 0), nil
	case *ast.ParenExpr:
		return n.value(dir, e.X)
	case *ast.Ident:
		v, err := n.constant(dir, e.Name)
		return constant.MakeInt64(v), err
	case *ast.SelectorExpr:
		from := e.X.(*ast.Ident).Name
		if from == "time" {
			return constant.MakeInt64(int64(units[e.Sel.Name])), nil
		}
		if from == "value" {
			from = "flow/value"
		}
		v, err := n.constant(from, e.Sel.Name)
		return constant.MakeInt64(v), err
	case *ast.BinaryExpr:
		x, err := n.value(dir, e.X)
		if err != nil {
			return nil, err
		}
		y, err := n.value(dir, e.Y)
		if err != nil {
			return nil, err
		}
		if e.Op == token.SHL || e.Op == token.SHR {
			by, _ := constant.Uint64Val(y)
			return constant.Shift(x, e.Op, uint(by)), nil
		}
		return constant.BinaryOp(x, e.Op, y), nil
	}
	return nil, fmt.Errorf("there is no such number, or it is written as %T", e)
}

// pauses returns the delays between the attempts of a delivery.
func (n *numbers) pauses() ([]time.Duration, error) {
	list, err := n.read("flow")
	if err != nil {
		return nil, err
	}
	written, ok := list["deliveryPauses"].(*ast.CompositeLit)
	if !ok {
		return nil, fmt.Errorf("flow has no deliveryPauses")
	}
	var all []time.Duration
	for _, e := range written.Elts {
		v, err := n.value("flow", e)
		if err != nil {
			return nil, err
		}
		d, _ := constant.Int64Val(v)
		all = append(all, time.Duration(d))
	}
	return all, nil
}

func (n *numbers) attemptDays() (string, error) {
	list, err := n.pauses()
	var sum time.Duration
	for _, d := range list {
		sum += d
	}
	words := []string{"no", "one", "two", "three", "four", "five"}
	return words[int(sum.Round(24*time.Hour)/(24*time.Hour))], err
}
