package flow

import (
	"slices"
	"strings"
)

// CollectedPort is the name that implicit edges of a collecting node arrive at.
const CollectedPort = "(outputs)"

// Source returns the node and the output port that the edge comes from.
func (e Edge) Source() (node, port string) { return SplitPort(e.From) }
func (e Edge) Target() (node, port string) { return SplitPort(e.To) }

// FromNode is the node that the edge leaves from.
func (e Edge) FromNode() string { node, _ := e.Source(); return node }

// ToNode is the node that the edge arrives at.
func (e Edge) ToNode() string { node, _ := e.Target(); return node }

// SplitPort splits a reference to a port. A port may contain dots; the ID of a node
// cannot.
func SplitPort(s string) (node, port string) {
	node, port, _ = strings.Cut(s, ".")
	return node, port
}

// InputPorts are the ports that edges may arrive at: the kind's own, one per
// field that is not Typed, and one per template name.
func InputPorts(n *Node, k *Kind) []Port {
	ports := append([]Port(nil), k.Inputs...)
	for i := range k.Fields {
		f := &k.Fields[i]
		if !f.Typed {
			ports = append(ports, Port{Name: f.Name, Title: f.Title, Help: f.Help, Type: f.PortType(), Required: f.Required && !n.HasValue(f) && f.Default == nil})
		}
	}
	own := len(ports)
	for _, name := range templateNames(n, k) {
		if slices.ContainsFunc(ports[:own], func(p Port) bool { return p.Name == name }) {
			continue // refused by Validate
		}
		ports = append(ports, Port{Name: name, Title: name, Type: TypeAny, Required: true, Template: true})
	}
	return ports
}

// HasValue reports whether a field has a value of its own; an empty text does not count
// where a value is required.
func (n *Node) HasValue(f *Field) bool {
	v, ok := n.Config[f.Name]
	return ok && !(f.Required && v == "")
}

// Own returns what a field of a node holds without an edge: the typed value, or else the
// default.
func (f *Field) Own(n *Node) (v any, has bool) {
	if v, has = n.Config[f.Name]; has {
		return v, true
	}
	return f.Default, f.Default != nil
}

// OutputPorts are the ports that edges may leave from.
func OutputPorts(n *Node, k *Kind) []Port {
	if n.OnError != nil && n.OnError.Route {
		return append(append([]Port(nil), k.Outputs...), Port{Name: ErrorPort, Title: "Error", Help: "What went wrong: code, message and node.", Type: TypeJSON})
	}
	return k.Outputs
}

// EdgeType returns the type of the value that an edge carries, as far as the node that it
// leaves from declares it; otherwise any.
func (d *Document) EdgeType(e Edge, kinds *Registry) Type {
	node, port := e.Source()
	from := d.Node(node)
	if from == nil {
		return TypeAny
	}
	k := kinds.For(from)
	switch {
	case k == nil:
		return TypeAny
	case k.Role == RoleInput:
		if t, ok := from.Config["type"].(string); ok {
			return Type(t)
		}
		return TypeText
	}
	for _, p := range OutputPorts(from, k) {
		if p.Name == port && p.ShownType() != "" {
			return p.ShownType()
		}
	}
	return TypeAny
}

// ErrorPort carries what went wrong on a node that routes its errors.
const ErrorPort = "error"

func PortsByName(ports []Port) map[string]Port {
	m := make(map[string]Port, len(ports))
	for _, p := range ports {
		m[p.Name] = p
	}
	return m
}

// templateNames are the ports grown by all template fields of a node, each
// once. Fields that do not parse grow none; Validate reports them.
func templateNames(n *Node, k *Kind) []string {
	var list []string
	seen := map[string]bool{}
	for i := range k.Fields {
		if !k.Fields[i].Template {
			continue
		}
		for _, name := range TemplateNames(n.Config[k.Fields[i].Name]) {
			if !seen[name] {
				seen[name] = true
				list = append(list, name)
			}
		}
	}
	return list
}

// TextSet returns the texts in a list as a set. Values of other types are ignored.
func TextSet(v any) map[string]bool {
	set := map[string]bool{}
	list, _ := v.([]any)
	for _, item := range list {
		if s, ok := item.(string); ok {
			set[s] = true
		}
	}
	return set
}

// Port is a named place where a node takes or gives a value.
type Port struct {
	Name     string `json:"name"`
	Title    string `json:"title,omitempty"`
	Help     string `json:"help,omitempty"`
	Type     Type   `json:"type"`
	Shown    Type   `json:"shown,omitempty"` // what usually comes, where Type allows more; not checked
	Required bool   `json:"required,omitempty"`
	List     bool   `json:"list,omitempty"`     // takes many edges, in order
	First    bool   `json:"first,omitempty"`    // of a list: only its first value counts, so later edges are not waited for
	Template bool   `json:"template,omitempty"` // grown by a {{name}}

	// The rest describes the values of an output port for callers of the flow.
	Items    Type           `json:"items,omitempty"`    // of a list: the type of all items
	Accept   []string       `json:"accept,omitempty"`   // of a file, or of the files of a list: media types
	Schema   map[string]any `json:"schema,omitempty"`   // JSON Schema, where Type says less; it has no references
	Passes   string         `json:"passes,omitempty"`   // the input port whose value is given unchanged
	Branch   bool           `json:"branch,omitempty"`   // a step that succeeds gives a value on exactly one of its branches
	Optional bool           `json:"optional,omitempty"` // a step that succeeds may give no value
}

// ShownType returns the type that is shown to users.
func (p Port) ShownType() Type {
	if p.Shown != "" {
		return p.Shown
	}
	return p.Type
}
