package flow

import "time"

// UsageDay is the usage of one flow on one UTC day by one key and model. Rows without a Model
// hold the counts of runs, one row per bucket of durations; rows with a Model hold its tokens
// and cost. So the sum over any selection of rows counts nothing twice.
type UsageDay struct {
	Day                               string // 2006-01-02
	KeyID                             string
	FlowID                            FlowID
	Model                             string
	Bucket                            int // see Bucket
	Runs, Succeeded, Failed, Canceled int64
	Steps                             int64
	Usage                             Usage
	Duration                          time.Duration // sum from start to end of the runs
}

// Add adds the counts of another row.
func (d *UsageDay) Add(e *UsageDay) {
	d.Runs += e.Runs
	d.Succeeded += e.Succeeded
	d.Failed += e.Failed
	d.Canceled += e.Canceled
	d.Steps += e.Steps
	d.Usage = d.Usage.Add(e.Usage)
	d.Duration += e.Duration
}
