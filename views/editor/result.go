package editor

import (
	"fmt"
	"time"

	"github.com/a-h/templ"

	"sluice/views/components"
)

// ResultPane shows the outputs of a run beside the canvas, or why it failed.
type ResultPane struct {
	FlowID string
	// Run is nil before the first run.
	Run *RunMark
	// Older and Newer are the IDs of the runs before and after it, "" without one.
	Older, Newer string
	Now          time.Time
	Outputs      []components.OutputView
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
	// Before the first run: MayRun lets the user run the flow, Runnable is set if there is something to
	// run, and Example if every required input has an example, which Inputs then hold.
	MayRun, Runnable, Example bool
}

// firstCommand is the command of the button that runs the flow first, firstLabel its label.
func (r ResultPane) firstCommand() string {
	if r.Example {
		return "run-example"
	}
	return "run-with"
}

func (r ResultPane) firstLabel() string {
	if r.Example && len(r.Inputs) > 0 {
		return "Run the example"
	}
	return "Run"
}

// about is the line below the state of the run.
func (r ResultPane) about() string {
	text := components.Duration(r.Run.Duration)
	if cost := r.Run.Total(); cost != "" {
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
