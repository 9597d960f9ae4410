package console

import (
	"sluice/views/components"
)

// Starter is a sample flow that users can copy.
type Starter struct {
	ID, Icon, Name, Text string
	// Needs names what the flow requires, such as "Replicate"; "" if it runs without
	// credentials.
	Needs string
	Graph components.Graph
	// Asked is an example of an input, and Answer what the flow gives for it: short values, or one text.
	Asked  string
	Answer []string
}

// brief reports whether the answer is values that fit beside each other.
func (s Starter) brief() bool {
	size := 0
	for _, a := range s.Answer {
		size += len(a)
	}
	return size <= maxBriefAnswer
}

// maxBriefAnswer is the length of an answer, in bytes, that is shown as values instead of a text.
const maxBriefAnswer = 28

// blankStarter is the choice to begin without a template. It comes before the templates
// in the dialog for a new flow.
var blankStarter = Starter{Icon: "plus", Name: "Blank flow", Text: "Just an input and an output."}

// TemplatesPage lists the flows that come with Sluice.
type TemplatesPage struct {
	Starters []Starter
	MayEdit  bool
}

// starters returns the starters that need a provider, or those that need none.
func (t TemplatesPage) starters(needs bool) (list []Starter) {
	for _, s := range t.Starters {
		if (s.Needs != "") == needs {
			list = append(list, s)
		}
	}
	return list
}

// ImportForm imports a flow from a file or pasted text.
type ImportForm struct {
	// Text is the pasted text, kept when the import is rejected.
	Text string
	// Problems are all errors in the document, each with its location.
	Problems []ImportProblem
	Errors   components.Errors
}

// ImportProblem is one error and where in the document it is.
type ImportProblem struct{ Place, Text string }

// ImportReport is the outcome of importing an AI-Flow file.
type ImportReport struct {
	FlowID, Name string
	Graph        components.Graph
	Nodes, Edges int
	// Todo lists what must be done before the flow can run. Noted nodes became notes, Lost are
	// missing edges, Changed and Left are settings, Mapped and Passed were imported fully.
	Todo, Noted, Lost, Changed, Left, Mapped, Passed []string
	Needed                                           []NeededCredential
}

// NeededCredential is a provider that the imported flow calls.
type NeededCredential struct {
	Provider, Title, Text string
	// Have is set if the workspace has a credential for the provider.
	Have bool
}

// summary returns the report in one line.
func (r ImportReport) summary() string {
	return components.Quantity(r.Nodes, "node") + " and " + components.Quantity(r.Edges, "edge") + " imported."
}

// clean reports whether nothing is left to do.
func (r ImportReport) clean() bool {
	return len(r.Todo)+len(r.Noted)+len(r.Lost) == 0
}

// TagsForm edits the tags of a flow.
type TagsForm struct {
	FlowID, Name string
	// Tags are separated by commas.
	Tags string
	// Known are the tags in use in the workspace.
	Known  []string
	Errors components.Errors
}
