package console

import (
	"sluice/views/components"
)

// Starter is a flow to start from.
type Starter struct {
	ID, Icon, Name, Text string
	// Needs is what has to be there for it to run, such as "Replicate"; empty
	// when it runs as it is.
	Needs string
	Graph components.Graph
}

// blankStarter is the choice to begin without a template. It comes before the templates
// in the dialog for a new flow.
var blankStarter = Starter{Icon: "plus", Name: "Blank flow", Text: "An input, an output, the rest is yours."}

// TemplatesPage lists the flows that Sluice brings along.
type TemplatesPage struct {
	Starters []Starter
	MayEdit  bool
}

// those are the starters that need something, or those that need nothing.
func (t TemplatesPage) those(need bool) (list []Starter) {
	for _, s := range t.Starters {
		if (s.Needs != "") == need {
			list = append(list, s)
		}
	}
	return list
}

// ImportForm takes a flow as a file or as text.
type ImportForm struct {
	// Text is what was pasted, kept when it is refused.
	Text string
	// Problems are all that is wrong with the document, each with its place.
	Problems []ImportProblem
	Errors   components.Errors
}

// ImportProblem is one sentence and where in the document it applies.
type ImportProblem struct{ Place, Text string }

// ImportReport is the outcome of importing a file of AI-Flow.
type ImportReport struct {
	FlowID, Name string
	Graph        components.Graph
	Nodes, Edges int
	// Todo keeps the flow from running; Noted became notes, Lost are edges that
	// are missing, Changed and Left are settings, Mapped and Passed went well.
	Todo, Noted, Lost, Changed, Left, Mapped, Passed []string
	Needed                                           []NeededCredential
}

// NeededCredential is a provider that the flow calls.
type NeededCredential struct {
	Provider, Title, Text string
	// Have is set if the workspace has a credential for it.
	Have bool
}

// summary is the report in one line.
func (r ImportReport) summary() string {
	return components.Quantity(r.Nodes, "node") + " and " + components.Quantity(r.Edges, "edge") + " imported."
}

// clean is set if nothing is left to do.
func (r ImportReport) clean() bool {
	return len(r.Todo)+len(r.Noted)+len(r.Lost) == 0
}

// TagsForm changes the tags of a flow.
type TagsForm struct {
	FlowID, Name string
	// Tags are written with commas between.
	Tags string
	// Known are the tags of the workspace.
	Known  []string
	Errors components.Errors
}
