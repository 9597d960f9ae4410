package editor

import (
	"net/url"

	"sluice/views/components"

	"github.com/a-h/templ"
)

// ComparePage is two versions of a flow side by side.
type ComparePage struct {
	FlowID, Name string
	// From and To are numbers of versions, 0 for the draft.
	From, To int64
	// Choices are all that can be compared, the draft first.
	Choices []components.Option
	Diff    *Diff
	Picture components.Picture
	Nodes   []NodeDiff
	Callers []Caller
	// LiveBreaks is set if what breaks is of what programs call now.
	LiveBreaks bool
}

// NodeDiff is one node that changed, field by field.
type NodeDiff struct {
	Change, Label, Kind string
	Fields              []FieldDiff
}

// FieldDiff is one field before and after. Where both are texts, Pieces show
// what was written and struck out; else the two stand beside each other.
type FieldDiff struct {
	Title         string
	Had, Has      bool
	Before, After string
	Pieces        []Piece
}

// Piece is a part of a text that stayed, was added or was removed.
type Piece struct {
	Change string // ChangeAdded, ChangeRemoved or nothing
	Text   string
}

func (p ComparePage) path() templ.SafeURL {
	return templ.SafeURL("/flows/" + url.PathEscape(p.FlowID) + "/compare")
}

func (p ComparePage) swap() templ.SafeURL {
	return comparePath(p.FlowID, versionWord(p.To), versionWord(p.From))
}

// sideName names a side of a comparison in a sentence. 0 stands for the draft, since
// versions are counted from 1.
func sideName(n int64) string {
	if n == 0 {
		return "the draft"
	}
	return VersionName(n)
}

func (p ComparePage) sides() string { return sideName(p.From) + " and " + sideName(p.To) }
