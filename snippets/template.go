package snippets

import (
	"embed"
	"fmt"
	"reflect"
	"strings"
	"text/template/parse"
)

//go:embed templates/*.tmpl
var files embed.FS

// templateSet executes the templates of one file. It implements the subset of text/template
// that the snippets use: text, fields, functions, if, range with an index, and named
// templates.
//
// Only the parser of text/template is used, because its execution looks methods up by name:
// the linker would keep every exported method of every type, several megabytes here.
type templateSet struct {
	trees map[string]*parse.Tree
	funcs map[string]func(args []any) string
}

// parseTemplates parses templates/NAME.tmpl. Templates can call funcs, ne and print. It panics
// if the file is malformed.
func parseTemplates(name string, funcs map[string]func(args []any) string) *templateSet {
	source, err := files.ReadFile("templates/" + name + ".tmpl")
	if err != nil {
		panic(err)
	}
	names := map[string]any{"ne": true, "print": true}
	for f := range funcs {
		names[f] = true
	}
	trees, err := parse.Parse(name, string(source), "", "", names)
	if err != nil {
		panic(err)
	}
	return &templateSet{trees, funcs}
}

// execute writes the named template. It panics if the template uses an unsupported feature;
// TestRender executes every template.
func (t *templateSet) execute(b *strings.Builder, name string, dot any) {
	t.walk(b, t.trees[name].Root, scope{dot: dot})
}

// scope has the data that a template can refer to.
type scope struct {
	dot   any
	index any // in a range, the value of its first variable
}

// walk writes the text of a node. As in text/template, a named template sees only its
// argument, and in a range the dot is the item and the variable is its index.
func (t *templateSet) walk(b *strings.Builder, node parse.Node, s scope) {
	switch n := node.(type) {
	case *parse.ListNode:
		for _, child := range n.Nodes {
			t.walk(b, child, s)
		}
	case *parse.TextNode:
		b.Write(n.Text)
	case *parse.ActionNode:
		fmt.Fprint(b, t.value(n.Pipe, s))
	case *parse.TemplateNode:
		inner := scope{}
		if n.Pipe != nil {
			inner.dot = t.value(n.Pipe, s)
		}
		t.walk(b, t.trees[n.Name].Root, inner)
	case *parse.IfNode:
		if !reflect.ValueOf(t.value(n.Pipe, s)).IsZero() {
			t.walk(b, n.List, s)
		} else if n.ElseList != nil {
			t.walk(b, n.ElseList, s)
		}
	case *parse.RangeNode:
		list := reflect.ValueOf(t.value(n.Pipe, s))
		for i := range list.Len() {
			t.walk(b, n.List, scope{dot: list.Index(i).Interface(), index: i})
		}
	default:
		panic(fmt.Sprintf("snippets: unsupported template node %T in %s", node, node))
	}
}

// value evaluates a field, a constant, the index of a range or a function call.
func (t *templateSet) value(node parse.Node, s scope) any {
	switch n := node.(type) {
	case *parse.PipeNode:
		return t.value(n.Cmds[0], s)
	case *parse.CommandNode:
		if f, ok := n.Args[0].(*parse.IdentifierNode); ok {
			args := make([]any, len(n.Args)-1)
			for i := range args {
				args[i] = t.value(n.Args[i+1], s)
			}
			return t.call(f.Ident, args)
		}
		return t.value(n.Args[0], s)
	case *parse.DotNode:
		return s.dot
	case *parse.FieldNode:
		v := reflect.ValueOf(s.dot)
		for _, name := range n.Ident {
			v = v.FieldByName(name)
		}
		return v.Interface()
	case *parse.VariableNode:
		return s.index
	case *parse.StringNode:
		return n.Text
	case *parse.NumberNode:
		return int(n.Int64)
	}
	panic(fmt.Sprintf("snippets: unsupported template expression %T in %s", node, node))
}

// call calls a function of the templates: ne and print, which work as in text/template, or one
// of the language.
func (t *templateSet) call(name string, args []any) any {
	switch name {
	case "ne":
		return args[0] != args[1]
	case "print":
		return fmt.Sprint(args...)
	}
	return t.funcs[name](args)
}
