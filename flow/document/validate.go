package document

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/sorting"
)

// Validate returns all problems that prevent a well-formed document from running: unknown kinds
// and fields, wrong types, missing values, dangling edges, duplicate names, cycles.
func Validate(d *flow.Document, kinds *flow.Registry) []flow.Problem {
	v := &validator{d: d, kinds: kinds, nodes: map[string]int{}, suggestions: 100}
	if v.limits(); len(d.Nodes) > flow.MaxNodes || len(d.Edges) > flow.MaxEdges {
		return v.problems // the time for the rest grows with the product of nodes and edges
	}
	v.ids()
	v.ports()
	v.names()
	v.edges()
	for i := range d.Nodes {
		v.node(i)
	}
	v.interfaceNames()
	v.tools()
	v.cycles()
	v.groups()
	return v.problems
}

// validator collects the problems of one document. Slices by index are parallel to
// Document.Nodes; ports and names fill them before the checks that read them.
type validator struct {
	d        *flow.Document
	kinds    *flow.Registry
	nodes    map[string]int             // ID to index
	shaped   []*flow.Kind               // by index; nil for unknown kinds
	titles   []string                   // by index; unique names for messages
	in, out  []map[string]flow.Port     // by index
	fed      map[string]map[string]bool // node ID to its connected input ports
	problems []flow.Problem
	checking time.Duration // CPU time that checks of nodes have taken
	waiting  time.Duration // elapsed time of these checks
	// suggestions is the remaining number of suggested names, which bounds the time for a
	// document with many mistakes.
	suggestions int
}

// add reports a problem. The pointer is a JSON Pointer into the document; node is the ID
// of the node beside which the editor shows the problem, or "".
func (v *validator) add(pointer, code, node, format string, args ...any) {
	v.problems = append(v.problems, flow.Problem{Pointer: pointer, Code: code, Node: node, Detail: fmt.Sprintf(format, args...)})
}

// closestOf is flow.Closest, while suggestions remain.
func closestOf[V any](v *validator, name string, known map[string]V) string {
	if v.suggestions--; v.suggestions < 0 || len(known) > 1000 {
		return ""
	}
	return flow.Closest(name, known)
}

// choices lists the known names, or their number if there are many.
func (v *validator) choices(known map[string]flow.Port) string {
	if v.suggestions < 0 {
		return ""
	}
	switch {
	case len(known) == 0:
		return "; it has none"
	case len(known) > 20:
		return fmt.Sprintf("; it has %d", len(known))
	}
	return "; it has " + flow.InputNames(sorting.Keys(known))
}

// limits checks the sizes first: the other checks take time that grows with the product of
// nodes and edges.
func (v *validator) limits() {
	if len(v.d.Nodes) == 0 {
		v.add("/nodes", "required", "", "a flow needs at least one node")
	}
	if len(v.d.Nodes) > flow.MaxNodes {
		v.add("/nodes", "too_many", "", "at most %d nodes, this flow has %d", flow.MaxNodes, len(v.d.Nodes))
	}
	if len(v.d.Edges) > flow.MaxEdges {
		v.add("/edges", "too_many", "", "at most %d edges, this flow has %d", flow.MaxEdges, len(v.d.Edges))
	}
}

// ids indexes the nodes by ID. The first node with an ID keeps it, so that edges resolve and
// only the second node is reported.
func (v *validator) ids() {
	for i := range v.d.Nodes {
		id := v.d.Nodes[i].ID
		if id == "" {
			continue // reported by ParseDocument
		}
		if first, twice := v.nodes[id]; twice {
			v.add(flow.Pointer("nodes", i, "id"), "duplicate", id, "node %d has the ID %q already", first, id)
			continue
		}
		v.nodes[id] = i
	}
}

// ports finds the ports of every node once; nodes of unknown kinds have none.
func (v *validator) ports() {
	v.shaped = make([]*flow.Kind, len(v.d.Nodes))
	v.in, v.out = make([]map[string]flow.Port, len(v.d.Nodes)), make([]map[string]flow.Port, len(v.d.Nodes))
	for i := range v.d.Nodes {
		n := &v.d.Nodes[i]
		if k := v.kinds.For(n); k != nil {
			v.shaped[i] = k
			v.in[i], v.out[i] = flow.PortsByName(flow.InputPorts(n, k)), flow.PortsByName(flow.OutputPorts(n, k))
		}
	}
}

// names determines the titles of nodes for messages. It adds the ID to duplicate titles.
func (v *validator) names() {
	v.titles = make([]string, len(v.d.Nodes))
	count := map[string]int{}
	for i := range v.d.Nodes {
		v.titles[i] = NodeTitle(&v.d.Nodes[i], v.shaped[i])
		count[v.titles[i]]++
	}
	for i, title := range v.titles {
		if count[title] > 1 {
			v.titles[i] = fmt.Sprintf("%s (%s)", title, v.d.Nodes[i].ID)
		}
	}
}

