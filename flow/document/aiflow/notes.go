package aiflow

import "slices"

// Sort is the type of a note in the report.
type Sort string

// The sorts of notes, in the order in which they are shown.
const (
	Mapped  Sort = "mapped"  // the node was converted
	Passed  Sort = "passed"  // the node was removed and its edges were joined
	Noted   Sort = "noted"   // the node became a note
	Lost    Sort = "lost"    // an edge or entry was dropped
	Left    Sort = "left"    // settings were dropped
	Changed Sort = "changed" // a name or value differs from the file
	Needed  Sort = "needed"  // the flow needs a credential
	Todo    Sort = "todo"    // a problem that keeps the flow from running
)

// Losses returns the notes about differences from the file and about the work that is
// left, without Mapped and Passed notes. The text of a missing credential
// begins with its provider, so that it can be shown without the other fields.
func Losses(report []Note) []Note {
	list := slices.DeleteFunc(slices.Clone(report), func(n Note) bool { return n.Sort == Mapped || n.Sort == Passed })
	for i := range list {
		if n := &list[i]; n.Provider != "" {
			n.Text = n.Provider + ": " + n.Text
		}
	}
	return list
}

// Note is one sentence of the report. It contains no values of settings, so that it cannot
// leak a secret.
type Note struct {
	Sort Sort
	// Source names the node of the file, Node the one of the document.
	Source, Node string
	// From is the name in the file of the node at which a lost edge starts.
	From string
	// Provider is the provider that needs a credential.
	Provider string
	Text     string
}
