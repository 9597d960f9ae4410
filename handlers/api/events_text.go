package api

import (
	"maps"
	"time"

	"sluice/flow"
)

// deltaEvent is text of a step that is at work. It is the data of a delta
// event, which has no number: text is not stored and never comes twice.
type deltaEvent struct {
	Path      string `json:"path"`
	Text      string `json:"text"`
	Reset     bool   `json:"reset,omitempty" doc:"text is all so far; what came before on this path is void."`
	Truncated bool   `json:"truncated,omitempty" doc:"More than 1 MiB: no more text of this attempt follows. The step's outputs have it all."`
}

// pacer lets pokes through, with a pause after each.
type Pacer struct {
	Ready   <-chan struct{} // the pokes, except during a pause
	all     <-chan struct{}
	Resumed *time.Timer
}

func NewPacer(pokes <-chan struct{}) *Pacer {
	p := &Pacer{Ready: pokes, all: pokes, Resumed: time.NewTimer(time.Hour)}
	p.Resumed.Stop()
	return p
}

func (p *Pacer) Pause(d time.Duration) {
	p.Ready = nil
	p.Resumed.Reset(d)
}

func (p *Pacer) Resume() { p.Ready = p.all }

// known is what a stream knows of a step that has begun: text of other attempts
// is not sent, so that it comes after the event of the step's begin.
type runningStep struct {
	attempt int
	running bool
}

// learn takes note of steps that are running, or were until now.
func (e *eventStream) learn(steps []flow.Step) {
	for i := range steps {
		s := &steps[i]
		if running := s.State == flow.StepRunning; running || s.Seq > e.last {
			e.steps[s.Path] = runningStep{s.Attempt, running}
		}
	}
}

// forget drops the steps that are not running: all their text was sent.
func (e *eventStream) forget() {
	maps.DeleteFunc(e.steps, func(_ string, k runningStep) bool { return !k.running })
}

// readText takes the text that may be sent; early tells that there is more, of
// steps that are not known to have begun.
func (e *eventStream) readText() (deltas []flow.Delta, early bool) {
	deltas = e.watch.Read(func(path string, attempt int) bool {
		ready := e.steps[path].attempt == attempt
		early = early || !ready
		return ready
	})
	return deltas, early
}

// writeText writes the text of steps that are running, or of those that are
// not any more: that comes before the event which says so.
func (e *eventStream) writeText(deltas []flow.Delta, running bool) {
	for i := range deltas {
		if d := &deltas[i]; e.steps[d.Path].running == running {
			e.out.Add("", "delta", deltaEvent{d.Path, d.Text, d.Reset, d.Truncated})
		}
	}
}

// sendText sends the text of running steps without asking the store, unless a
// step has begun in the meantime. The first text goes out at once, what follows
// is gathered.
func (e *eventStream) sendText() error {
	// No key is revoked while the database is away.
	if err := e.checkKeyForText(); err != nil && !flow.IsUnavailable(err) {
		return err
	}
	deltas, early := e.readText()
	if len(deltas) == 0 && !early {
		return nil // the last look has sent it
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
