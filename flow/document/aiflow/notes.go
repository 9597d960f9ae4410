package aiflow

import "slices"

// Sort is what one sentence of a report is about.
type Sort string

// The sorts of notes, in the order in which a person wants to read them.
const (
	Mapped  Sort = "mapped"  // a node of the flow stands for it
	Passed  Sort = "passed"  // its edges lead straight on
	Noted   Sort = "noted"   // it is a note now
	Lost    Sort = "lost"    // an edge that could not be kept
	Left    Sort = "left"    // a setting that has no place here
	Changed Sort = "changed" // a name or text that had to be written otherwise
	Needed  Sort = "needed"  // a credential that the flow needs
	Todo    Sort = "todo"    // what keeps the flow from running
)

// Losses returns the notes about what is not in the flow as it was in the file, and what is
// left to do. The others say that a node was kept. Texts name the provider whose credential
// is needed, so that each can stand alone.
func Losses(report []Note) []Note {
	list := slices.DeleteFunc(slices.Clone(report), func(n Note) bool { return n.Sort == Mapped || n.Sort == Passed })
	for i := range list {
		if n := &list[i]; n.Provider != "" {
			n.Text = n.Provider + ": " + n.Text
		}
	}
	return list
}

// Note is one sentence of the report. It holds no value of a setting, so that
// no secret gets into it.
type Note struct {
	Sort Sort
	// Source names the node of the file, Node the one of the document.
	Source, Node string
	// From is where a lost edge came from, as the file names it.
	From string
	// Provider is whose credential is needed.
	Provider string
	Text     string
}
