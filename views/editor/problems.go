package editor

import (
	"fmt"
	"strings"

	"sluice/flow"
	"sluice/flow/document"
	"sluice/flow/wording"
	"sluice/views/components"
)

// ProblemsPanel lists the problems that prevent the draft from running.
type ProblemsPanel struct {
	FlowID string
	List   []ProblemLine
}

// ProblemLine is one problem, with the node and field to fix. A warning does not prevent runs.
type ProblemLine struct {
	Node, Title, Field, Text string
	Warning                  bool
}

// ProblemsOf sorts the problems of a draft in the order of its nodes; problems of the whole
// flow come first. missing has the names of credentials that do not exist.
func ProblemsOf(flowID string, d *flow.Document, kinds *flow.Registry, problems []flow.Problem, missing map[string]bool) ProblemsPanel {
	panel := ProblemsPanel{FlowID: flowID}
	by := document.ByNode(d, problems)
	for _, p := range by[""] {
		panel.List = append(panel.List, ProblemLine{Text: wording.Sentence(p.Detail)})
	}
	for i := range d.Nodes {
		n := &d.Nodes[i]
		for _, p := range by[n.ID] {
			panel.List = append(panel.List, ProblemLine{Node: n.ID, Title: document.NodeTitle(n, kinds.For(n)), Field: fieldAt(p.Pointer), Text: wording.Sentence(p.Detail)})
		}
	}
	for i := range d.Nodes {
		n := &d.Nodes[i]
		for _, name := range n.Credentials() {
			if missing[name] && !n.Disabled {
				panel.List = append(panel.List, ProblemLine{Node: n.ID, Title: document.NodeTitle(n, kinds.For(n)), Text: missingText(name), Warning: true})
			}
		}
	}
	for _, e := range document.ShadowedEdges(d, kinds) {
		panel.List = append(panel.List, shadowedLine(d, kinds, e))
	}
	return panel
}

// shadowedLine warns about an edge that never carries a value.
func shadowedLine(d *flow.Document, kinds *flow.Registry, e document.Shadowed) ProblemLine {
	title := func(id string) string {
		n := d.Node(id)
		return document.NodeTitle(n, kinds.For(n))
	}
	line := ProblemLine{Node: e.Edge.ToNode(), Title: title(e.Edge.ToNode()), Warning: true}
	line.Text = fmt.Sprintf("Always takes the value of %s, so the one of %s never arrives. Remove one of the connections.", title(e.By.FromNode()), title(e.Edge.FromNode()))
	return line
}

// Count returns the number of problems, without warnings.
func (p ProblemsPanel) Count() (n int) {
	for _, line := range p.List {
		if !line.Warning {
			n++
		}
	}
	return n
}

// fieldAt returns the config field of a JSON pointer such as /nodes/3/config/prompt.
func fieldAt(pointer string) string {
	parts := strings.Split(pointer, "/")
	if len(parts) < 5 || parts[1] != "nodes" || parts[3] != "config" {
		return ""
	}
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(parts[4])
}

func (p ProblemsPanel) summary() string {
	if p.Count() == 0 {
		return "No problems"
	}
	return components.Quantity(p.Count(), "problem")
}

// countOf returns the number beside the tab; "" for none.
func countOf(p ProblemsPanel) string {
	if p.Count() == 0 {
		return ""
	}
	return components.Count(p.Count())
}
