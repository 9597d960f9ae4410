package document

import (
	"maps"
	"slices"
	"strings"

	"sluice/flow"
	"sluice/flow/contract"
)

// Output is an output of a flow with the type of its values, which is inferred from the connected
// ports.
type Output struct {
	contract.Output
	Type     flow.Type
	Schema   map[string]any // JSON Schema of its values; empty if any value is possible
	Optional bool           // may be missing in a successful run, if its branch was not taken

	fed bool // a node is connected to it
}

// Outputs lists the outputs of a document in the order of its nodes.
func Outputs(d *flow.Document, kinds *flow.Registry) []Output {
	t := newTyper(d, kinds)
	list := []Output{}
	for _, o := range contract.Outputs(d, kinds) {
		v := t.output(o.Node, outputPort)
		list = append(list, Output{Output: o, Type: v.typ, Schema: v.schema, Optional: !t.always(t.ran(o.Node)), fed: t.isFed(o.Node)})
	}
	return list
}

// isFed reports whether an edge leads from an existing node to this one.
func (t *typer) isFed(node string) bool {
	for _, edges := range t.nodes[node].fed {
		for _, e := range edges {
			if t.nodes[e.FromNode()] != nil {
				return true
			}
		}
	}
	return false
}

// outputPort is the port of output nodes that has their value.
const outputPort = "value"

// OutputsSchema returns the JSON Schema of the outputs of a successful run.
func OutputsSchema(outputs []Output) map[string]any {
	properties, required := &flow.Object{}, []string{}
	for i := range outputs {
		o := &outputs[i]
		properties.Set(o.Name, o.Schema)
		if !o.Optional {
			required = append(required, o.Name)
		}
	}
	s := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

// FileSchema describes a file as responses contain it.
func FileSchema(accept []string) map[string]any {
	text := func(about string) map[string]any { return map[string]any{"type": "string", "description": about} }
	s := map[string]any{
		"type": "object", "required": []string{"file", "name", "mime", "size", "url"},
		"properties": map[string]any{
			"file": text("Its ID."), "name": text("Its name."), "mime": text("Its media type."), "size": map[string]any{"type": "integer", "minimum": 0, "description": "In bytes."},
			"url": text("Download link that needs no key, until it expires."),
		},
	}
	if len(accept) > 0 {
		s["description"] = "A file of the type " + strings.Join(accept, " or ") + "."
	}
	return s
}

// valueType is what is known about the values of a port.
type valueType struct {
	typ    flow.Type
	schema map[string]any
}

// typer infers the types of ports and the conditions under which they have a value.
type typer struct {
	d     *flow.Document
	kinds *flow.Registry
	nodes map[string]*typedNode
	steps int // remaining steps for deciding whether conditions cover all cases
}

// typedNode is a node with its inferred types.
type typedNode struct {
	*flow.Node
	kind    *flow.Kind             // nil for an unknown kind
	in, out map[string]flow.Port   // by name
	fed     map[string][]flow.Edge // by port, in order
	types   map[string]valueType   // of output ports
	visited bool                   // its conditions are known or being inferred; ends loops
	when    conditions
}

// newTyper indexes nodes and edges for the inference, which follows edges backwards.
func newTyper(d *flow.Document, kinds *flow.Registry) *typer {
	t := &typer{d: d, kinds: kinds, nodes: map[string]*typedNode{}, steps: maxCoverSteps}
	for i := range d.Nodes {
		n := &typedNode{Node: &d.Nodes[i], kind: kinds.For(&d.Nodes[i]), fed: map[string][]flow.Edge{}, types: map[string]valueType{}}
		if n.kind != nil {
			n.in, n.out = flow.PortsByName(flow.InputPorts(n.Node, n.kind)), flow.PortsByName(flow.OutputPorts(n.Node, n.kind))
		}
		t.nodes[n.ID] = n
	}
	for _, e := range d.Edges {
		if id, port := e.Target(); t.nodes[id] != nil {
			t.nodes[id].fed[port] = append(t.nodes[id].fed[port], e)
		}
	}
	return t
}

var anything = valueType{flow.TypeAny, map[string]any{}}

// output returns the type of an output port.
func (t *typer) output(node, port string) valueType {
	n := t.nodes[node]
	if n == nil || n.kind == nil {
		return anything
	}
	p, known := n.out[port]
	if !known {
		return anything
	}
	if found, done := n.types[port]; done {
		return found
	}
	n.types[port] = anything // in a loop
	var v valueType
	switch {
	case n.kind.Role == flow.RoleInput:
		in := contract.ReadInput(n.Node)
		v = typeOf(flow.Port{Type: in.Type, Items: in.Items, Accept: in.Accept})
		if len(in.Enum) > 0 && in.Type != flow.TypeJSON {
			v.schema["enum"] = in.Enum
		}
	case p.Passes != "":
		v = t.arriving(n, p.Passes)
	default:
		v = typeOf(p)
	}
	if n.OnError != nil {
		if other, given := n.OnError.Continue[port]; given && !v.typ.Is(other) {
			v = anything
		}
	}
	n.types[port] = v
	return v
}

// arriving returns the union of the types of the edges to a port.
func (t *typer) arriving(n *typedNode, port string) valueType {
	edges := n.fed[port]
	if len(edges) == 0 || n.in[port].List && !n.in[port].First {
		return anything
	}
	var all []valueType
	for _, e := range edges {
		id, from := e.Source()
		if t.when(id, from).never() {
			continue
		}
		all = append(all, t.output(id, from))
	}
	return union(all)
}

// maxUnion bounds the alternatives of a type.
const maxUnion = 8

// union returns the type of values that have one of several types.
func union(all []valueType) valueType {
	var schemas []any
	var texts []string
	for _, v := range all {
		text := string(flow.EncodeJSON(v.schema))
		if len(v.schema) == 0 {
			texts = append(texts, text) // anything
		} else if !slices.Contains(texts, text) {
			texts, schemas = append(texts, text), append(schemas, v.schema)
		}
	}
	if len(schemas) == 0 || len(texts) > maxUnion {
		return anything
	}
	v := all[0]
	for _, other := range all {
		if other.typ != v.typ {
			v.typ = flow.TypeAny
		}
	}
	switch {
	case len(texts) > len(schemas):
		v.schema = map[string]any{}
	case len(schemas) > 1:
		v.schema = map[string]any{"anyOf": schemas}
	}
	return v
}

// typeOf returns the type that a port declares.
func typeOf(p flow.Port) valueType {
	v := valueType{p.ShownType(), map[string]any{}}
	switch v.typ {
	case flow.TypeText:
		v.schema["type"] = "string"
	case flow.TypeNumber, flow.TypeBoolean:
		v.schema["type"] = string(v.typ)
	case flow.TypeFile:
		v.schema = FileSchema(p.Accept)
	case flow.TypeList:
		v.schema["type"] = "array"
		v.schema["items"] = map[string]any{}
		if p.Items != "" {
			v.schema["items"] = typeOf(flow.Port{Type: p.Items, Accept: p.Accept}).schema
		}
	case flow.TypeJSON:
	default:
		v.typ = flow.TypeAny
	}
	if len(p.Schema) > 0 {
		v.schema = maps.Clone(p.Schema)
	}
	return v
}
