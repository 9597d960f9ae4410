package editor

import (
	"net/url"

	"sluice/views/components"

	"github.com/a-h/templ"
)

// ComparePage compares two versions of a flow.
type ComparePage struct {
	FlowID, Name string
	LiveVersion  int64
	// From and To are version numbers; 0 is the draft.
	From, To int64
	// Choices are the versions that can be compared, the draft first.
	Choices []components.Option
	Diff    *Diff
	Picture components.Picture
	Nodes   []NodeDiff
	Callers []Caller
	// LiveBreaks is set if the breaking changes are relative to the live version.
	LiveBreaks bool
}

// NodeDiff lists the changed fields of one node.
type NodeDiff struct {
	Change, Label, Kind string
	Fields              []FieldDiff
}

// FieldDiff is one field before and after. Two texts are shown as a text with insertions and
// deletions (Pieces), other values side by side.
type FieldDiff struct {
	Title         string
	WasSet, IsSet bool
	Before, After string
	Pieces        []Piece
}

// Piece is a part of a text that was kept, added or removed.
type Piece struct {
	Change string // ChangeAdded, ChangeRemoved or ""
	Text   string
}

func (p ComparePage) path() templ.SafeURL {
	return templ.SafeURL("/flows/" + url.PathEscape(p.FlowID) + "/compare")
}

func (p ComparePage) swap() templ.SafeURL {
	return comparePath(p.FlowID, versionWord(p.To), versionWord(p.From))
}

// sideName names a side of the comparison in a sentence. 0 stands for the draft, since version
// numbers start at 1.
func sideName(n int64) string {
	if n == 0 {
		return "the draft"
	}
	return VersionName(n)
}

func (p ComparePage) sides() string { return sideName(p.From) + " and " + sideName(p.To) }
