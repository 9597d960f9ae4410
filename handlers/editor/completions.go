package editor

import (
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sluice/flow"
	"sluice/flow/document"
	"sluice/flow/sorting"
	"sluice/handlers/web"
)

// completion is a value that a template can use.
type completion struct {
	Name string `json:"name"`
	From string `json:"from"` // node.port
	// To is the input port that using the name creates; empty if the value is
	// already connected.
	To      string    `json:"to,omitempty"`
	Title   string    `json:"title"`
	Type    flow.Type `json:"type"`
	Example string    `json:"example,omitempty"`
}

// listCompletions is GET /flows/{id}/completions?node=: the values that a template
// of a node can use between {{ and }}, which are the outputs of all nodes that do
// not depend on it.
func (c *call) listCompletions(d *draft) error {
	n := d.Node(c.QueryParam("node"))
	if n == nil || c.s.Kinds.For(n) == nil {
		return web.ErrNotFound
	}
	_, samples, err := c.lastSteps(d.flow.ID)
	if err != nil {
		return err
	}
	l := &completions{d: d.Document, node: n, kinds: c.s.Kinds, samples: samples, taken: map[string]bool{}, list: []completion{}}
	return c.JSON(http.StatusOK, map[string]any{"completions": l.all()})
}

// completions collects the completions for one node.
type completions struct {
	d       *flow.Document
	node    *flow.Node
	kinds   *flow.Registry
	samples map[string]*flow.Step // of the last run, by node
	taken   map[string]bool       // names that are in use
	list    []completion
}

// all returns the completions; values that are already connected come first.
func (l *completions) all() []completion {
	own := l.kinds.For(l.node)
	for _, p := range flow.InputPorts(l.node, own) {
		if !p.Template {
			l.taken[p.Name] = true // a port of the kind itself; a template cannot use its name
		}
	}
	connected := l.connectedNames()
	for _, name := range connected {
		l.taken[name] = true
	}
	dependents := reachable(l.d.Edges, l.node.ID, true) // an edge from them would create a cycle
	for i := range l.d.Nodes {
		n := &l.d.Nodes[i]
		k := l.kinds.For(n)
		if n.ID == l.node.ID || dependents[n.ID] || k == nil {
			continue
		}
		for _, p := range flow.OutputPorts(n, k) {
			if k.Role == flow.RoleOutput && connected[n.ID+"."+p.Name] == "" {
				continue // an output only passes on what its source has
			}
			l.add(n, k, p, connected)
		}
	}
	sorting.By(l.list, func(a, b completion) int { return connectedFirst(a) - connectedFirst(b) })
	return l.list
}

// connectedFirst is the sort key that puts connected values before those whose completion
// adds an edge.
func connectedFirst(c completion) int {
	if c.To == "" {
		return 0
	}
	return 1
}

// connectedNames maps ports of other nodes to the template names that they are
// connected to.
func (l *completions) connectedNames() map[string]string {
	own := l.kinds.For(l.node)
	names := map[string]string{}
	for _, e := range l.d.Edges {
		port, isInput := strings.CutPrefix(e.To, l.node.ID+".")
		declared := slices.ContainsFunc(own.Inputs, func(p flow.Port) bool { return p.Name == port }) || own.Field(port) != nil
		if isInput && !declared {
			names[e.From] = port
		}
	}
	return names
}

// add adds the completion for an output port.
func (l *completions) add(n *flow.Node, k *flow.Kind, p flow.Port, connected map[string]string) {
	out := completion{From: n.ID + "." + p.Name, Title: document.NodeTitle(n, k) + " › " + p.Name, Type: p.ShownType(), Example: l.example(n, k, p)}
	if name, ok := connected[out.From]; ok {
		out.Name = name
	} else {
		out.Name = l.unusedName(nameFor(n, k, p))
		out.To = l.node.ID + "." + out.Name
	}
	if k.Role == flow.RoleInput {
		if t, ok := n.Config["type"].(string); ok {
			out.Type = flow.Type(t)
		} else {
			out.Type = flow.TypeText
		}
	}
	l.list = append(l.list, out)
}

// notName matches characters that a name in {{braces}} cannot contain.
var notName = regexp.MustCompile(`[^A-Za-z0-9_]+`)

// nameFor returns a name for a value in a template: the name of an input, the
// ID of a node for its first output, or else both ID and port.
func nameFor(n *flow.Node, k *flow.Kind, p flow.Port) string {
	name := n.ID + "_" + p.Name
	switch {
	case k.Role == flow.RoleInput || k.Role == flow.RoleOutput:
		name = flow.Text(n.Config["name"])
	case len(k.Outputs) > 0 && k.Outputs[0].Name == p.Name:
		name = n.ID
	}
	name = strings.Trim(notName.ReplaceAllString(name, "_"), "_")
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		name = "n_" + name
	}
	return name
}

// unusedName returns a name that is not taken, with a number if needed.
func (l *completions) unusedName(name string) string {
	for base, i := name, 2; l.taken[name]; i++ {
		name = base + "_" + strconv.Itoa(i)
	}
	l.taken[name] = true
	return name
}

// example returns the start of the value that the port had in the last run, or for
// an input its example or default.
func (l *completions) example(n *flow.Node, k *flow.Kind, p flow.Port) string {
	var value any
	var known bool
	if step := l.samples[n.ID]; step != nil {
		value, known = step.Outputs[p.Name]
	}
	for _, field := range []string{"example", "default"} {
		if !known && k.Role == flow.RoleInput {
			value, known = n.Config[field]
		}
	}
	if !known {
		return ""
	}
	text := []rune(strings.Join(strings.Fields(flow.Text(value)), " "))
	return string(text[:min(len(text), 60)])
}