// edges resolves both ends of every edge and checks that they fit. It also records which
// ports are fed, which the checks of required fields need.
func (v *validator) edges() {
	v.fed = map[string]map[string]bool{}
	for i, e := range v.d.Edges {
		from, okFrom := v.end(i, "from", e.From)
		to, okTo := v.end(i, "to", e.To)
		if okTo {
			v.feed(i, e, to)
		}
		if okFrom && okTo && !convertible(from.Type, to.Type) {
			v.mismatch(i, from.Type, to.Type)
		}
		if okFrom && okTo {
			v.secretEdge(i, e, to)
		}
	}
}

// secretEdge reports an edge from a secret input to a port that does not accept secrets, where its
// value would be recorded or passed on.
func (v *validator) secretEdge(i int, e flow.Edge, to flow.Port) {
	source := &v.d.Nodes[v.nodes[e.FromNode()]]
	if flow.RoleOf(v.kinds, source) != flow.RoleInput || !contract.ReadInput(source).Secret {
		return
	}
	place := v.nodes[e.ToNode()]
	if !takesSecrets(&v.d.Nodes[place], v.shaped[place], to.Name) {
		v.add(flow.Pointer("edges", i), "secret", "", "%s is a secret, and %s of %s cannot hold one. Connect it to a field for secrets, or write {{%s}} in a header, a query, a URL or a body of HTTP request.",
			v.titles[v.nodes[e.FromNode()]], to.Name, v.titles[place], to.Name)
	}
}

// takesSecrets reports whether a port accepts secrets: a field for secrets, or a template that is
// filled with secrets only when the node runs. Nodes that send later store their URL, so it
// accepts none.
func takesSecrets(n *flow.Node, k *flow.Kind, port string) bool {
	if k == nil {
		return true // reported elsewhere
	}
	if f := k.Field(port); f != nil {
		return f.Type == flow.FieldSecret
	}
	used := false
	for i := range k.Fields {
		f := &k.Fields[i]
		if !f.Template || !slices.Contains(flow.TemplateNames(n.Config[f.Name]), port) {
			continue
		}
		if f.Secrets == "" || k.OutputsField != "" {
			return false
		}
		used = true
	}
	return used
}

// end returns the port at one end of an edge. It accepts any port of a node of unknown kind, which
// is reported elsewhere.
func (v *validator) end(i int, side, ref string) (flow.Port, bool) {
	at := flow.Pointer("edges", i, side)
	id, name := flow.SplitPort(ref)
	place, ok := v.nodes[id]
	if !ok || name == "" {
		if ref != "" {
			v.add(at, "dangling", "", "%q names no port; write node.port with the ID of a node of this flow", ref)
		}
		return flow.Port{}, false
	}
	n := &v.d.Nodes[place]
	known := v.out[place]
	if side == "to" {
		known = v.in[place]
	}
	if known == nil {
		return flow.Port{}, false
	}
	p, ok := known[name]
	if !ok && side == "to" && v.shaped[place].AcceptsPort(name) {
		return flow.Port{Name: name, Type: flow.TypeAny}, true
	}
	if !ok && side == "from" && v.toolEdge(at, place, name) {
		return flow.Port{}, false
	}
	if !ok {
		v.add(at, "dangling", id, "%s (%s) has no such port %q%s%s", id, n.Kind, name, v.choices(known), closestOf(v, name, known))
	}
	return p, ok
}

// feed marks a port as connected. Only list ports accept several edges; at others the order of
// edges would silently determine the value.
func (v *validator) feed(i int, e flow.Edge, to flow.Port) {
	id, port := e.Target()
	if v.fed[id] == nil {
		v.fed[id] = map[string]bool{}
	}
	if v.fed[id][port] && !to.List {
		v.add(flow.Pointer("edges", i, "to"), "duplicate", id, "%s has an edge already; this port takes one", e.To)
	}
	v.fed[id][port] = true
}

// Fits reports whether an edge between ports of these types is valid.
func Fits(from, to flow.Type) bool { return convertible(from, to) }

// convertible reports whether the engine converts values of one type to the other: text
// and numbers or booleans in both directions, and the URL in a text to a file. Values of any and json
// are known only when the flow runs, so their edges are accepted.
func convertible(from, to flow.Type) bool {
	if from == flow.TypeTool || to == flow.TypeTool {
		return from == to
	}
	loose := func(t flow.Type) bool { return t == flow.TypeAny || t == flow.TypeJSON || t == "" }
	if from.Overlaps(to) || loose(from) || loose(to) {
		return true
	}
	scalar := func(t flow.Type) bool { return t == flow.TypeNumber || t == flow.TypeBoolean }
	address := from == flow.TypeText && to == flow.TypeFile // the text may be a URL
	return address || from == flow.TypeText && scalar(to) || scalar(from) && to == flow.TypeText
}

