package aiflow

import (
	"fmt"
	"strconv"
	"strings"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/document"
	"sluice/flow/wording"
)

// convertEdges converts every edge, or reports why it was dropped.
func (c *conversion) convertEdges() {
	for _, s := range c.sources {
		if s.passesThrough() {
			continue // convertEdge follows these from the node that they lead to
		}
		for _, l := range s.links {
			c.convertEdge(l)
		}
	}
	c.reportDeadEnds()
}

// convertEdge converts one edge. If it starts at a node that passes a value on, the new
// edge starts at the node that produces the value.
func (c *conversion) convertEdge(l *link) {
	from, output, why := c.origin(l)
	if why != "" {
		c.reportLost(l, why)
		return
	}
	out, why := outPort(from, output)
	if why != "" {
		c.reportLost(l, why)
		return
	}
	in, why := inPort(l)
	if why != "" {
		c.reportLost(l, why)
		return
	}
	c.d.Edges = append(c.d.Edges, flow.Edge{From: from.id + "." + out, To: l.to.id + "." + in})
	c.links = append(c.links, l)
}

// origin follows an edge back to the node that produces the value, through all nodes that
// pass it on. why is the reason if there is no such node.
func (c *conversion) origin(l *link) (from *source, output int, why string) {
	for range len(c.sources) + 1 {
		from, output = c.byName[l.from], l.output
		switch {
		case from == nil:
			return nil, 0, fmt.Sprintf("the file has no node %s", quoted(cleanLabel(l.from)))
		case !from.passesThrough():
			return from, output, ""
		case len(from.links) == 0:
			return nil, 0, fmt.Sprintf("nothing leads to %s, which it came from", from.title())
		}
		l = from.links[0]
	}
	return nil, 0, "the nodes that pass it on form a loop"
}

// outPort returns the port for output number output of a node, counted from 0, or the reason
// why there is no such port.
func outPort(from *source, output int) (port, why string) {
	switch {
	case from.isNote:
		return "", fmt.Sprintf("%s is a note now", from.title())
	case output < 0:
		return "", fmt.Sprintf("%s gives no such output", from.title())
	case output >= len(from.rule.outputs):
		return "", fmt.Sprintf("%s gives no output %d here", from.title(), output+1)
	}
	return from.rule.outputs[output], ""
}

// inPort returns the port that a link arrives at, or the reason why there is no such port.
func inPort(l *link) (port, why string) {
	if l.to.isNote {
		return "", fmt.Sprintf("%s is a note now", l.to.title())
	}
	port, ok := l.to.rule.port(l.to, l)
	switch {
	case !ok && l.field != "":
		return "", fmt.Sprintf("%s takes no edge at %s here", l.to.title(), quoted(cleanLabel(l.field)))
	case !ok:
		return "", fmt.Sprintf("%s has no place %d for an edge here", l.to.title(), l.index+1)
	}
	return port, ""
}

// reportLost reports an edge that could not be kept.
func (c *conversion) reportLost(l *link, why string) {
	from := quoted(cleanLabel(l.from))
	if s := c.byName[l.from]; s != nil {
		from = s.title()
	}
	c.addNote(Note{Sort: Lost, Source: l.to.name, From: l.from, Node: l.to.id, Text: fmt.Sprintf("The edge from %s to %s is missing: %s.", from, l.to.title(), strings.TrimSuffix(why, "?"))})
}

// reportDeadEnds reports the edges into pass-through nodes that were dropped: edges whose
// origin is missing, and all but the first into the same node.
func (c *conversion) reportDeadEnds() {
	for _, s := range c.sources {
		if !s.passesThrough() {
			continue
		}
		for i, l := range s.links {
			if i > 0 {
				c.reportLost(l, s.title()+" passes on one value, and this is its second")
			} else if _, _, why := c.origin(l); why != "" {
				c.reportLost(l, why)
			}
		}
	}
}

// validate removes and reports the edges that are invalid in the document, until no edge
// has a problem. The remaining problems become notes for the user.
func (c *conversion) validate() {
	for {
		bad := map[int]string{}
		problems := document.Validate(c.d, c.kinds)
		for _, p := range problems {
			if i, ok := edgeOf(p.Pointer); ok {
				bad[i] = p.Detail
			}
		}
		if len(bad) == 0 {
			c.reportProblems(problems)
			return
		}
		c.dropEdges(bad)
	}
}

// edgeOf returns the index of the edge that a problem's pointer refers to.
func edgeOf(pointer string) (int, bool) {
	rest, ok := strings.CutPrefix(pointer, "/edges/")
	if !ok {
		return 0, false
	}
	number, _, _ := strings.Cut(rest, "/")
	i, err := strconv.Atoi(number)
	return i, err == nil
}

// dropEdges removes edges and reports each as lost. bad maps the index of an edge to the reason.
// Edges and arrived keep the same indexes.
func (c *conversion) dropEdges(bad map[int]string) {
	edges, arrived := []flow.Edge{}, []*link{}
	for i, e := range c.d.Edges {
		if why, refused := bad[i]; refused {
			c.reportLost(c.links[i], why)
			continue
		}
		edges, arrived = append(edges, e), append(arrived, c.links[i])
	}
	c.d.Edges, c.links = edges, arrived
}

// reportProblems turns the problems of the result into notes: what the user must still do before
// it runs.
func (c *conversion) reportProblems(problems []flow.Problem) {
	for _, p := range problems {
		c.addNote(Note{Sort: Todo, Node: p.Node, Text: wording.Sentence(p.Detail)})
	}
	if len(contract.Outputs(c.d, c.kinds)) == 0 {
		c.addNote(Note{Sort: Todo, Text: "The flow has no output yet. Connect the value to return to an output node."})
	}
}

// reportCredentials reports each provider that needs a credential once, with the number of
// its nodes.
func (c *conversion) reportCredentials() {
	count := map[string]int{}
	var order []string
	for _, s := range c.sources {
		if s.rule == nil {
			continue
		}
		provider := s.rule.provider
		if s.rule.kind == "hosted_model" {
			provider = "replicate"
		}
		if provider == "" {
			continue
		}
		if count[provider]++; count[provider] == 1 {
			order = append(order, provider)
		}
	}
	for _, provider := range order {
		nodes := "1 node needs"
		if count[provider] > 1 {
			nodes = fmt.Sprintf("%d nodes need", count[provider])
		}
		c.addNote(Note{Sort: Needed, Provider: provider, Text: nodes + " a credential for it."})
	}
}
