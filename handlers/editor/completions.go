package editor

import (
	"net/http"
	"regexp"
	"slices"
	"strings"

	"sluice/flow"
	"sluice/handlers/web"
	editorview "sluice/views/editor"
)

// completion is a value that a template could use: the name that stands in it,
// and the port that it comes from.
type completion struct {
	Name string `json:"name"`
	From string `json:"from"` // node.port
	// To is the port of this node that the name grows; empty where the edge is
	// there already.
	To      string    `json:"to,omitempty"`
	Title   string    `json:"title"`
	Type    flow.Type `json:"type"`
	Example string    `json:"example,omitempty"`
}

// listCompletions is GET what could be written between {{ and }} in a template
// of a node: the outputs of all nodes that do not depend on it.
func (c *call) listCompletions(d *draft) error {
	n := d.Node(c.QueryParam("node"))
	if n == nil || c.s.Kinds.For(n) == nil {
		return web.ErrNotFound
	}
	samples, err := c.lastOutputs(d.flow.ID)
	if err != nil {
		return err
	}
	l := &completions{d: d.Document, node: n, kinds: c.s.Kinds, samples: samples, taken: map[string]bool{}, list: []completion{}}
	return c.JSON(http.StatusOK, map[string]any{"completions": l.all()})
}

// lastOutputs are what the nodes of a flow gave in its last run, by node.
func (c *call) lastOutputs(flowID string) (map[string]map[string]any, error) {
	runs, err := c.s.Store.ListRuns(c.Ctx(), flow.RunFilter{WorkspaceID: c.WorkspaceID(), FlowID: flowID, Limit: 1})
	if err != nil || len(runs) == 0 {
		return nil, err
	}
	steps, err := c.s.Store.FindSteps(c.Ctx(), c.WorkspaceID(), runs[0].ID)
	if err != nil {
		return nil, err
	}
	outputs := map[string]map[string]any{}
	for _, step := range steps {
		if step.Path == step.Node { // not one inside a map
			outputs[step.Node] = step.Outputs
		}
	}
	return outputs, nil
}

// completions gathers what a node could be fed with.
type completions struct {
	d       *flow.Document
	node    *flow.Node
	kinds   *flow.Registry
	samples map[string]map[string]any // outputs of the last run, by node
	taken   map[string]bool           // names that stand for something already
	list    []completion
}

func (l *completions) all() []completion {
	own := l.kinds.For(l.node)
	for _, p := range flow.InputPorts(l.node, own) {
		if !p.Template {
			l.taken[p.Name] = true // a port of the kind itself; {{it}} is refused
		}
	}
	fed := l.fed()
	for _, name := range fed {
		l.taken[name] = true
	}
	after := l.after()
	for i := range l.d.Nodes {
		n := &l.d.Nodes[i]
		k := l.kinds.For(n)
		if n.ID == l.node.ID || after[n.ID] || k == nil {
			continue
		}
		for _, p := range flow.OutputPorts(n, k) {
			l.add(n, k, p, fed)
		}
	}
	slices.SortStableFunc(l.list, func(a, b completion) int { return connectedFirst(a) - connectedFirst(b) })
	return l.list
}

func connectedFirst(c completion) int {
	if c.To == "" {
		return 0
	}
	return 1
}

// fed are the names that edges into this node fill, by where they come from.
func (l *completions) fed() map[string]string {
	own := l.kinds.For(l.node)
	fed := map[string]string{}
	for _, e := range l.d.Edges {
		port, into := strings.CutPrefix(e.To, l.node.ID+".")
		declared := slices.ContainsFunc(own.Inputs, func(p flow.Port) bool { return p.Name == port }) || own.Field(port) != nil
		if into && !declared {
			fed[e.From] = port
		}
	}
	return fed
}

// after are the nodes that depend on this one: an edge from them would make a
// circle.
func (l *completions) after() map[string]bool {
	seen := map[string]bool{}
	for queue := []string{l.node.ID}; len(queue) > 0; queue = queue[1:] {
		for _, e := range l.d.Edges {
			from, _, _ := strings.Cut(e.From, ".")
			to, _, _ := strings.Cut(e.To, ".")
			if from == queue[0] && !seen[to] {
				seen[to] = true
				queue = append(queue, to)
			}
		}
	}
	return seen
}

func (l *completions) add(n *flow.Node, k *flow.Kind, p flow.Port, fed map[string]string) {
	out := completion{From: n.ID + "." + p.Name, Title: editorview.NodeTitle(n, k) + " › " + p.Name, Type: p.ShownType(), Example: l.example(n, k, p)}
	if name, connected := fed[out.From]; connected {
		out.Name = name
	} else {
		out.Name = l.free(nameFor(n, k, p))
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

var notName = regexp.MustCompile(`[^A-Za-z0-9_]+`)

// nameFor is what a value is called in a template: the name of an input, the
// node where it has one output that matters, or both.
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

// free makes a name that nothing else has.
func (l *completions) free(name string) string {
	for base, i := name, '2'; l.taken[name]; i++ {
		name = base + "_" + string(i)
	}
	l.taken[name] = true
	return name
}

// example is what came out of the port last, or what the flow says of it.
func (l *completions) example(n *flow.Node, k *flow.Kind, p flow.Port) string {
	value, known := l.samples[n.ID][p.Name]
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
