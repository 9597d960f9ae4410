package views

// TemplatesPage lists the flows that Sluice brings along.
type TemplatesPage struct{ Starters []Starter }

// ImportForm takes a flow as a file or as text.
type ImportForm struct {
	// Text is what was pasted, kept when it is refused.
	Text string
	// Problems are all that is wrong with the document, each with its place.
	Problems []ImportProblem
	Errors   Errors
}

// ImportProblem is one sentence and where in the document it applies.
type ImportProblem struct{ Place, Text string }
