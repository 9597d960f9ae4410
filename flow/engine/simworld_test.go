package engine

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"sluice/flow"
	"sluice/flow/value"
)

// world is a simulated run: its disk, its clock, its worker and possibly a former worker that
// does not know yet that it has lost the run.
type world struct {
	g         *Graph
	reuse     *Reuse
	rng       *rand.Rand
	chaos     chaos
	trace     *tracer
	disk      *fakeDisk
	now       time.Time
	plan      *Plan
	started   []Action // running steps
	aborted   map[int]bool
	starts    map[string]bool // run attempt, step attempt and node of every start
	actions   int
	stale     *Plan
	write     *flow.RunWrite // failed on a full disk, to be retried
	jobs      map[string]*simJob
	children  map[string]*simChildren // by path and round
	questions map[string]*simQuestion // by path
	saving    map[int]bool            // started steps that wait for their state to be on disk
	forgot    map[int]bool            // started steps that have deleted their state
	refused   map[int]bool            // started steps that exceed the budget
}

// tracer collects the events of a replayed seed.
type tracer struct{ strings.Builder }

func (t *tracer) say(format string, args ...any) {
	if t != nil {
		fmt.Fprintf(t, format+"\n", args...)
	}
}

// play simulates a run to its end.
func play(g *Graph, inputs map[string]any, reuse *Reuse, ahead []flow.Step, c chaos, rng *rand.Rand, trace *tracer) (*world, error) {
	run := flow.Run{ID: "run_1", State: flow.RunQueued, Inputs: value.FromMap(inputs), Timeout: 100 * 24 * time.Hour}
	if c.deadline {
		run.Timeout = time.Duration(1+rng.IntN(60)) * time.Second
	}
	w := &world{g: g, reuse: reuse, rng: rng, chaos: c, trace: trace, disk: newDisk(run, slices.Clone(ahead)...),
		now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), starts: map[string]bool{}, jobs: map[string]*simJob{}, children: map[string]*simChildren{}, questions: map[string]*simQuestion{}}
	w.disk.decided = w.decided
	for most := 500 + 300*(g.Len()+subStepsOf(g)); !w.disk.run.State.Ended(); w.actions++ {
		if w.actions > most {
			return nil, fmt.Errorf("no end after %d actions", most)
		}
		if err := w.act(); err != nil {
			return nil, fmt.Errorf("action %d: %w", w.actions, err)
		}
	}
	return w, w.checkEnd()
}

// subStepsOf returns the number of sub-steps that a run of the graph has.
func subStepsOf(g *Graph) (n int) {
	for i := range g.nodes {
		rounds, _ := flow.Float(g.nodes[i].Config["rounds"])
		calls, _ := flow.Float(g.nodes[i].Config["calls"])
		n += int(rounds * (1 + calls))
	}
	return n
}

func (w *world) happens(often int) bool { return often > 0 && w.rng.IntN(1000) < often }