// typeWords describes a value of each type, for messages.
var typeWords = map[flow.Type]string{flow.TypeText: "text", flow.TypeNumber: "a number", flow.TypeBoolean: "true or false", flow.TypeFile: "a file", flow.TypeList: "a list", flow.TypeMessages: "a conversation",
	flow.TypeTool: "a tool", flow.TypeAny: "a value", flow.TypeJSON: "a value", flow.TypeSource: "a file or its URL", flow.TypeSources: "files or their URLs", flow.TypeItems: "a list or text"}

// mismatch reports an edge between incompatible types. For a file and a text it suggests a node
// that converts them.
func (v *validator) mismatch(i int, from, to flow.Type) {
	e := v.d.Edges[i]
	source, _ := e.Source()
	target, _ := e.Target()
	advice := "Remove this connection."
	switch {
	case from == flow.TypeFile && to == flow.TypeText:
		advice = "Add a Document node?"
	}
	v.add(flow.Pointer("edges", i), "wrong_type", "", "type mismatch: %s outputs %s, %s needs %s. %s",
		v.titles[v.nodes[source]], typeWords[from], v.titles[v.nodes[target]], typeWords[to], advice)
}

// interfaceNames reports duplicate names of inputs and outputs, invalid output names, and selected
// outputs that do not exist.
func (v *validator) interfaceNames() {
	first := map[flow.Role]map[string]string{flow.RoleInput: {}, flow.RoleOutput: {}}
	for i := range v.d.Nodes {
		n := &v.d.Nodes[i]
		role, name := flow.RoleOf(v.kinds, n), flow.NameOf(n)
		if first[role] == nil || n.Disabled {
			continue
		}
		at := flow.Pointer("nodes", i, "config", "name")
		if other, twice := first[role][name]; twice && name != "" {
			v.add(at, "duplicate", n.ID, "%s has the name %q already", other, name)
		}
		if role == flow.RoleOutput && name != "" && !flow.InputNamePattern.MatchString(name) {
			v.add(at, "invalid", n.ID, "a name begins with a letter or _ and has at most 64 letters, digits, _ and -")
		}
		first[role][name] = n.ID
	}
	v.oneReply()
	for i := range v.d.Nodes {
		v.chosenOutputs(i, first[flow.RoleOutput])
	}
}

// oneReply reports all outputs but the first that are marked as the reply.
func (v *validator) oneReply() {
	first := ""
	for i := range v.d.Nodes {
		n := &v.d.Nodes[i]
		if flow.RoleOf(v.kinds, n) != flow.RoleOutput || n.Disabled || n.Config["reply"] != true {
			continue
		}
		if first != "" {
			v.add(flow.Pointer("nodes", i, "config", "reply"), "duplicate", n.ID, "%s is the reply already; a flow has one", first)
		} else {
			first = n.ID
		}
	}
}

// chosenOutputs checks the field of a kind, such as webhook, that selects outputs of the flow by
// name. No selection means all outputs.
func (v *validator) chosenOutputs(i int, outputs map[string]string) {
	n, k := &v.d.Nodes[i], v.shaped[i]
	if k == nil || k.OutputsField == "" || n.Disabled {
		return
	}
	at := flow.Pointer("nodes", i, "config", k.OutputsField)
	if len(outputs) == 0 {
		v.add(at, "required", n.ID, "%s sends outputs, but the flow has no output node", n.ID)
	}
	list, _ := n.Config[k.OutputsField].([]any)
	for j, item := range list {
		if name := flow.Text(item); outputs[name] == "" {
			v.add(at+flow.Pointer(j), "unknown", n.ID, "there is no output %q%s", name, closestOf(v, name, outputs))
		}
	}
}

// cycles reports each strongly connected component once, with the titles of its nodes sorted by
// ID, so that the message is stable during edits.
func (v *validator) cycles() {
	for _, group := range cycles(dependents(v.d, v.kinds)) {
		sorting.By(group, func(a, b int) int { return strings.Compare(v.d.Nodes[a].ID, v.d.Nodes[b].ID) })
		titles := make([]string, len(group))
		for i, place := range group {
			titles[i] = v.titles[place]
		}
		first := v.d.Nodes[group[0]].ID
		if len(group) == 1 {
			v.add("/edges", "cycle", first, "%s depends on itself. Remove the connection that makes the loop.", titles[0])
			continue
		}
		v.add("/edges", "cycle", first, "these nodes form a loop: %s. Remove one of the connections between them.", strings.Join(titles, ", "))
	}
}

// groups checks that group IDs are unique and that their members exist. Runs ignore groups, but
// the editor cannot draw a group of unknown nodes.
func (v *validator) groups() {
	seen := map[string]bool{}
	for i, g := range v.d.Groups {
		if seen[g.ID] && g.ID != "" {
			v.add(flow.Pointer("groups", i, "id"), "duplicate", "", "another group has the ID %q", g.ID)
		}
		seen[g.ID] = true
		for j, id := range g.Nodes {
			if _, ok := v.nodes[id]; !ok {
				v.add(flow.Pointer("groups", i, "nodes", j), "dangling", "", "there is no node %q", id)
			}
		}
	}
}
