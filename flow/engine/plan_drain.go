package engine

import (
	"time"

	"sluice/flow"
)

// drainState is what the plan knows about child runs that still run. The run ends after the
// last of them, so that its cost is final.
type drainState int

const (
	drainUnknown drainState = iota // the caller was not asked yet
	drainAsking                    // ActDrain asks the caller
	drainDone                      // the caller answered with Drained
)

// drainPause is the longest time that a run waits for its last child runs before it checks
// them again, and cancels them again in case that did not succeed.
const drainPause = time.Minute

// startedRuns reports whether steps may have started child runs: a step of such a kind has
// begun. It may have begun without starting any.
func (p *Plan) startedRuns() bool {
	for i := range p.nodes {
		if p.g.nodes[i].kind.StartsRuns() && p.nodes[i].step.Attempt > 0 {
			return true
		}
	}
	return false
}

// Drained tells the plan whether child runs of the run still run. If so, the run waits
// for them without a worker. The error of a failed run is recorded before that, because a
// time limit could not be derived from its steps later.
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
