package editor

import (
	"fmt"
	"strconv"
	"time"

	"github.com/a-h/templ"

	"sluice/views/components"
)

// ResultPane shows the outputs of a run beside the canvas, or why it failed.
type ResultPane struct {
	FlowID string
	// Run is nil before the first run.
	Run     *RunMark
	Now     time.Time
	Outputs []ResultOutput
	// Questions are the pages of the questions that the run waits for.
	Questions []string
	Inputs    []components.ValueView
	// Failed is the title of the node that failed; may be "".
	Failed string
	// Erased says why the content of the run is gone.
	Erased string
	// Publish is the version that publishing the draft would make live; 0 if there is nothing
	// to publish.
	Publish int64
	// Live is the live version if the draft equals it; otherwise 0.
	Live int64
}

// ResultOutput is one output of a run.
type ResultOutput struct {
	components.ValueView
	// From is the title of the node that chose the value among labels, and Scores are the
	// scores of these labels, best first. Both are empty for other values.
	From   string
	Scores []LabelScore
	// Rendered is the HTML that package markdown made of the value, if it is Markdown.
	Rendered string
}

// LabelScore is a label with its score from 0 to 1.
type LabelScore struct {
	Label string
	Score float64
}

// text formats the score with two decimals, as on the canvas.
func (s LabelScore) text() string { return fmt.Sprintf("%.2f", s.Score) }

// exact formats the score with all its digits.
func (s LabelScore) exact() string { return strconv.FormatFloat(s.Score, 'f', -1, 64) }

// about is the line below the state of the run.
func (r ResultPane) about() string {
	text := components.Duration(r.Run.Duration)
	if cost := r.Run.cost(); cost != "" {
		text += " · " + cost
	}
	return text
}

// waiting is shown while the run has no outputs.
func (r ResultPane) waiting() string {
	switch {
	case len(r.Questions) > 0:
		return ""
	case !r.Run.ended():
		return "The result appears here when the run is done."
	case r.Run.State == "canceled":
		return "The run was canceled before it had a result."
	case r.Run.Error != nil:
		return ""
	}
	return "This run has no outputs. Connect a value to an Output node to see it here."
}

// viewName is the name of the radio buttons that switch the view of output i.
func viewName(i int) string { return fmt.Sprint("result-view-", i) }

// failedNode returns the URL of the node that failed.
func (r ResultPane) failedNode() templ.SafeURL { return nodePath(r.FlowID, r.Run.Error.Node) }
