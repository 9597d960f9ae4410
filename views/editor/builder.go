// Package editor renders the page where a flow is built: canvas, palette,
// inspector, problems, runs in the editor, publishing, versions and the API pane.
// It knows nothing of stores, sessions or requests.
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

// BuilderPage is the page a flow is drawn on.
type BuilderPage struct {
	FlowID, Name, Description string
	Tags                      []string
	Rev                       int64
	// ReadOnly shows everything and changes nothing, for viewers.
	ReadOnly bool
	Nodes    []NodeFace
	// Document is the draft as JSON, which the canvas reads.
	Document string
	Palette  []PaletteGroup
	Problems ProblemsPanel
	Outline  OutlinePanel
	// Others are the people who have the flow open too.
	Others []layout.Person
	// Refused says why the last form was not taken; TypedName is what it had as
	// the flow's name.
	Refused, TypedName string
	// Outlined shows the outline first; a node in the address opens it there.
	Outlined bool
	// Pane is the tab beside the canvas that the person looked at last.
	Pane PaneTab
	// Replay is the run whose former document is shown in the place of the draft.
	Replay string
	// Replaced is the newest replacement of the draft over the API, if it is recent enough to be announced.
	Replaced Replacement
	Fill     BuilderFill
}

// BuilderFill are the parts of the page that other screens own. What is nil is
// left out.
type BuilderFill struct {
	RunButton, PublishButton, RunBar templ.Component
	Inspector, API, Runs, Data       templ.Component
	// Banner stands above the canvas.
	Banner  templ.Component
	Dialogs []templ.Component
}

// PaneTab is a tab of the pane beside the canvas.
type PaneTab string

// The tabs, as their elements are named.
const (
	PaneResult PaneTab = "result"
	PaneNode   PaneTab = "node"
	PaneAPI    PaneTab = "api"
	PaneRuns   PaneTab = "runs"
)

// ParsePaneTab reads what a browser remembers; anything odd is the node's tab.
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

// data is JSON beside the page's elements, for scripts. Nothing in it can end
// the element.
func data(class, json string) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		_, err := io.WriteString(w, `<script type="application/json" class="`+class+`">`+strings.ReplaceAll(json, "<", `\u003c`)+`</script>`)
		return err
	})
}

// slot shows a part that another screen fills, if it does.
func slot(c templ.Component) templ.Component {
	if c == nil {
		return templ.NopComponent
	}
	return c
}
