package editor

import (
	"fmt"
	"strings"
	"time"

	"sluice/views/components"
)

// Tried is the result of testing the code of a node.
type Tried struct {
	LastRun         bool     // with the values of the last run
	Missing         []string // inputs without a value
	Inputs, Outputs []components.ValueView
	Log             string
	Failure         *Failure // why it failed
	Duration        time.Duration
}

// about says which values the code was tested with.
func (t *Tried) about() string {
	switch {
	case len(t.Missing) > 0:
		return fmt.Sprintf("No test value for %s. Run the flow once, or enter one under Input.", `"`+strings.Join(t.Missing, `", "`)+`"`)
	case t.LastRun:
		return "With the values of the last run."
	}
	return "With the values typed here."
}

// ShowTried puts the result below the field with the code.
func (p *NodePane) ShowTried(field string, t *Tried) {
	for i := range p.Fields {
		if p.Fields[i].Name == field {
			p.Fields[i].Tried = t
		}
	}
}

// codeRows returns the height of the code editor in lines.
func (f *NodeField) codeRows() string {
	return fmt.Sprint(min(max(strings.Count(f.text(0), "\n")+2, 8), 24))
}
