package flow

import (
	"cmp"
	"slices"
	"strings"

	"sluice/flow/sorting"
)

// CollectedPort is the port at which the implicit edges of a node with an OutputsField arrive.
const CollectedPort = "(outputs)"

// Source returns the node and the output port that the edge comes from.
func (e Edge) Source() (node, port string) { return SplitPort(e.From) }

// Target returns the node and the input port that the edge leads to.
func (e Edge) Target() (node, port string) { return SplitPort(e.To) }

// FromNode returns the ID of the node that the edge comes from.
func (e Edge) FromNode() string { node, _ := e.Source(); return node }

// ToNode returns the ID of the node that the edge leads to.
func (e Edge) ToNode() string { node, _ := e.Target(); return node }

// SplitPort splits a port reference (node.port). Ports may contain dots; node IDs cannot.
func SplitPort(s string) (node, port string) {
	node, port, _ = strings.Cut(s, ".")
	return node, port
}

// InputPorts returns the input ports of a node: those of the kind, one per field that is not
// Typed, and one per template name.
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
			continue // rejected by Validate
		}
		ports = append(ports, Port{Name: name, Title: name, Type: TypeAny, Required: true, Template: true})
	}
	return ports
}

// HasValue reports whether a field has a typed value. An empty text does not count if the field
// is required.
func (n *Node) HasValue(f *Field) bool {
	v, ok := n.Config[f.Name]
	return ok && !(f.Required && v == "")
}

// ValueOrDefault returns the value of the field without an edge: the typed value, or else the
// default.
func (f *Field) ValueOrDefault(n *Node) (v any, has bool) {
	if v, has = n.Config[f.Name]; has {
		return v, true
	}
	return f.Default, f.Default != nil
}

// OutputPorts returns the output ports of a node. A tool has only ToolPort.
func OutputPorts(n *Node, k *Kind) []Port {
	if n.Tool != nil {
		return []Port{{Name: ToolPort, Title: "Tool", Help: "Connect it to the tools of an agent.", Type: TypeTool}}
	}
	if n.OnError != nil && n.OnError.Route {
		return append(append([]Port(nil), k.Outputs...), Port{Name: ErrorPort, Title: "Error", Help: "What went wrong: code, message and node.", Type: TypeJSON})
	}
	return k.Outputs
}

// PortNames returns the names of values in the order of ports; names of no port follow, sorted.
func PortNames(values map[string]any, ports []Port) []string {
	names := sorting.Keys(values)
	rank := make(map[string]int, len(ports))
	for i, p := range ports {
		if _, twice := rank[p.Name]; !twice {
			rank[p.Name] = i - len(ports)
		}
	}
	sorting.By(names, func(a, b string) int { return cmp.Compare(rank[a], rank[b]) })
	return names
}

// StepPorts returns the ports of the node of a step on one side. n is nil if the document is unknown,
// k if the kind is.
func StepPorts(n *Node, k *Kind) (in, out []Port) {
	if k == nil {
		return nil, nil
	}
	if n == nil {
		n = &Node{}
	}
	return InputPorts(n, k), k.Outputs
}

// EdgeType returns the type of the value of an edge that its source node declares, or TypeAny.
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

// ErrorPort is the output port for the error of a node that routes its errors.
const ErrorPort = "error"

// PortsByName indexes ports by their names.
func PortsByName(ports []Port) map[string]Port {
	m := make(map[string]Port, len(ports))
	for _, p := range ports {
		m[p.Name] = p
	}
	return m
}

// templateNames returns the ports of all template fields of a node, without duplicates. Invalid
// templates have no ports; Validate reports them.
func templateNames(n *Node, k *Kind) []string {
	var list []string
	seen := map[string]bool{}
	for i := range k.Fields {
		if !k.Fields[i].Template {
			continue
		}
		for _, name := range TemplateNames(n.Config[k.Fields[i].Name]) {
			if len(list) > MaxPorts {
				return list // rejected by Validate
			}
			if !seen[name] {
				seen[name] = true
				list = append(list, name)
			}
		}
	}
	return list
}

// StringSet returns the texts in a list as a set. It ignores values of other types.
func StringSet(v any) map[string]bool {
	set := map[string]bool{}
	list, _ := v.([]any)
	for _, item := range list {
		if s, ok := item.(string); ok {
			set[s] = true
		}
	}
	return set
}

// Port is a named input or output of a node.
type Port struct {
	Name     string `json:"name"`
	Title    string `json:"title,omitempty"`
	Help     string `json:"help,omitempty"`
	Type     Type   `json:"type"`
	Shown    Type   `json:"shown,omitempty"` // usual type of the value, if Type allows more; not checked
	Required bool   `json:"required,omitempty"`
	List     bool   `json:"list,omitempty"`     // accepts many edges, in order
	First    bool   `json:"first,omitempty"`    // of a list: only the first value counts, without waiting for later edges
	Template bool   `json:"template,omitempty"` // declared by a {{name}}

	// The rest describes the values of an output port for callers of the flow.
	Items    Type           `json:"items,omitempty"`    // of a list: the type of all items
	Accept   []string       `json:"accept,omitempty"`   // of a file or a list of files: media types
	Schema   map[string]any `json:"schema,omitempty"`   // JSON Schema that is more precise than Type; it has no references
	Passes   string         `json:"passes,omitempty"`   // name of the input port whose value is passed unchanged
	Branch   bool           `json:"branch,omitempty"`   // a successful step has a value on exactly one of its branches
	Optional bool           `json:"optional,omitempty"` // a successful step may have no value

	// How the editor shows an output port.
	More bool `json:"-"` // hidden until it is connected or asked for
	Rest bool `json:"-"` // taken when no other branch is: shown last
}

// ShownType returns the type that is shown to users.
func (p Port) ShownType() Type {
	if p.Shown != "" {
		return p.Shown
	}
	return p.Type
}
