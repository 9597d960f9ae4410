package editor

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"sluice/flow"
	"sluice/flow/cputime"
	"sluice/flow/document"
	"sluice/flow/textdiff"
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

// textDiff compares two texts word by word.
func textDiff(before, after string) (pieces []editorview.Piece) {
	for _, p := range textdiff.Words(before, after) {
		pieces = append(pieces, editorview.Piece{Change: pieceChanges[p.Change], Text: p.Text})
	}
	return pieces
}

// pieceChanges maps the changes of a text to those of documents. The change of an equal piece
// is "", the zero value.
var pieceChanges = map[textdiff.Change]string{textdiff.Added: document.ChangeAdded, textdiff.Removed: document.ChangeRemoved}
