// Package aiflow imports the files that AI-Flow exports: it converts a file to a flow
// document and reports the outcome for every node, edge and setting in it. It depends on
// documents and node kinds, not on stores or requests.
package aiflow

import (
	"bytes"
	"fmt"
	"strings"

	"sluice/flow"
	"sluice/flow/contract"
)

// Recognize reports whether data is an AI-Flow export: a JSON list in which at least one
// node has a type.
func Recognize(data []byte) bool {
	for _, v := range entries(data) {
		if m, ok := flow.AsMap(v); ok && processorType(m) != "" {
			return true
		}
	}
	return false
}

// entries decodes a file and returns the items of its top-level list. It returns nil for
// any other file.
func entries(data []byte) []any {
	v, err := flow.DecodeJSON(bytes.TrimPrefix(data, []byte("\ufeff")))
	if err != nil {
		return nil
	}
	list, _ := v.([]any)
	return list
}

// Convert converts a file to a document. A node without a counterpart in Sluice becomes a
// note at the same position. The document always parses; the report lists the problems
// that keep it from running. The error is a *flow.Error if the file cannot be read.
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
	c.convertNodes()
	c.convertEdges()
	c.placeNodes()
	c.validate()
	if len(c.d.Compact()) > flow.MaxDocumentBytes {
		return nil, nil, flow.Errorf(flow.CodeDocumentInvalid, "The flow would be larger than %d MiB.", flow.MaxDocumentBytes>>20)
	}
	return c.d, c.report, nil
}

// conversion is the state of converting one file.
type conversion struct {
	kinds   *flow.Registry
	sources []*source
	byName  map[string]*source
	ids     map[string]bool
	inputs  map[string]bool   // names of the flow's inputs that are in use
	outputs map[string]bool   // the same for its outputs
	renamed map[string]string // output names in the document, by output name in the file
	d       *flow.Document
	links   []*link // the file's edges, parallel to d.Edges
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
			c.addNote(Note{Sort: Lost, Text: fmt.Sprintf("Entry %d of the file is no node and was left out.", i+1)})
			continue
		}
		c.sources = append(c.sources, s)
		if c.byName[s.name] == nil && s.name != "" {
			c.byName[s.name] = s
		}
	}
	return c
}

// addNote appends to the report. The report also lists the nodes that were kept, and has
// the order of the conversion.
func (c *conversion) addNote(n Note) { c.report = append(c.report, n) }

// convertNodes converts every source to a node or a note, except those that only pass a
// value on to another node.
func (c *conversion) convertNodes() {
	for _, s := range c.sources {
		s.rule = findRule(s, c.kinds)
		switch {
		case s.passesThrough() && c.isUsed(s):
			c.addNote(Note{Sort: Passed, Source: s.name, Text: fmt.Sprintf("%s passes its value on, so its edges lead straight to the next node.", s.title())})
		case s.passesThrough():
			c.convertDisplay(s)
		case s.rule == nil:
			c.keepAsNote(s)
		default:
			c.convertNode(s)
		}
	}
	c.renameWebhookOutputs()
	c.reportCredentials()
}

// renameWebhookOutputs replaces the output names that webhooks send by the names in the
// document. It runs after all outputs have a name.
func (c *conversion) renameWebhookOutputs() {
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

// isUsed reports whether an edge starts at the node. A node without incoming edges counts
// as used too, because it has no value that an output could show.
func (c *conversion) isUsed(s *source) bool {
	for _, other := range c.sources {
		for _, l := range other.links {
			if c.byName[l.from] == s {
				return true
			}
		}
	}
	return len(s.links) == 0
}

// convertDisplay turns a node that only displayed a result into an output of the flow.
// Without an output the result would be lost.
func (c *conversion) convertDisplay(s *source) {
	s.rule = &outputRule
	c.convertNode(s)
}

// convertNode converts one node by its rule. Settings that the rule did not use are
// reported, so that nothing is lost silently.
func (c *conversion) convertNode(s *source) {
	n := flow.Node{ID: c.freeID(s.rule.kind), Kind: s.rule.kind, Label: s.label, Config: map[string]any{}}
	b := &builder{c: c, s: s, kind: c.kinds.Find(s.rule.kind), n: &n, used: map[string]bool{}}
	b.copyFields()
	if s.rule.finish != nil {
		s.rule.finish(b)
	}
	b.escapeTemplates()
	s.id = n.ID
	c.d.Nodes = append(c.d.Nodes, n)
	c.addNote(Note{Sort: Mapped, Source: s.name, Node: n.ID, Text: fmt.Sprintf("%s is now %s.", s.title(), quoted(b.kind.Title))})
	b.reportUnused()
}

// keepAsNote replaces a node without a counterpart by a note that lists its settings.
func (c *conversion) keepAsNote(s *source) {
	n := flow.Node{ID: c.freeID("note"), Kind: "note", Config: map[string]any{"text": s.noteText()}}
	s.id, s.isNote = n.ID, true
	c.d.Nodes = append(c.d.Nodes, n)
	c.addNote(Note{Sort: Noted, Source: s.name, Node: n.ID, Text: fmt.Sprintf("%s has no counterpart yet. Its settings are in a note in its place.", s.title())})
}

// freeID returns an unused node ID: base, or base_2, base_3 and so on.
func (c *conversion) freeID(base string) string {
	id := base
	for i := 2; c.ids[id]; i++ {
		id = fmt.Sprintf("%s_%d", base, i)
	}
	c.ids[id] = true
	return id
}

// freeName returns a valid name that is not taken yet, close to the wanted one, and marks
// it as taken. otherwise is used if wanted has no valid name in it.
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