// act simulates one event: a fault, or the next action of the plan.
func (w *world) act() error {
	w.now = w.now.Add(time.Duration(w.rng.IntN(3)) * time.Millisecond)
	if w.plan == nil {
		w.claim()
	}
	if w.actions < 150 && w.fault() {
		return nil
	}
	if w.stale != nil {
		if err := w.actStale(); err != nil {
			return err
		}
	}
	if w.rng.IntN(4) == 0 && w.outside() {
		return nil
	}
	a := w.plan.Next(w.now)
	if w.happens(w.chaos.crash) {
		w.crash(false) // after the decision, before it is executed
		return nil
	}
	switch a.Type {
	case ActInline:
		if err := w.checkStart(a); err != nil {
			return err
		}
		out, err := w.carryOut(w.plan, a)
		w.say("inline %s: %v", w.name(a.Node), err)
		w.plan.Finish(a.Node, out, err, w.now)
	case ActStart:
		if err := w.checkStart(a); err != nil {
			return err
		}
		w.say("start %s", w.name(a.Node))
		w.started = append(w.started, a)
		w.refused[a.Node] = w.chaos.poor > 0 && w.actions >= w.chaos.poor && w.costs(a)
	case ActExpand:
		next, err := a.def.kind.Expand(a.In, a.So)
		w.say("expand %s: %d steps, outputs %v, %v", w.name(a.Node), len(next.Steps), next.Outputs, err)
		w.plan.Expanded(a.Node, next, err, w.now)
	case ActAbort:
		return w.abort(a.Nodes)
	case ActAbandon:
		if err := w.disk.fence(w.plan.Fence()); err != nil {
			return err
		}
		return w.abandon(a.Abandoned)
	case ActRecord:
		return w.record(a.Write)
	case ActWait:
		return w.wait(a.Until)
	case ActDrain:
		w.say("child runs run: %v", w.childrenRun())
		w.plan.Drained(w.childrenRun(), w.now)
	case ActSuspend:
		w.say("suspend until %s", a.Until.Sub(w.now))
		w.plan = nil
		if len(w.started) > 0 {
			return fmt.Errorf("suspended although %d steps run", len(w.started))
		}
	case ActEnd:
		return fmt.Errorf("the plan says end, the disk says %s", w.disk.run.State)
	}
	return nil
}

// costs reports whether the action begins something that costs money. A job that has begun is
// already paid for.
func (w *world) costs(a Action) bool {
	kind := a.def.Kind
	return (kind == "call" || kind == "job") && a.In.State == nil
}

func (w *world) name(i int) string              { return w.plan.nodes[i].step.Path }
func (w *world) say(format string, args ...any) { w.trace.say(format, args...) }

// claim assigns the run to a new worker, when it is due or earlier, as after a duplicate
// wake-up.
func (w *world) claim() {
	for w.disk.wakeAt().After(w.now) && !w.happens(w.chaos.early) && (!w.disk.canceled || w.disk.draining()) && w.outside() {
	}
	if at := w.disk.wakeAt(); at.After(w.now) && !w.happens(w.chaos.early) && !w.disk.canceled {
		w.now = at
	}
	run, steps := w.disk.claim()
	w.plan = NewPlan(w.g, run, steps, w.reuse)
	w.started, w.aborted, w.write = nil, map[int]bool{}, nil
	w.saving, w.forgot, w.refused = map[int]bool{}, map[int]bool{}, map[int]bool{}
	w.say("claim %d: run %s", run.Attempt, run.State)
}

func (w *world) fault() bool {
	switch {
	case w.happens(w.chaos.crash):
		w.crash(false)
	case w.happens(w.chaos.machineCrash):
		w.crash(true)
	case w.happens(w.chaos.handOver):
		w.say("hand over, the old worker continues")
		w.stale, w.plan = w.plan, nil
	case w.happens(w.chaos.cancel):
		w.say("cancel")
		w.disk.canceled = true
		if w.rng.IntN(4) > 0 { // or the signal is lost, and the next worker reads it
			w.plan.Cancel()
		}
	case w.happens(w.chaos.hold):
		w.say("hold")
		w.plan.Hold()
	default:
		return false
	}
	return true
}

// crash discards all memory. A crash of the machine may also lose writes that were not durable.
func (w *world) crash(machine bool) {
	w.say("crash, of the machine: %v", machine)
	if machine {
		w.disk.lose(w.disk.synced + w.rng.IntN(len(w.disk.log)-w.disk.synced+1))
	}
	w.plan = nil
}

// actStale advances the former worker of the run. None of its writes may succeed.
func (w *world) actStale() error {
	switch a := w.stale.Next(w.now); a.Type {
	case ActInline:
		out, err := w.carryOut(w.stale, a)
		w.stale.Finish(a.Node, out, err, w.now)
	case ActExpand:
		next, err := a.def.kind.Expand(a.In, a.So)
		w.stale.Expanded(a.Node, next, err, w.now)
	case ActRecord:
		if err := w.disk.write(a.Write); err != flow.ErrFenced {
			return fmt.Errorf("a stale write was not refused: %v", err)
		}
		w.stale = nil
	case ActStart, ActAbort: // continues under its own attempt, whose result is ignored
	default:
		w.stale = nil
	}
	return nil
}

