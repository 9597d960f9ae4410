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
	Ready   <-chan struct{} // the notifications; nil during a pause
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

// runningStep is the last attempt of a step whose start the stream has sent. Text of
// later attempts waits, so that it follows the event of their start.
type runningStep struct {
	attempt int
	running bool
}

// learn records the steps that run, or ran since the last read.
func (e *eventStream) learn(steps []flow.Step) {
	for i := range steps {
		s := &steps[i]
		if running := s.State == flow.StepRunning; running || s.Seq > e.last {
			e.steps[s.Path] = runningStep{s.Attempt, running}
		}
	}
}

// forget drops steps that have ended: all their text was sent.
func (e *eventStream) forget() {
	maps.DeleteFunc(e.steps, func(_ string, k runningStep) bool { return !k.running })
}

// readText returns the text that may be sent now. early reports that there is more, of
// steps whose start was not sent yet.
func (e *eventStream) readText() (deltas []flow.Delta, early bool) {
	deltas = e.watch.Read(func(path string, attempt int) bool {
		ready := e.steps[path].attempt == attempt
		early = early || !ready
		return ready
	})
	return deltas, early
}

// writeText adds the text of steps that run or, with running false, of those that have
// ended, whose text must precede the event of their end.
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
	deltas, early := e.readText()
	if len(deltas) == 0 && !early {
		return nil // the last read has sent it
	}
	e.texts.Pause(e.s.textInterval)
	if e.writeText(deltas, true); e.out.Pending() {
		if err := e.out.Flush(); err != nil {
			return err
		}
	}
	if early {
		return e.read()
	}
	return nil
}
