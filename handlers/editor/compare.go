package editor

import (
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sergi/go-diff/diffmatchpatch"

	"sluice/flow"
	"sluice/flow/cputime"
	"sluice/flow/document"
	"sluice/views/components"
	editorview "sluice/views/editor"
	"sluice/views/layout"
)

// showCompare is GET /flows/{id}/compare: the differences between two versions,
// by default between the live one and the draft.
func showCompare(c *call, f *flow.Flow) error {
	from, err := comparedVersion(c.QueryParam("from"), f.LiveVersion)
	if err != nil {
		return err
	}
	to, err := comparedVersion(c.QueryParam("to"), 0)
	if err != nil {
		return err
	}
	comparison, err := c.s.Library.CompareVersions(c.Ctx(), c.WorkspaceID(), f.ID, from, to)
	if err != nil {
		return err
	}
	p := editorview.ComparePage{FlowID: string(f.ID), Name: f.Name, LiveVersion: f.LiveVersion, From: from, To: to, Diff: diffOf(comparison.Diff), Picture: c.s.diffPicture(comparison), Nodes: nodeDiffs(comparison.Diff)}
	if p.LiveBreaks = from == f.LiveVersion && from > 0 && len(comparison.Diff.Breaking) > 0; p.LiveBreaks {
		if p.Callers, err = callers(c, f.ID); err != nil {
			return err
		}
	}
	if p.Choices, err = versionChoices(c, f); err != nil {
		return err
	}
	return c.Render(http.StatusOK, editorview.Compare(c.Page("Compare versions of "+f.Name, layout.SectionFlows), p))
}

// comparedVersion parses a version number; "draft" is 0, and an empty text means
// the fallback.
func comparedVersion(text string, fallback int64) (int64, error) {
	switch text {
	case "":
		return fallback, nil
	case "draft":
		return 0, nil
	}
	return parseVersion(text)
}

// versionChoices returns the draft and all versions as options.
func versionChoices(c *call, f *flow.Flow) ([]components.Option, error) {
	list, err := c.s.Store.ListVersions(c.Ctx(), c.WorkspaceID(), f.ID)
	if err != nil {
		return nil, err
	}
	choices := []components.Option{{Value: "draft", Label: "Draft"}}
	for _, v := range list {
		label := editorview.VersionName(v.Number)
		if v.Number == f.LiveVersion {
			label += " · live"
		}
		choices = append(choices, components.Option{Value: strconv.FormatInt(v.Number, 10), Label: label})
	}
	return choices, nil
}

// maxDiffCPU is the CPU time for comparing the texts of all nodes. The texts beyond that are shown
// without marks.
const maxDiffCPU = 400 * time.Millisecond

// nodeDiffs converts the changed nodes, field by field.
func nodeDiffs(d *document.Diff) (list []editorview.NodeDiff) {
	left := maxDiffCPU
	for i := range d.Nodes {
		n := &d.Nodes[i]
		node := editorview.NodeDiff{Change: n.Change, Label: n.Label, Kind: n.Kind}
		for _, v := range n.Values {
			node.Fields = append(node.Fields, fieldDiff(v, &left))
		}
		list = append(list, node)
	}
	return list
}

// fieldDiff converts a changed field. Long texts are merged into one text in which
// the changes are marked, which takes from the remaining CPU time.
func fieldDiff(v document.FieldChange, left *time.Duration) editorview.FieldDiff {
	f := editorview.FieldDiff{Title: v.Title, WasSet: v.WasSet, IsSet: v.IsSet}
	if v.WasSet {
		f.Before = valueText(v.Before)
	}
	if v.IsSet {
		f.After = valueText(v.After)
	}
	if f.WasSet && f.IsSet && *left > 0 && (strings.ContainsAny(f.Before+f.After, " \n") || len(f.Before)+len(f.After) > minMergedDiff) {
		*left -= cputime.Measure(func() { f.Pieces = textDiff(f.Before, f.After) })
	}
	return f
}

// minMergedDiff is the total size of two texts, in bytes, from which they are
// merged.
const minMergedDiff = 80

// valueText returns a text unchanged and any other value as JSON.
func valueText(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return string(flow.EncodeJSON(v))
}

// maxWordDiff is the total size, in bytes, up to which two texts are compared word
// by word. Larger ones are compared line by line: by words it would take seconds.
const maxWordDiff = 64 << 10

// textDiff compares two texts word by word. The diff library compares runes, so
// each distinct word is encoded as one rune.
func textDiff(before, after string) []editorview.Piece {
	d := diffmatchpatch.New()
	d.DiffTimeout = 200 * time.Millisecond
	split := splitWords
	if len(before)+len(after) > maxWordDiff {
		split = func(s string) []string { return strings.SplitAfter(s, "\n") }
	}
	a, b, parts := encodeParts(split(before), split(after))
	var pieces []editorview.Piece
	for _, piece := range d.DiffMainRunes(a, b, false) {
		var text strings.Builder
		for _, r := range piece.Text {
			text.WriteString(parts[decodeIndex(r)])
		}
		pieces = append(pieces, editorview.Piece{Change: pieceChanges[piece.Type], Text: text.String()})
	}
	return pieces
}

// pieceChanges maps the operations of the text diff to changes. The change of an equal piece
// is "", the zero value.
var pieceChanges = map[diffmatchpatch.Operation]string{
	diffmatchpatch.DiffInsert: document.ChangeAdded, diffmatchpatch.DiffDelete: document.ChangeRemoved,
}

// splitWords splits a text into words, spaces and punctuation.
func splitWords(s string) (list []string) {
	begin := 0
	for i, r := range s {
		_, size := utf8.DecodeRuneInString(s[i:])
		if !isWordRune(r) {
			if begin < i {
				list = append(list, s[begin:i])
			}
			list = append(list, s[i:i+size])
			begin = i + size
		}
	}
	if begin < len(s) {
		list = append(list, s[begin:])
	}
	return list
}

// isWordRune reports whether a character belongs to a word. Every character outside ASCII
// does, so text without spaces, such as Chinese, is compared as one word.
func isWordRune(r rune) bool {
	return r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r > 0x7f
}

// encodeParts encodes each distinct part as a rune, so that a diff of the runes is
// a diff of the parts.
func encodeParts(before, after []string) (a, b []rune, parts []string) {
	index := map[string]rune{}
	encode := func(list []string) []rune {
		runes := make([]rune, len(list))
		for i, part := range list {
			n, ok := index[part]
			if !ok {
				n = rune(len(parts))
				index[part] = n
				parts = append(parts, part)
			}
			runes[i] = encodeIndex(n)
		}
		return runes
	}
	a, b = encode(before), encode(after)
	return a, b, parts
}

// surrogates and surrogateCount are the range of UTF-16 surrogates. They are not
// valid runes, so a string would lose them.
const surrogates, surrogateCount = 0xd800, 0x800

// encodeIndex returns the rune for an index. It skips the surrogates.
func encodeIndex(n rune) rune {
	if n >= surrogates {
		return n + surrogateCount
	}
	return n
}

// decodeIndex is the inverse of encodeIndex.
func decodeIndex(r rune) int {
	if r >= surrogates+surrogateCount {
		return int(r - surrogateCount)
	}
	return int(r)
}
