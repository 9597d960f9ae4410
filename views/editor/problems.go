package editor

import (
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

// ProblemLine is one problem, with the node and field to fix.
type ProblemLine struct{ Node, Title, Field, Text string }

// ProblemsOf sorts the problems of a draft in the order of its nodes; problems of the whole
// flow come first.
func ProblemsOf(flowID string, d *flow.Document, kinds *flow.Registry, problems []flow.Problem) ProblemsPanel {
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
	return panel
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
	if len(p.List) == 0 {
		return "No problems"
	}
	return components.Quantity(len(p.List), "problem")
}

// countOf returns the number beside the tab; "" for none.
func countOf(p ProblemsPanel) string {
	if len(p.List) == 0 {
		return ""
	}
	return components.Count(len(p.List))
}
