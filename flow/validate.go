package flow

import (
	"fmt"
	"slices"
	"strings"
)

// Validate reports everything that keeps a well-formed document from running,
// all at once and each with its place: unknown kinds and fields, wrong types,
// missing values, dangling edges, duplicate names, cycles.
func Validate(d *Document, kinds *Registry) []Problem {
	v := &validator{d: d, kinds: kinds, nodes: map[string]int{}, suggestions: 100}
	if v.limits(); len(d.Nodes) > MaxNodes || len(d.Edges) > MaxEdges {
		return v.problems // the time that the rest takes grows with their product
	}
	v.ids()
	v.ports()
	v.edges()
	for i := range d.Nodes {
		v.node(i)
	}
	v.interfaceNames()
	v.cycles()
	v.groups()
	return v.problems
}

type validator struct {
	d        *Document
	kinds    *Registry
	nodes    map[string]int             // ID to place
	shaped   []*Kind                    // by place; nil for unknown kinds
	in, out  []map[string]Port          // by place
	fed      map[string]map[string]bool // node ID to the ports that an edge arrives at
	problems []Problem
	// suggestions is how many more names are looked for that may have been
	// meant: a document full of mistakes would take long.
	suggestions int
}

func (v *validator) add(pointer, code, node, format string, args ...any) {
	v.problems = append(v.problems, Problem{Pointer: pointer, Code: code, Node: node, Detail: fmt.Sprintf(format, args...)})
}

// closestOf suggests a known name.
func closestOf[V any](v *validator, name string, known map[string]V) string {
	if v.suggestions--; v.suggestions < 0 || len(known) > 1000 {
		return ""
	}
	return closest(name, known)
}

// choices says which names there are, as far as a person reads it.
func (v *validator) choices(known map[string]Port) string {
	if v.suggestions < 0 {
		return ""
	}
	switch {
	case len(known) == 0:
		return "; it has none"
	case len(known) > 20:
		return fmt.Sprintf("; it has %d", len(known))
	}
	return "; it has " + names(sortedNames(known))
}

func (v *validator) limits() {
	if len(v.d.Nodes) == 0 {
		v.add("/nodes", "required", "", "a flow needs at least one node")
	}
	if len(v.d.Nodes) > MaxNodes {
		v.add("/nodes", "too_many", "", "at most %d nodes, this flow has %d", MaxNodes, len(v.d.Nodes))
	}
	if len(v.d.Edges) > MaxEdges {
		v.add("/edges", "too_many", "", "at most %d edges, this flow has %d", MaxEdges, len(v.d.Edges))
	}
}

func (v *validator) ids() {
	for i := range v.d.Nodes {
		id := v.d.Nodes[i].ID
		if id == "" {
			continue // reported by ParseDocument
		}
		if first, twice := v.nodes[id]; twice {
			v.add(Pointer("nodes", i, "id"), "duplicate", id, "node %d has the ID %q already", first, id)
			continue
		}
		v.nodes[id] = i
	}
}

// ports finds the ports of every node once; nodes of unknown kinds have none.
func (v *validator) ports() {
	v.shaped = make([]*Kind, len(v.d.Nodes))
	v.in, v.out = make([]map[string]Port, len(v.d.Nodes)), make([]map[string]Port, len(v.d.Nodes))
	for i := range v.d.Nodes {
		n := &v.d.Nodes[i]
		if k := v.kinds.For(n); k != nil {
			v.shaped[i] = k
			v.in[i], v.out[i] = byName(InputPorts(n, k)), byName(OutputPorts(n, k))
		}
	}
}

func (v *validator) edges() {
	v.fed = map[string]map[string]bool{}
	for i, e := range v.d.Edges {
		from, okFrom := v.end(i, "from", e.From)
		to, okTo := v.end(i, "to", e.To)
		if okTo {
			v.feed(i, e, to)
		}
		if okFrom && okTo && !convertible(from.Type, to.Type) {
			v.add(Pointer("edges", i), "wrong_type", "", "%s gives %s, %s takes %s", e.From, from.Type, e.To, to.Type)
		}
	}
}

