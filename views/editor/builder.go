// Package editor renders the page on which flows are built: canvas, palette, inspector,
// problems, runs in the editor, publishing, versions and the API pane. It doesn't know stores,
// sessions or requests.
package editor

import (
	"context"
	"io"
	"net/url"
	"strings"

	"sluice/views/components"
	"sluice/views/layout"

	"github.com/a-h/templ"
)

// BuilderPage is the page on which a flow is edited.
type BuilderPage struct {
	FlowID, Name, Description string
	// Parent is the flow from which this one was opened, as one that it runs.
	Parent *FlowChoice
	Tags   []string
	Rev    int64
	// ReadOnly is set for viewers, who see everything and can't change it.
	ReadOnly bool
	Nodes    []NodeFace
	// Document is the draft as JSON, for the canvas.
	Document string
	Palette  []PaletteGroup
	Problems ProblemsPanel
	Outline  OutlinePanel
	// Others are the other users who have the flow open.
	Others []layout.Person
	// Refused says why the last form was rejected. TypedName is the flow name in that form.
	Refused, TypedName string
	// Outlined shows the outline at first, with the node of the URL open.
	Outlined bool
	// Pane is the tab beside the canvas that the user looked at last.
	Pane PaneTab
	// Replay is the ID of the run whose document is shown in place of the draft.
	Replay string
	// Replaced is the most recent replacement of the draft over the API, if it is recent enough
	// to be announced.
	Replaced Replacement
	Fill     BuilderFill
}

// BuilderFill are the parts of the page that other screens render. Nil parts are left out.
type BuilderFill struct {
	RunBar                             templ.Component
	Inspector, API, Runs, Data, Result templ.Component
	// State is shown in the header; nil while an earlier document is shown.
	State *PublishState
	// Banner is shown above the canvas.
	Banner  templ.Component
	Dialogs []templ.Component
}

// PaneTab is a tab of the pane beside the canvas.
type PaneTab string

// The tabs; the values are also used in HTML IDs.
const (
	PaneResult PaneTab = "result"
	PaneNode   PaneTab = "node"
	PaneAPI    PaneTab = "api"
	PaneRuns   PaneTab = "runs"
)

// ParsePaneTab returns the tab that a cookie names; anything unknown is the node tab.
func ParsePaneTab(text string) PaneTab {
	if t := PaneTab(text); t == PaneAPI || t == PaneRuns {
		return t
	}
	return PaneNode
}

func editPath(id string) templ.SafeURL {
	return templ.SafeURL(components.FlowPath(id) + "/edit")
}

func nodePath(id, node string) templ.SafeURL {
	return templ.SafeURL(components.FlowPath(id) + "/node/" + url.PathEscape(node))
}

// data embeds JSON for scripts. It escapes <, so that nothing in the JSON can close the
// element.
func data(class, json string) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		_, err := io.WriteString(w, `<script type="application/json" class="`+class+`">`+strings.ReplaceAll(json, "<", `\u003c`)+`</script>`)
		return err
	})
}

// slot shows a part that another screen renders, or nothing if it is nil.
func slot(c templ.Component) templ.Component {
	if c == nil {
		return templ.NopComponent
	}
	return c
}
