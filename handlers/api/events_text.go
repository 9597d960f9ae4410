package api

import (
	"maps"
	"time"

	"sluice/flow"
)

// deltaEvent is the data of a delta event: text of a running step. It has no number,
// because text is not stored and never sent again.
type deltaEvent struct {
	Path      string `json:"path"`
	Text      string `json:"text"`
	Reset     bool   `json:"reset,omitempty" doc:"text is everything so far and replaces earlier text of this path."`
	Truncated bool   `json:"truncated,omitempty" doc:"More than 1 MiB: no more text of this attempt follows. The step's outputs contain all of it."`
}

// Pacer throttles notifications: after each one, the receiver calls Pause and gets no
// other until Resume.
type Pacer struct {
	Ready   <-chan struct{} // notifications; nil during a pause, so that a select never receives
	all     <-chan struct{}
	Resumed *time.Timer
}

// NewPacer returns a Pacer that is not paused.
func NewPacer(notifications <-chan struct{}) *Pacer {
	p := &Pacer{Ready: notifications, all: notifications, Resumed: time.NewTimer(time.Hour)}
	p.Resumed.Stop()
	return p
}

// Pause stops notifications. Resumed fires after d; the receiver then calls Resume.
func (p *Pacer) Pause(d time.Duration) {
	p.Ready = nil
	p.Resumed.Reset(d)
}

// Resume ends a pause. A notification that came during it is delivered now.
func (p *Pacer) Resume() { p.Ready = p.all }

// runningStep is the last attempt of a step whose start the stream has sent. Text of a later
// attempt is held back until the event of its start is sent.
type runningStep struct {
	attempt int
	running bool
}

// trackSteps records the steps that are running or have run since the last read.
func (e *eventStream) trackSteps(steps []flow.Step) {
	for i := range steps {
		s := &steps[i]
		if running := s.State == flow.StepRunning; running || s.Seq > e.last {
			e.steps[s.Path] = runningStep{s.Attempt, running}
		}
	}
}

// dropEnded drops steps that have ended. All their text was sent.
func (e *eventStream) dropEnded() {
	maps.DeleteFunc(e.steps, func(_ string, k runningStep) bool { return !k.running })
}

// readText returns the text that may be sent now. unstarted reports whether there is more text,
// of attempts whose start was not sent yet.
func (e *eventStream) readText() (deltas []flow.Delta, unstarted bool) {
	deltas = e.watch.Read(func(path string, attempt int) bool {
		started := e.steps[path].attempt == attempt
		unstarted = unstarted || !started
		return started
	})
	return deltas, unstarted
}

// writeText adds the text of running steps or, with running false, of ended ones. The latter
// must precede the event of their end.
func (e *eventStream) writeText(deltas []flow.Delta, running bool) {
	for i := range deltas {
		if d := &deltas[i]; e.steps[d.Path].running == running {
			e.out.Add("", "delta", deltaEvent{d.Path, d.Text, d.Reset, d.Truncated})
		}
	}
}

// sendText sends the text of running steps without reading the store, unless a step
// has started meanwhile. The first text is sent immediately; later text is collected
// for textInterval.
func (e *eventStream) sendText() error {
	// Keys cannot be revoked while the database is unavailable.
	if err := e.checkKeyForText(); err != nil && !flow.IsUnavailable(err) {
		return err
	}
	deltas, unstarted := e.readText()
	if len(deltas) == 0 && !unstarted {
		return nil // the last read has sent it
	}
	e.texts.Pause(e.s.textInterval)
	if e.writeText(deltas, true); e.out.Pending() {
		if err := e.out.Flush(); err != nil {
			return err
		}
	}
	if unstarted {
		return e.read()
	}
	return nil
}
