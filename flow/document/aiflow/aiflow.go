// Package aiflow owns reading the files that AI-Flow exports: it turns one into
// a flow document and reports the outcome for every node, edge and setting in it.
// It knows documents and the declared kinds, and nothing of stores or requests.
package aiflow

import (
	"bytes"
	"fmt"
	"strings"

	"sluice/flow"
	"sluice/flow/contract"
)

// Recognize reports whether data is a file of AI-Flow: a list of nodes that say
// what they are.
func Recognize(data []byte) bool {
	for _, v := range entries(data) {
		if m, ok := v.(map[string]any); ok && typeOf(m) != "" {
			return true
		}
	}
	return false
}

// entries are the items of the list that a file is, or nothing.
func entries(data []byte) []any {
	v, err := flow.DecodeJSON(bytes.TrimPrefix(data, []byte("\ufeff")))
	if err != nil {
		return nil
	}
	list, _ := v.([]any)
	return list
}

// Convert makes a document of a file. What has no counterpart here becomes a
// note in its place. The document always parses; what keeps it from running is
// in the report. The error is an *flow.Error for a file that cannot be read.
func Convert(data []byte, kinds *flow.Registry) (*flow.Document, []Note, error) {
	if len(data) > flow.MaxDocumentBytes {
		return nil, nil, flow.Errorf(flow.CodeDocumentInvalid, "The file is larger than %d MiB.", flow.MaxDocumentBytes>>20)
	}
	if !Recognize(data) {
		return nil, nil, flow.Errorf(flow.CodeDocumentInvalid, "This is not a file that AI-Flow exports: that is a JSON list of nodes, each with a processorType.")
	}
	c := newConversion(entries(data), kinds)
	if len(c.sources) > flow.MaxNodes {
		return nil, nil, flow.Errorf(flow.CodeDocumentInvalid, "The file has %d nodes; a flow has at most %d.", len(c.sources), flow.MaxNodes)
	}
	c.nodes()
	c.edges()
	c.place()
	c.judge()
	if len(c.d.Canonical()) > flow.MaxDocumentBytes {
		return nil, nil, flow.Errorf(flow.CodeDocumentInvalid, "The flow would be larger than %d MiB.", flow.MaxDocumentBytes>>20)
	}
	return c.d, c.report, nil
}

// conversion is one file on its way to a document.
type conversion struct {
	kinds   *flow.Registry
	sources []*source
	byName  map[string]*source
	ids     map[string]bool
	inputs  map[string]bool // names of the flow's own inputs and outputs
	outputs map[string]bool
	renamed map[string]string // names of outputs in the file to those in the document
	d       *flow.Document
	arrived []*link // by edge of the document
	report  []Note
}

// newConversion indexes the nodes of an exported flow by name and starts an empty
// document.
func newConversion(list []any, kinds *flow.Registry) *conversion {
	c := &conversion{
		kinds: kinds, byName: map[string]*source{}, ids: map[string]bool{},
		inputs: map[string]bool{contract.ReservedInput: true}, outputs: map[string]bool{}, renamed: map[string]string{},
		d: &flow.Document{
			Schema: flow.Schema, Name: "Imported from AI-Flow", Nodes: []flow.Node{}, Edges: []flow.Edge{},
		},
	}
	for i, v := range list {
		s := readSource(v)
		if s == nil {
			c.say(Note{Sort: Lost, Text: fmt.Sprintf("Entry %d of the file is no node and was left out.", i+1)})
			continue
		}
		c.sources = append(c.sources, s)
		if c.byName[s.name] == nil && s.name != "" {
			c.byName[s.name] = s
		}
	}
	return c
}

// say adds a note to the report, which lists the kept nodes too, in the order of the
// conversion.
func (c *conversion) say(n Note) { c.report = append(c.report, n) }

// nodes makes a node or a note of every source that is not passed through.
func (c *conversion) nodes() {
	for _, s := range c.sources {
		s.rule = findRule(s, c.kinds)
		switch {
		case s.passes() && c.leadsOn(s):
			c.say(Note{Sort: Passed, Source: s.name, Text: fmt.Sprintf("%s passes its value on, so its edges lead straight to the next node.", s.title())})
		case s.passes():
			c.shown(s)
		case s.rule == nil:
			c.note(s)
		default:
			c.node(s)
		}
	}
	c.chosen()
	c.needed()
}

// chosen writes the outputs that webhooks send as they are called now.
func (c *conversion) chosen() {
	for i := range c.d.Nodes {
		list, _ := c.d.Nodes[i].Config["outputs"].([]any)
		for j, v := range list {
			list[j] = flow.Text(v)
			if name := c.renamed[flow.Text(v)]; name != "" {
				list[j] = name
			}
		}
	}
}

// leadsOn reports whether any node takes what this one gives.
func (c *conversion) leadsOn(s *source) bool {
	for _, other := range c.sources {
		for _, l := range other.links {
			if c.byName[l.from] == s {
				return true
			}
		}
	}
	return len(s.links) == 0
}

// shown makes an output of a node that only showed a result: without it the
// result would go nowhere.
func (c *conversion) shown(s *source) {
	s.rule = &outputRule
	c.node(s)
}

// node converts one node by its rule. Settings that the rule did not use are reported, so
// that nothing is lost silently.
func (c *conversion) node(s *source) {
	n := flow.Node{ID: c.freeID(s.rule.kind), Kind: s.rule.kind, Label: s.label, Config: map[string]any{}}
	b := &builder{c: c, s: s, kind: c.kinds.Find(s.rule.kind), n: &n, used: map[string]bool{}}
	b.fields()
	if s.rule.also != nil {
		s.rule.also(b)
	}
	b.escape()
	s.id = n.ID
	c.d.Nodes = append(c.d.Nodes, n)
	c.say(Note{Sort: Mapped, Source: s.name, Node: n.ID, Text: fmt.Sprintf("%s is now %s.", s.title(), quoted(b.kind.Title))})
	b.leftovers()
}

// note keeps a node without a counterpart as a remark in its place.
func (c *conversion) note(s *source) {
	n := flow.Node{ID: c.freeID("note"), Kind: "note", Config: map[string]any{"text": s.asText()}}
	s.id, s.remark = n.ID, true
	c.d.Nodes = append(c.d.Nodes, n)
	c.say(Note{Sort: Noted, Source: s.name, Node: n.ID, Text: fmt.Sprintf("%s has no counterpart yet. Its settings are in a note in its place.", s.title())})
}

// freeID returns an ID that no node has yet: the kind's name, with a number from the
// second on.
func (c *conversion) freeID(base string) string {
	id := base
	for i := 2; c.ids[id]; i++ {
		id = fmt.Sprintf("%s_%d", base, i)
	}
	c.ids[id] = true
	return id
}

// freeName is a name for an input or output that callers can use.
func freeName(wanted, otherwise string, taken map[string]bool) string {
	base := strings.Trim(notName.ReplaceAllString(wanted, "_"), "_-")
	if base == "" || base[0] >= '0' && base[0] <= '9' {
		base = otherwise
	}
	base = base[:min(len(base), 60)]
	name := base
	for i := 2; taken[name]; i++ {
		name = fmt.Sprintf("%s_%d", base, i)
	}
	taken[name] = true
	return name
}