// end finds the port at one end of an edge. Nodes of unknown kinds are
// reported elsewhere, so their ports are taken as they are.
func (v *validator) end(i int, side, ref string) (Port, bool) {
	at := Pointer("edges", i, side)
	id, name := splitPort(ref)
	place, ok := v.nodes[id]
	if !ok || name == "" {
		if ref != "" {
			v.add(at, "dangling", "", "%q names no port; write node.port with the ID of a node of this flow", ref)
		}
		return Port{}, false
	}
	n := &v.d.Nodes[place]
	known := v.out[place]
	if side == "to" {
		known = v.in[place]
	}
	if known == nil {
		return Port{}, false
	}
	p, ok := known[name]
	if !ok && side == "to" && v.shaped[place].takesAny(name) {
		return Port{Name: name, Type: TypeAny}, true
	}
	if !ok {
		v.add(at, "dangling", id, "%s (%s) has no such port %q%s%s", id, n.Kind, name, v.choices(known), closestOf(v, name, known))
	}
	return p, ok
}

func (v *validator) feed(i int, e Edge, to Port) {
	id, port := e.target()
	if v.fed[id] == nil {
		v.fed[id] = map[string]bool{}
	}
	if v.fed[id][port] && !to.List {
		v.add(Pointer("edges", i, "to"), "duplicate", id, "%s has an edge already; this port takes one", e.To)
	}
	v.fed[id][port] = true
}

// Fits tells whether an edge between ports of these types can ever work.
func Fits(from, to Type) bool { return convertible(from, to) }

func convertible(from, to Type) bool {
	loose := func(t Type) bool { return t == TypeAny || t == TypeJSON || t == "" }
	if from == to || loose(from) || loose(to) {
		return true
	}
	scalar := func(t Type) bool { return t == TypeNumber || t == TypeBoolean }
	return from == TypeText && scalar(to) || scalar(from) && to == TypeText
}

// interfaceNames reports input and output names that are used twice, output
// names that are not names, and chosen outputs that do not exist.
func (v *validator) interfaceNames() {
	first := map[Role]map[string]string{RoleInput: {}, RoleOutput: {}}
	for i := range v.d.Nodes {
		n := &v.d.Nodes[i]
		role, name := roleOf(v.kinds, n), nameOf(n)
		if first[role] == nil || n.Disabled {
			continue
		}
		at := Pointer("nodes", i, "config", "name")
		if other, twice := first[role][name]; twice && name != "" {
			v.add(at, "duplicate", n.ID, "%s has the name %q already", other, name)
		}
		if role == RoleOutput && name != "" && !inputName.MatchString(name) {
			v.add(at, "invalid", n.ID, "a name begins with a letter or _ and has at most 64 letters, digits, _ and -")
		}
		first[role][name] = n.ID
	}
	for i := range v.d.Nodes {
		v.chosenOutputs(i, first[RoleOutput])
	}
}

func (v *validator) chosenOutputs(i int, outputs map[string]string) {
	n, k := &v.d.Nodes[i], v.shaped[i]
	if k == nil || k.Collects == "" || n.Disabled {
		return
	}
	at := Pointer("nodes", i, "config", k.Collects)
	if len(outputs) == 0 {
		v.add(at, "required", n.ID, "%s sends outputs, but the flow has no output node", n.ID)
	}
	list, _ := n.Config[k.Collects].([]any)
	for j, item := range list {
		if name := Text(item); outputs[name] == "" {
			v.add(at+Pointer(j), "unknown", n.ID, "there is no output %q%s", name, closestOf(v, name, outputs))
		}
	}
}

func (v *validator) cycles() {
	for _, group := range cycles(dependents(v.d, v.kinds)) {
		ids := make([]string, len(group))
		for i, place := range group {
			ids[i] = v.d.Nodes[place].ID
		}
		slices.Sort(ids)
		v.add("/edges", "cycle", ids[0], "these nodes depend on each other in a circle: %s", strings.Join(ids, ", "))
	}
}

func (v *validator) groups() {
	seen := map[string]bool{}
	for i, g := range v.d.Groups {
		if seen[g.ID] && g.ID != "" {
			v.add(Pointer("groups", i, "id"), "duplicate", "", "another group has the ID %q", g.ID)
		}
		seen[g.ID] = true
		for j, id := range g.Nodes {
			if _, ok := v.nodes[id]; !ok {
				v.add(Pointer("groups", i, "nodes", j), "dangling", "", "there is no node %q", id)
			}
		}
	}
}
