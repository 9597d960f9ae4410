package flow

import "time"

// UsageDay is what one flow used on one UTC day by one key and model. The
// fields of runs are filled where Model is empty, and apart for each bucket of
// durations; tokens and cost where they arose. So sums over any selection are
// right.
type UsageDay struct {
	Day                               string // 2006-01-02
	KeyID, FlowID, Model              string
	Bucket                            int // see Bucket
	Runs, Succeeded, Failed, Canceled int64
	Steps                             int64
	Usage                             Usage
	Duration                          time.Duration // sum from start to end of the runs
}

// Add adds what another row counts.
func (d *UsageDay) Add(e *UsageDay) {
	d.Runs += e.Runs
	d.Succeeded += e.Succeeded
	d.Failed += e.Failed
	d.Canceled += e.Canceled
	d.Steps += e.Steps
	d.Usage = d.Usage.Add(e.Usage)
	d.Duration += e.Duration
}
