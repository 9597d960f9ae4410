package editor

import (
	"fmt"
	"strconv"
	"time"

	"github.com/a-h/templ"

	"sluice/views/components"
)

// ResultPane is what a run gave, beside the canvas: its outputs, or why it failed.
type ResultPane struct {
	FlowID string
	// Run is nil before the first run.
	Run     *RunMark
	Now     time.Time
	Outputs []ResultOutput
	Inputs  []components.ValueView
	// Failed is the title of the node that failed; it may be empty.
	Failed string
	// Erased says why the content of the run is gone.
	Erased string
	// Publish is the version that publishing the draft would make live; zero if
	// there is nothing to publish.
	Publish int64
	// Live is the version that programs call if the draft is the same; zero if not.
	Live int64
}

// ResultOutput is one output of a run.
type ResultOutput struct {
	components.ValueView
	// From is the title of the node that chose the value from labels, and Scores are
	// those of the labels, best first. Both are empty for other values.
	From   string
	Scores []LabelScore
}

// LabelScore is a label with its score from 0 to 1.
type LabelScore struct {
	Label string
	Score float64
}

// text is the score with two digits, as on the canvas.
func (s LabelScore) text() string { return fmt.Sprintf("%.2f", s.Score) }

// exact is the score as the step has it.
func (s LabelScore) exact() string { return strconv.FormatFloat(s.Score, 'f', -1, 64) }

// about is the line below the state of the run.
func (r ResultPane) about() string {
	text := components.Took(r.Run.Took)
	if cost := r.Run.cost(); cost != "" {
		text += " · " + cost
	}
	return text
}

// waiting says what is there while the run has no outputs.
func (r ResultPane) waiting() string {
	switch {
	case !r.Run.ended():
		return "The result appears here when the run is done."
	case r.Run.State == "canceled":
		return "The run was canceled before it had a result."
	case r.Run.Error != nil:
		return ""
	}
	return "This run has no outputs. Connect a value to an Output node to see it here."
}

// viewName is the name of the switch between both ways to show output i.
func viewName(i int) string { return fmt.Sprint("result-view-", i) }

// failedNode leads to the node that failed.
func (r ResultPane) failedNode() templ.SafeURL { return nodePath(r.FlowID, r.Run.Error.Node) }
