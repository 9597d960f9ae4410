package jobs

import (
	"time"

	"sluice/flow"
)

// Tracer writes the traces of runs. Its methods are fast, do not block, and are safe for concurrent use.
type Tracer interface {
	// Traceparent returns the trace context for the requests that an attempt at a step sends, or "". Without a kind it is
	// that of the step as a whole, which its child runs belong to.
	Traceparent(run *flow.Run, path, kind string, attempt int) string
	// DeliveryTraceparent returns the trace context for an attempt at a delivery, or "".
	DeliveryTraceparent(d *flow.Delivery, startedAt time.Time) string
	// RunEnded is called once for each run, when its end is committed. steps has all steps of the run; nil means that they
	// have to be read. It must keep neither.
	RunEnded(run *flow.Run, steps []flow.Step)
	// DeliveryAttempted is called when an attempt is committed.
	DeliveryAttempted(d *flow.Delivery, a flow.DeliveryAttempt)
}

// passOn is the tracer of a server that writes no traces: requests carry the trace context that came with the start of the
// run, as the specification of W3C says.
type passOn struct{}

func (passOn) Traceparent(run *flow.Run, _, _ string, _ int) string     { return run.Traceparent }
func (passOn) DeliveryTraceparent(d *flow.Delivery, _ time.Time) string { return d.Traceparent }
func (passOn) RunEnded(*flow.Run, []flow.Step)                          {}
func (passOn) DeliveryAttempted(*flow.Delivery, flow.DeliveryAttempt)   {}

// childTraceparent returns the trace context of the child runs of a step. The items of a work run, such as the rows of a batch,
// begin traces of their own: one trace would be too long to read.
func childTraceparent(r *Runner, run *flow.Run, path string) string {
	if run.Trigger.Work() != "" {
		return ""
	}
	return r.cfg.Tracer.Traceparent(run, path, "", 0)
}
