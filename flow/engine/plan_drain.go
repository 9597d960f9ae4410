package engine

import (
	"time"

	"sluice/flow"
)

// drainState is the progress of draining: a run ends after its last child run, so that its cost
// is final.
type drainState int

const (
	drainUnknown drainState = iota // not checked yet
	drainAsking                    // Next returns ActDrain until the caller calls Drained
	drainDone                      // the caller has called Drained
)

// drainPause bounds how long a run waits for its last child runs before it checks and cancels
// them again, in case the previous cancellation failed.
const drainPause = time.Minute

// startedRuns reports whether a step may have started child runs: a step of a kind that starts
// runs has begun, with or without success.
func (p *Plan) startedRuns() bool {
	for i := range p.nodes {
		if p.nodes[i].def.kind.StartsRuns() && p.nodes[i].step.Attempt > 0 {
			return true
		}
	}
	return len(p.subs.recorded) > 0 // which kinds they had is not known any more
}

// Drained reports to the plan whether child runs are still running. If so, the run waits for
// them without a worker. The error of a failed run is recorded first, because an error such as
// a timeout cannot be derived from the steps later.
func (p *Plan) Drained(running bool, now time.Time) {
	if p.drain = drainDone; !running {
		return
	}
	if p.run.State != flow.RunWaiting {
		p.setState(flow.RunWaiting)
		p.run.WaitingSince = now
	}
	if p.stop != nil && p.endAs == flow.RunFailed {
		p.run.Error = p.stop
	}
	p.buildWrite()
	p.suspend = now.Add(drainPause)
	p.write.WakeAt, p.write.Draining, p.write.Durable = p.suspend, true, true
}