func (w *world) abort(nodes []int) error {
	if w.plan.stop == nil { // a step has worked for longer than its time limit
		for _, i := range nodes {
			if !w.plan.isLate(i) {
				return fmt.Errorf("abort of %s while the run continues", w.name(i))
			}
			w.say("abort %s, which is late", w.name(i))
			w.aborted[i] = true
		}
		return nil
	}
	if len(nodes) != len(w.started) {
		return fmt.Errorf("abort of %v while %d steps run", nodes, len(w.started))
	}
	if w.plan.stop.Code == flow.CodeBudgetExceeded && !w.chaos.deadline {
		return fmt.Errorf("abort of %v, which are paid for", nodes)
	}
	for _, i := range nodes {
		w.say("abort %s", w.name(i))
		w.aborted[i] = true
	}
	return nil
}

// record commits a write, or fails because the disk is full. The plan must then repeat the same
// write.
func (w *world) record(rw *flow.RunWrite) error {
	if w.write != nil && w.write != rw {
		return fmt.Errorf("a write that failed was not repeated as it was")
	}
	if w.write = rw; w.happens(w.chaos.fullDisk) {
		w.say("disk full")
		if k := w.rng.IntN(max(1, len(w.started))); k < len(w.started) && w.rng.IntN(2) == 0 && w.started[k].def.Kind != "job" {
			w.end(k) // during the write; the engine receives states only between writes
		}
		return nil
	}
	w.write = nil
	before := w.disk.run
	if err := w.checkWrite(rw, &before); err != nil {
		return err
	}
	if err := w.disk.write(rw); err != nil {
		return err
	}
	w.say("record %d steps, run %s, seq %d, durable %v", len(rw.Steps), rw.Run.State, rw.Run.Seq, rw.Durable)
	if err := w.recordJobs(rw); err != nil {
		return err
	}
	if rw.End && w.rng.IntN(2) == 0 {
		return nil // the worker crashes before it learns of the commit
	}
	w.plan.Recorded()
	clear(w.saving)
	return w.checkRecorded()
}

// wait advances the clock or finishes a step.
func (w *world) wait(until time.Time) error {
	if w.plan.Held() {
		w.say("hand back")
		w.plan = nil
		return nil
	}
	if !until.IsZero() && !until.After(w.now) {
		return fmt.Errorf("waits for %s, which is now", until)
	}
	if len(w.saving) > 0 {
		return fmt.Errorf("waits although %d states are to be saved", len(w.saving))
	}
	if len(w.started) == 0 {
		if until.IsZero() {
			return fmt.Errorf("waits for nothing")
		}
		if !w.outside() {
			w.now = until
		}
		return nil
	}
	if pass := time.Duration(w.rng.IntN(40_000)) * time.Millisecond; w.rng.IntN(3) == 0 {
		w.now = w.now.Add(pass)
		if !until.IsZero() && w.now.After(until) {
			return nil // the timer was first
		}
	}
	return w.finish()
}

// finish ends a random started step, or advances its job.
func (w *world) finish() error {
	k := w.rng.IntN(len(w.started))
	a := w.started[k]
	if w.saving[a.Node] {
		return nil // it waits for the disk
	}
	if moved, err := w.moveJob(&a); moved || err != nil {
		w.started[k] = a
		return err
	}
	w.end(k)
	return nil
}

// end ends one of the started steps.
func (w *world) end(k int) {
	a := w.started[k]
	w.started = append(w.started[:k:k], w.started[k+1:]...)
	out, err := w.carryOut(w.plan, a)
	w.say("finish %s: %v", w.name(a.Node), err)
	w.plan.Finish(a.Node, out, err, w.now)
}
